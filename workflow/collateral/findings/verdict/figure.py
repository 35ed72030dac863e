"""Every run of a cell by what it forgot and whom it hurt, its price as size."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from collateral.contract.metrics import percent
from collateral.contract.pictures import Picture
from collateral.findings._shared.captions import joined
from collateral.findings._shared.panels import ZERO
from collateral.findings._shared.style import (
    GREY,
    NOISE,
    NOISE_LABEL,
    as_text,
    look_of,
    put_legend,
    put_notes,
    style,
)
from collateral.findings.verdict.picture import limits, points
from collateral.findings.verdict.views import words
from collateral.results.table import REFERENCE, CellTable

CAPTION = (
    "Across: forgetting error, the mean absolute deviation of UA and MIA from Retrain's. Up: "
    "damage, what the nearest retained examples lose against Retrain beyond what the others lose, "
    "with its interval over seeds (95 %, by Holm). Area: RTE as a share of Retrain's. Grey: what "
    "95 % of retrainings stay below, in damage by itself and in error by itself (the mean of the "
    "bounds of UA and MIA); in this corner a run is near what retraining gives. Collapsed runs do "
    "not set the scale: they are drawn at its edge, hollow."
)
READING = "Area: time as a share of Retrain's ({shares}). Hollow and grey: controls."
CONTROL_MARKERS = "XP*h"
LEGEND_AREA = 30.0
MOST_PRICED = 10  # methods whose time is written below


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the picture of a cell, where something can be drawn."""
    frame = points(cell)
    if frame[["x", "y"]].notna().all(axis=1).any():
        yield Picture("verdict", draw(cell, frame), CAPTION)


@style()
def draw(cell: CellTable, frame: pd.DataFrame) -> Figure:
    """Draw a point for each run, and the noise floor in the corner."""
    rows = math.ceil(len(frame) / 3)  # of the legend
    fig = Figure(figsize=(5.2, 4.2 + 0.3 * max(0, rows - 4)), layout="constrained")
    axes = fig.subplots()
    low, high, right = limits(frame)
    axes.grid()
    axes.axhline(0, **ZERO)
    _draw_floor(axes, frame)
    _draw_runs(axes, cell, frame)
    edge = 0.03 * (high - low)
    axes.set_ylim(low - edge, high + edge)
    axes.set_xlim(-0.03 * right, 1.03 * right)
    axes.set_xlabel("Forgetting error: UA and MIA from Retrain's (points)")
    axes.set_ylabel("Damage: near minus far loss (points)")
    put_legend(fig, axes, cell.title)
    put_notes(fig, joined(words(cell), _reading(frame), _seeds(cell)), *_troubles(cell, frame))
    return fig


def _draw_floor(axes: Axes, frame: pd.DataFrame) -> None:
    width, half = frame["box_error"].iloc[0], frame["box_damage"].iloc[0]
    if not math.isnan(width) and not math.isnan(half):
        axes.add_patch(Rectangle((0, -half), width, 2 * half, label=NOISE_LABEL, **NOISE))


def _draw_runs(axes: Axes, cell: CellTable, frame: pd.DataFrame) -> None:
    for row in frame.dropna(subset=["x", "y"]).itertuples():
        marker, colour = _look(cell, row.run, row.kind)
        is_hollow = row.is_edge or row.kind == "control"
        look: dict[str, Any] = {
            "marker": marker,
            "facecolors": "none" if is_hollow else colour,
            "edgecolors": colour if is_hollow else "white",
            "linewidths": 1.0 if is_hollow else 0.4,
        }
        if not row.is_edge and not math.isnan(row.damage_low):
            ends = (row.damage_low, row.damage_high)
            axes.vlines(row.x, *ends, color=colour, linewidth=0.8, alpha=0.5)
        axes.scatter(row.x, row.y, row.area, zorder=3, clip_on=False, **look)
        axes.scatter([], [], LEGEND_AREA, label=as_text(row.label), **look)


def _look(cell: CellTable, run: str, kind: str) -> tuple[str, str]:
    """Return marker and colour."""
    if kind == "method":
        look = look_of(cell, run)
        return look.marker, look.colour
    return CONTROL_MARKERS[cell.runs("control").index(run) % len(CONTROL_MARKERS)], GREY


def _reading(frame: pd.DataFrame) -> str:
    priced = frame[frame["price"].notna() & (frame["kind"] == "method")]
    shares = ", ".join(f"{row.label} {percent(row.price)}" for row in priced.itertuples())
    if len(priced) > MOST_PRICED:
        shares = "in the table of costs"
    reading = READING.format(shares=shares or "not known")
    edge = [
        f"{row.label} (error {row.forgetting_error:.0f}, damage {row.damage:.0f})"
        for row in frame[frame["is_edge"]].dropna(subset=["x", "y"]).itertuples()
    ]
    return reading + (f" Collapsed, at the edge: {', '.join(edge)}." if edge else "")


def _seeds(cell: CellTable) -> str:
    n = len(cell.seeds)
    return f"Bars: 95 % intervals over {n} seeds." if n > 1 else "One seed."


def _troubles(cell: CellTable, frame: pd.DataFrame) -> Iterator[str]:
    """Name what is left out, and what ended badly and is not named as collapsed."""
    drawn = frame.dropna(subset=["x", "y"])
    at_edge = set(drawn.loc[drawn["is_edge"], "run"])
    for run, label in cell.labels.items():
        ended = cell.trouble(run)
        if run in {*drawn["run"], REFERENCE}:
            yield from [f"{label} {ended}."] if ended and run not in at_edge else []
        else:
            yield f"{label} {ended or 'has no number here'}: not drawn."
