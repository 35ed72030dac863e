"""The ways of tracked runs towards Retrain: what they forget, whom they hurt, at what cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter

from collateral.contract.pictures import Picture
from collateral.findings._shared.compare import chance_by_sd
from collateral.findings._shared.labels import End, label_ends
from collateral.findings._shared.panels import LEVEL, ZERO
from collateral.findings._shared.style import (
    NOISE,
    NOISE_LABEL,
    WIDTH,
    Look,
    annotate,
    looks,
    style,
)
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import POINTS, Floats, Leg, legs
from collateral.findings.verdict import DAMAGED
from collateral.results.table import REFERENCE, CellTable, mean

CAPTION = (
    "The way of each method from the base model (ring) towards Retrain (cross), a dot an epoch. "
    "Left: what is not forgotten as Retrain forgets it, the mean deviation of UA and MIA from "
    "Retrain's, against the damage, the loss of accuracy against Retrain on the nearest retained "
    "examples minus that on all others; grey: where 95 % of differences between retrainings lie. "
    "Right: the average gap over the method's own seconds, preparing among them; vertical lines "
    "are shares of Retrain's time; grey: the gap to expect of other retrainings. Dashed in colour: "
    "an epoch depends on how many there are, and is no shorter run. A run that ends twice as far "
    "from Retrain as it began and as three quarters of the others is drawn at the edge, and one "
    "that collapsed in every seed is not."
)
HEIGHT = 3.4  # inches
LEAST = 5.0  # points that an axis covers at least, so that noise alone does not fill it
ROOM = 0.12  # of an axis, around what is drawn
MOST, FAR = 0.75, 2  # of the other runs' ends, and how many times that is far off
EPOCH, LAST = 2.2, 5.5  # sizes of markers
ABOVE: dict[str, Any] = {"va": "bottom", "color": "0.3"}
RING: dict[str, Any] = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "zorder": 5}
CROSS: dict[str, Any] = {"marker": "P", "markersize": 7, "markeredgecolor": "white", "zorder": 6}


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the ways of the tracked runs."""
    known = looks(cell)
    if found := {run: leg.in_points() for run, leg in legs(cell).items() if run in known}:
        yield Picture("trajectory", draw(Ways(cell, found, known)), CAPTION)


@dataclass(frozen=True)
class Ways:
    """The runs to draw, and how."""

    cell: CellTable
    legs: Mapping[str, Leg]  # in points
    known: Mapping[str, Look]

    def look(self, run: str) -> Look:
        """Return how a run is drawn: dashed where no epoch is a shorter run."""
        look = self.known[run]
        return replace(look, line="--") if self.legs[run].is_paced else look

    @cached_property
    def lost(self) -> list[str]:
        """The runs that would hide the others: they end far off, or some seeds not well."""
        found = [run for run in self.legs if self.cell.trouble(run) or self._is_far(run)]
        return found if len(found) < len(self.legs) else []

    def _is_far(self, run: str) -> bool:
        """Tell whether it ends twice as far as it began, and as most others end; or nowhere."""
        ends = [leg.gap[-1] for other, leg in self.legs.items() if other != run]
        known = [end for end in ends if not np.isnan(end)]
        usual = float(np.quantile(known, MOST)) if known else np.inf
        leg = self.legs[run]
        return not leg.gap[-1] <= FAR * max(usual, float(leg.gap[0]))

    def shown(self, part: str) -> Floats:
        """Return what sets the scale: every epoch of all runs but the lost, and the base."""
        parts = {run: getattr(leg, part) for run, leg in self.legs.items()}
        whole = [values for run, values in parts.items() if run not in self.lost]
        return np.concatenate([*whole, *(values[:1] for values in parts.values())])

    def start(self, part: str) -> float:
        """Return where all runs begin: at the base model."""
        return float(np.nanmean([getattr(leg, part)[0] for leg in self.legs.values()]))

    def note(self) -> str:
        """Say how to read the figure."""
        dashed = [self.cell.labels[run] for run, leg in self.legs.items() if leg.is_paced]
        ends = [f"{self.cell.labels[run]} ({_end(self.legs[run])})" for run in self.lost]
        notes = ["Ring: the base model. Cross: Retrain. A dot an epoch."]
        notes += [f"Dashed: an epoch is no shorter run ({', '.join(dashed)})."] if dashed else []
        notes += [f"At the edge, as they end beyond: {', '.join(ends)}."] if ends else []
        return " ".join(notes)


@style()
def draw(ways: Ways) -> Figure:
    """Draw the plane of forgetting and damage, and beside it the gap over the seconds."""
    fig = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    plane, course = fig.subplots(1, 2)
    _draw_plane(plane, ways)
    _draw_course(course, ways)
    annotate(fig, plane, ways.cell, ways.note(), "Means", "towards Retrain")
    return fig


def _draw_plane(axes: Axes, ways: Ways) -> None:
    axes.set_xlim(*span([*ways.shown("error"), 0, LEAST]))
    axes.set_ylim(*span([*ways.shown("damage"), -LEAST / 2, LEAST / 2]))
    axes.set_xlabel("Forgetting error: mean of |ΔUA|, |ΔMIA| (points)")
    axes.set_ylabel("Damage: near − far loss (points)")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.grid()
    axes.axhline(0, **ZERO)
    limit = POINTS * chance_by_sd(ways.cell, "damage", DAMAGED)
    if not np.isnan(limit):
        axes.axhspan(-limit, limit, label=NOISE_LABEL, **NOISE)
    ends = [_draw_way(axes, ways, run, leg.error, leg.damage) for run, leg in ways.legs.items()]
    start = ways.start("error"), ways.start("damage")
    axes.plot(*start, color="0.2", **RING)
    axes.plot(0, 0, color="0.1", **CROSS)
    known = [End(0, 0, "Retrain", "0.1", True), End(*start, "Original", "0.2", True)]
    label_ends(axes, [*known, *_by_height(ends)])


def _draw_course(axes: Axes, ways: Ways) -> None:
    start, cost = ways.start("gap"), mean(ways.cell.values(REFERENCE, "rte"))
    moved = {run: leg for run, leg in ways.legs.items() if len(leg.gap) > 1}
    seconds = np.concatenate([leg.seconds[1:] for leg in moved.values()])
    axes.set_xscale("log")
    axes.set_xlim(seconds.min() / 1.5, 1.6 * max(cost, seconds.max()))
    axes.set_ylim(0, span([*ways.shown("gap"), 0, LEAST])[1])
    axes.set_xlabel("Seconds (RTE)")
    axes.set_ylabel("Avg. Gap (points)")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    floor = POINTS * ways.cell.number(REFERENCE, "floor", at="avg_gap")
    if not np.isnan(floor):
        axes.axhspan(0, floor, **NOISE)
    axes.axhline(start, color="0.3", linestyle=":", linewidth=1)
    axes.text(0.02, start, "Original", transform=axes.get_yaxis_transform(), fontsize=7, **ABOVE)
    _draw_budgets(axes, cost)
    ends = [_draw_way(axes, ways, run, leg.seconds[1:], leg.gap[1:]) for run, leg in moved.items()]
    label_ends(axes, _by_height(ends))


def _draw_budgets(axes: Axes, cost: float) -> None:
    """Mark Retrain's own time, and shares of it."""
    above = {"transform": axes.get_xaxis_transform(), "ha": "center", "fontsize": 6, **ABOVE}
    axes.axvline(cost, **LEVEL)
    axes.text(cost, 1.01, "Retrain", **above)
    for share in SHARES:
        seconds = share / 100 * cost
        if seconds > axes.get_xlim()[0]:
            axes.axvline(seconds, color="0.9", linewidth=0.6, zorder=0.6)
            axes.text(seconds, 1.01, f"{share} %", **above)


def _draw_way(axes: Axes, ways: Ways, run: str, x: Floats, y: Floats) -> End:
    """Draw a way, small dots on it and its last point large; what is beyond the axes, at them."""
    look = ways.look(run)
    x, y = np.clip(x, *axes.get_xlim()), np.clip(y, *axes.get_ylim())
    common: dict[str, Any] = {"color": look.colour, "clip_on": False}
    axes.plot(x, y, linestyle=look.line, **common)
    if len(x) > 1:  # an empty line would lie in the figure's corner, and count in the layout
        axes.plot(x[:-1], y[:-1], "o", markersize=EPOCH, **common)
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.4, "zorder": 4}
    axes.plot(x[-1:], y[-1:], look.marker or "o", markersize=LAST, **edge, **common)
    return End(float(x[-1]), float(y[-1]), ways.cell.labels[run], look.colour)


def _end(leg: Leg) -> str:
    return "undefined" if np.isnan(leg.gap[-1]) else f"a gap of {leg.gap[-1]:.0f} points"


def _by_height(ends: Iterable[End]) -> Sequence[End]:
    """Return the lowest first: the axis is below it, and the others can move up."""
    return sorted(ends, key=lambda end: end.y)


def span(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: what is drawn, and some room."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = ROOM * (high - low)
    return low - room, high + room
