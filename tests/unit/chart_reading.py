"""What a chart of the page shows, read back from its specification and its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collateral.contract.charts import Chart

Rows = Sequence[Mapping[str, Any]]
PANELS = ("concat", "hconcat", "vconcat")
CHANNELS = ("x", "x2", "y", "y2", "xOffset", "color", "text", "size", "opacity", "strokeDash")


@dataclass(frozen=True)
class Mark:
    """One thing that is drawn: in which panel, where, and what hovering says of it."""

    kind: str
    panel: Any  # its place, or the values of the facet
    at: Mapping[str, Any]  # by channel
    hover: Mapping[str, Any]  # by title
    look: Mapping[str, Any]
    domain: Mapping[str, Sequence[float]]  # of the axes, where they are given
    datum: Mapping[str, Any]


def marks_of(chart: Chart, *kinds: str, panel: Any = None) -> list[Mark]:
    """Return what a chart draws, of some kinds and in one panel, or all."""
    spec = chart.spec
    datasets = {**spec.get("datasets", {}), "rows": list(chart.rows)}
    found = _marks(spec, [], 0, datasets)
    return [m for m in found if (not kinds or m.kind in kinds) and panel in (None, m.panel)]


def _marks(part: Mapping, rows: Rows, panel: Any, datasets: Mapping) -> Iterator[Mark]:
    """Yield the marks of a part; one that names its data has no transform of what is around it."""
    rows = _transformed(part, _data(part, rows, datasets))
    if "facet" in part:
        for place, group in _facets(part["facet"], rows).items():
            yield from _marks(part["spec"], group, place, datasets)
    elif many := next((name for name in PANELS if name in part), None):
        for place, child in enumerate(part[many]):
            yield from _marks(child, rows, place, datasets)
    elif "layer" in part:
        for child in part["layer"]:
            yield from _marks(child, rows, panel, datasets)
    else:
        yield from (_mark(part, row, panel) for row in rows)


def _data(part: Mapping, rows: Rows, datasets: Mapping) -> Rows:
    data = part.get("data")
    return rows if data is None else data.get("values") or datasets[data["name"]]


def _facets(facet: Mapping, rows: Rows) -> dict[Any, list]:
    fields = (
        [facet["field"]] if "field" in facet else [facet[k]["field"] for k in ("row", "column")]
    )
    found: dict[Any, list] = {}
    for row in rows:
        place = tuple(row[name] for name in fields)
        found.setdefault(place if len(place) > 1 else place[0], []).append(row)
    return found


def _transformed(part: Mapping, rows: Rows) -> Rows:
    for step in part.get("transform", []):
        if "filter" in step:
            rows = [row for row in rows if evaluated(step["filter"], row)]
        elif "calculate" in step:
            rows = [{**row, step["as"]: _calculated(step["calculate"], row)} for row in rows]
        else:
            rows = [{one["as"]: _aggregated(one, rows) for one in step["aggregate"]}]
    return rows


def _calculated(expression: str, row: Mapping) -> Any:
    try:
        return evaluated(expression, row)
    except TypeError:  # of what is not there
        return None


def _aggregated(step: Mapping, rows: Rows) -> float | None:
    assert step["op"] == "max"
    return max((row[step["field"]] for row in rows if step["field"] in row), default=None)


class _Datum(dict):
    """A row as Vega's expressions see it: what it lacks is null."""

    __getattr__ = dict.get


def evaluated(expression: str, row: Mapping, hidden: Sequence[str] = ()) -> Any:
    """Return what an expression of Vega says of a row; those that charts have."""
    names = {"&&": " and ", "||": " or ", "===": "=="}
    text = re.sub(r"&&|\|\||===", lambda found: names[found[0]], expression)
    text = re.sub(r"!(?!=)", " not ", text)
    known = {
        "datum": _Datum(row),
        "hidden": list(hidden),
        "isValid": lambda value: value is not None,
        "indexof": lambda many, one: many.index(one) if one in many else -1,
    }
    return eval(text, {"__builtins__": {}}, known)


def _mark(part: Mapping, row: Mapping, panel: Any) -> Mark:
    kind, encoding = part["mark"], part.get("encoding", {})
    look = {"type": kind} if isinstance(kind, str) else kind
    hover = encoding.get("tooltip", [])
    domain = {c: encoding[c]["scale"]["domain"] for c in "xy" if "domain" in _scale(encoding, c)}
    at = {c: _value(encoding[c], row) for c in CHANNELS if c in encoding}
    texts = (
        {
            one["title"]: row.get(one["field"])
            for one in hover
            if isinstance(one, dict) and "field" in one
        }
        if isinstance(hover, list)
        else {}
    )
    return Mark(look["type"], panel, at, texts, look, domain, row)


def _scale(encoding: Mapping, channel: str) -> Mapping:
    return encoding.get(channel, {}).get("scale") or {}


def _value(channel: Mapping, row: Mapping) -> Any:
    if "condition" in channel:
        is_so = evaluated(channel["condition"]["test"], row)
        return channel["condition"]["value"] if is_so else channel["value"]
    if "field" in channel:
        return row.get(channel["field"])
    return channel.get("datum", channel.get("value"))
