"""One look for all charts of the page: colours as in print, and runs that can be switched off."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas as pd
from matplotlib.colors import to_hex

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
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)  # the page has its own
    spec["params"] = [*spec.get("params", []), {"name": "hidden", "value": []}]
    spec["transform"] = [WITHOUT_HIDDEN, *spec.get("transform", [])]
    return {**spec, "description": description}


def colour(cell: CellTable, run: str) -> str:
    """Return a run's colour, as in print: controls are grey."""
    return to_hex(look_of(cell, run).colour if cell.kinds[run] == "method" else GREY)


def colour_of(cell: CellTable) -> alt.Color:
    """Return the colours of all runs; the page's switches are their legend."""
    runs = [run for run in cell.labels if run != cell.reference]
    labels, colours = [cell.labels[run] for run in runs], [colour(cell, run) for run in runs]
    return alt.Color("label:N", scale=alt.Scale(domain=labels, range=colours), legend=None)


def level(dash: tuple[int, int] = (1, 0), **place: float) -> alt.Chart:
    """Return a line across the chart, at a place x or y; nothing where that is not a number."""
    at = {axis: alt.datum(value) for axis, value in place.items() if math.isfinite(value)}
    mark = alt.Chart(ONCE).mark_rule(color=NEUTRAL, strokeDash=list(dash), aria=False)
    line: alt.Chart = mark.encode(**at)
    return line


def tooltip(**columns: str) -> list[alt.Tooltip]:
    """Return what hovering shows: columns of texts or whole numbers, and what they are called."""
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in columns.items()]


def said(values: Iterable[float], form: str, unit: str = "") -> list[str]:
    """Return numbers as texts; a dash for what is none."""
    return [f"{value:{form}}{unit}" if math.isfinite(value) else "–" for value in values]


def intervals(frame: pd.DataFrame, mean: str, low: str, high: str) -> list[str]:
    """Return "+1.0 [−0.1, +2.1] points" for each row; without an interval where there is none."""
    means, lows, highs = (said(frame[column], "+.1f") for column in (mean, low, high))
    known = frame[low].notna()
    return [
        f"{m} [{a}, {b}] points" if is_known else f"{m} points"
        for m, a, b, is_known in zip(means, lows, highs, known, strict=True)
    ]


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, rounded; what is not a number is left out."""
    rows = ({str(k): _rounded(v) for k, v in row.items()} for row in frame.to_dict("records"))
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
