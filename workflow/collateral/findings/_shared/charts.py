"""One look for all charts of the page: colours as in print, and runs that can be switched off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd
from matplotlib.colors import to_hex

from collateral.findings._shared.style import Look
from collateral.results.table import CellTable

ROWS = alt.NamedData(name="rows")
DIGITS = 5  # significant, of a number on the page
WITHOUT_HIDDEN = {"filter": "indexof(hidden, datum.run) < 0"}
FAINT = 0.3


def finished(chart: Any, description: str) -> dict[str, Any]:
    """Return the specification of a chart; what `hidden` names is not drawn."""
    spec: dict[str, Any] = chart.to_dict(context={"pre_transform": False})
    spec.pop("config", None)  # the page has its own
    spec["params"] = [*spec.get("params", []), {"name": "hidden", "value": []}]
    spec["transform"] = [WITHOUT_HIDDEN, *spec.get("transform", [])]
    return {**spec, "description": description}


def colour_of(cell: CellTable, drawn: dict[str, Look]) -> alt.Color:
    """Return the colour of every run, as in print; the page's switches are its legend."""
    labels = [cell.labels[run] for run in drawn]
    colours = [to_hex(look.colour) for look in drawn.values()]
    return alt.Color("label:N", scale=alt.Scale(domain=labels, range=colours), legend=None)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, rounded; what is not a number is null."""
    return [
        {str(key): _rounded(value) for key, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def reach(values: Iterable[float], least: Sequence[float]) -> list[float]:
    """Return the ends of an axis that holds some values and what it shows at `least`."""
    known = [value for value in (*values, *least) if math.isfinite(value)]
    edge = 0.05 * (max(known) - min(known))
    return [min(known) - edge, max(known) + edge]
