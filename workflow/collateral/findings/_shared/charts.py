"""One look for all charts of the page: colours as in print, and runs that can be switched off."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas as pd
from matplotlib.colors import to_hex

from collateral.findings._shared.spoken import number, spoken
from collateral.findings._shared.style import GREY, look_of
from collateral.results.table import CellTable

ROWS = alt.NamedData(name="rows")
ONCE = alt.InlineData(values=[{}])  # of what is drawn once, whatever the rows
DIGITS = 5  # significant, of a number on the page
WITHOUT_HIDDEN = {"filter": "indexof(hidden, datum.run) < 0"}
NEUTRAL = "#888"
FAINT = 0.3


def finished(chart: Any, description: str) -> dict[str, Any]:
    """Return the specification of a chart; what `hidden` names is not drawn."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # half of the time; its parts are checked
    spec.pop("config", None)  # the page has its own
    spec["params"] = [*spec.get("params", []), {"name": "hidden", "value": []}]
    return {**_without_hidden(spec), "description": description}


def _without_hidden(part: Any) -> Any:
    """Return a part of a specification, filtered wherever it names the rows.

    Vega-Lite does not filter what names its own data by a transform of the chart around it.
    """
    if isinstance(part, list):
        return [_without_hidden(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {key: _without_hidden(value) for key, value in part.items()}
    if part.get("data") == ROWS.to_dict():
        found["transform"] = [WITHOUT_HIDDEN, *part.get("transform", [])]
    return found


def colour(cell: CellTable, run: str) -> str:
    """Return a run's colour, as in print: controls are grey."""
    return to_hex(look_of(cell, run).colour if cell.kinds[run] == "method" else GREY)


def colour_of(cell: CellTable) -> alt.Color:
    """Return the colours of all runs; the page's switches are their legend."""
    runs = [run for run in cell.labels if run != cell.reference]
    return colours({cell.labels[run]: colour(cell, run) for run in runs})


def colours(by_label: dict[str, str]) -> alt.Color:
    """Return the colours of some labels."""
    scale = alt.Scale(domain=list(by_label), range=list(by_label.values()))
    return alt.Color("label:N", scale=scale, legend=None)


def level(dash: tuple[int, int] = (1, 0), **place: float) -> alt.Chart:
    """Return a line across the chart, at a place x or y; nothing where that is not a number."""
    at = {axis: alt.datum(value) for axis, value in place.items() if math.isfinite(value)}
    mark = alt.Chart(ONCE).mark_rule(color=NEUTRAL, strokeDash=list(dash), aria=False)
    line: alt.Chart = mark.encode(**at)
    return line


def band(low: float, high: float, scale: alt.Scale) -> alt.Chart:
    """Return a grey band across the chart, of what chance explains; `scale` is that of the axis."""
    mark = alt.Chart(ONCE).mark_rect(color=NEUTRAL, opacity=0.22, clip=True, aria=False)
    # Without the scale, an area would want the axis to begin at zero.
    grey: alt.Chart = mark.encode(y=alt.YDatum(low, scale=scale), y2=alt.datum(high))
    return grey


def hover(what: str, **more: str) -> list[alt.Tooltip]:
    """Return what hovering shows, in every chart: method, number and interval, chance, seeds.

    `more` are other columns of texts, and what they are called.
    """
    columns = {"label": "method", **more, "said": what, "floor": "chance, ±", "n": "seeds"}
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in columns.items()]


def with_words(frame: pd.DataFrame, mean: str, low: str, high: str, chance: str) -> pd.DataFrame:
    """Return the rows with what hovering says of these columns, which are in points."""
    columns = (frame[name] for name in (mean, low, high, chance))
    texts = [spoken(m, (a, b), c) for m, a, b, c in zip(*columns, strict=True)]
    return frame.assign(**{key: [text[key] for text in texts] for key in ("said", "floor")})


def said(values: Iterable[float], form: str, unit: str = "") -> list[str]:
    """Return numbers as texts; a dash for what is none."""
    return [number(value, form, unit) for value in values]


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, rounded; what is not a number is left out."""
    rows = ({str(k): _rounded(v) for k, v in row.items()} for row in frame.to_dict("records"))
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
