"""Every run of a cell by forgetting error and damage, its cost as the area of its mark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from collateral.findings._shared.captions import join_sentences
from collateral.findings._shared.series import NOISE_LABEL, describe_seeds, find_look
from collateral.findings.verdict.picture import limits, points
from collateral.findings.verdict.views import words
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, format_number
from collateral.plots.style import GREY, Look
from collateral.results.table import CellTable

CAPTION = (
    "Across: forgetting error, the mean absolute deviation of UA and MIA from Retrain's. Up: "
    "damage, what the nearest retained examples lose against Retrain beyond what the others lose, "
    "with its interval over seeds (95 %, by Holm). Area: RTE as a share of Retrain's. Grey: what "
    "95 % of retrainings stay below, in damage by itself and in error by itself (the mean of the "
    "bounds of UA and MIA); in this corner a run is near what retraining gives. Collapsed runs do "
    "not set the scale: they are drawn at its edge, hollow."
)
# Times are in the table of costs alone, so that captions are the same on a rerun.
READING = "Area: time as a share of Retrain's (table of costs). Hollow and grey: controls."
CONTROL_MARKERS = "XP*h"
EDGE = 0.03  # of what the plot covers, at either end


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of a cell, if something can be drawn."""
    frame = points(cell)
    drawn = frame.dropna(subset=["x", "y"])
    if not len(drawn):
        return
    low, high, right = limits(frame)
    edge = EDGE * (high - low)
    x = Axis("Forgetting error: UA and MIA from Retrain's (points)")
    y = Axis("Damage: near minus far loss (points)")
    panel = Panel(
        [_series(cell, row) for row in drawn.itertuples()],
        x=Axis(x.title, limits=(-EDGE * right, (1 + EDGE) * right)),
        y=Axis(y.title, limits=(low - edge, high + edge)),
        levels=[Level(0.0)],
        bands=list(_floor(frame)),
        value_name="damage",
        number_format="+.1f",
        unit=" points",
    )
    notes = [
        join_sentences(words(cell), _reading(frame), describe_seeds(cell)),
        *_missing(cell, frame),
    ]
    yield Plot("verdict", cell.title, CAPTION, [panel], notes=notes, width=5.2, row_height=3.6)


def _series(cell: CellTable, row: Any) -> Series:
    """Return the mark of one run; what collapsed is hollow and has no interval."""
    ends = (math.nan, math.nan) if row.is_edge else (row.damage_low, row.damage_high)
    return Series(
        row.label,
        _look(cell, row.run, row.kind),
        [row.forgetting_error],
        [row.damage],
        run=row.run,
        mark="point",
        low=[ends[0]],
        high=[ends[1]],
        n=[row.n],
        noise=[row.floor_damage],
        details={
            "verdict": [row.verdict],
            "forgetting error": [format_number(row.forgetting_error, ".1f", " points")],
            "time": [format_number(row.price, ".1%", " of Retrain's")],
        },
        areas=[row.area],
        names=[row.label],
        is_hollow=bool(row.is_edge or row.kind == "control"),
        sets_scale=not row.is_edge,
    )


def _look(cell: CellTable, run: str, kind: str) -> Look:
    if kind == "method":
        return find_look(cell, run)
    place = cell.runs("control").index(run) % len(CONTROL_MARKERS)
    return Look(GREY, CONTROL_MARKERS[place], is_control=True)


def _floor(frame: pd.DataFrame) -> Iterator[Band]:
    """Yield the noise floor in the corner, if it is known."""
    width, half = float(frame["box_error"].iloc[0]), float(frame["box_damage"].iloc[0])
    if math.isfinite(width + half):
        yield Band(0.0, width, -half, half, NOISE_LABEL)


def _reading(frame: pd.DataFrame) -> str:
    edge = [
        f"{row.label} (error {row.forgetting_error:.0f}, damage {row.damage:.0f})"
        for row in frame[frame["is_edge"]].dropna(subset=["x", "y"]).itertuples()
    ]
    return READING + (f" Collapsed, at the edge: {', '.join(edge)}." if edge else "")


def _missing(cell: CellTable, frame: pd.DataFrame) -> Iterator[str]:
    """Yield a note for each run that is not drawn, or that failed and is not named as collapsed."""
    drawn = frame.dropna(subset=["x", "y"])
    at_edge = set(drawn.loc[drawn["is_edge"], "run"])
    for run, label in cell.labels.items():
        failure = cell.failure_summary(run)
        if run in {*drawn["run"], cell.reference}:
            yield from [f"{label} {failure}."] if failure and run not in at_edge else []
        else:
            yield f"{label} {failure or 'has no number here'}: not drawn."
