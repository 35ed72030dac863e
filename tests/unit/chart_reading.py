"""The marks of a chart of the page, read back from its specification and its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collateral.plots.page import Chart

Rows = Sequence[Mapping[str, Any]]
CHANNELS = ("x", "x2", "y", "y2", "color", "text", "size", "shape", "opacity")
CHANNELS += ("stroke", "fillOpacity")


@dataclass(frozen=True)
class Mark:
    """One mark of a panel: its place by channel, its tooltip, its look and its row."""

    kind: str
    at: Mapping[str, Any]
    hover: Mapping[str, Any]  # by title
    look: Mapping[str, Any]
    encoding: Mapping[str, Any]
    datum: Mapping[str, Any]


def marks_in(chart: Chart, panel: int) -> list[Mark]:
    """Return all marks of a panel, from back to front."""
    layers = chart.spec["concat"][panel]["layer"]
    return [mark for layer in layers for mark in _marks(layer, chart.rows)]


def _marks(layer: Mapping, rows: Rows) -> Iterator[Mark]:
    rows = layer["data"]["values"] if "data" in layer else rows
    for step in layer.get("transform", []):
        rows = [row for row in rows if evaluate(step["filter"], row)]
    encoding = layer.get("encoding", {})
    for row in rows:
        hover = {one["title"]: row.get(one["field"]) for one in encoding.get("tooltip", [])}
        at = {name: _value(encoding[name], row) for name in CHANNELS if name in encoding}
        yield Mark(layer["mark"]["type"], at, hover, layer["mark"], encoding, row)


class _Datum(dict):
    """A row as Vega's expressions see it: a field that is missing is null."""

    __getattr__ = dict.get


def evaluate(expression: str, row: Mapping, hidden: Sequence[str] = ()) -> Any:
    """Return the value of an expression of Vega for a row."""
    text = re.sub(r"!(?!=)", " not ", re.sub(r"&&", " and ", expression))
    known = {
        "datum": _Datum(row),
        "hidden": list(hidden),
        "indexof": lambda many, one: many.index(one) if one in many else -1,
    }
    return eval(text, {"__builtins__": {}}, known)


def _value(channel: Mapping, row: Mapping) -> Any:
    if "condition" in channel:
        is_met = evaluate(channel["condition"]["test"], row)
        return channel["condition"]["value"] if is_met else channel["value"]
    if "field" in channel:
        value = row.get(channel["field"])
        scale = channel.get("scale") or {}
        is_looked_up = (
            channel["type"] == "nominal" and "range" in scale if "type" in channel else False
        )
        return scale["range"][scale["domain"].index(value)] if is_looked_up else value
    return channel.get("datum", channel.get("value"))
