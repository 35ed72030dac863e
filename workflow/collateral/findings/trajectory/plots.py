"""The paths of tracked runs towards Retrain: forgetting error, damage and gap by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from collateral.findings._shared.compare import noise_floor, noise_floor_by_sd
from collateral.findings._shared.series import NOISE_LABEL, describe_failures, find_looks
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import POINTS, Floats, Leg, legs
from collateral.findings.verdict import DAMAGED
from collateral.plots.plot import Axis, Band, Level, Limits, Panel, Plot, Series, format_number
from collateral.plots.style import DARK, Look
from collateral.results.table import REFERENCE, CellTable, mean

CAPTION = (
    "The path of each method from the base model (ring) towards Retrain (cross), one dot per "
    "epoch. Left: what is not forgotten as Retrain forgets it, the mean deviation of UA and MIA "
    "from Retrain's, against the damage, the loss of accuracy against Retrain on the nearest "
    "retained examples minus that on all others; grey: where 95 % of differences between "
    "retrainings lie. Right: the average gap over the method's own seconds, preparing among them; "
    "vertical lines are shares of Retrain's time; grey: the gap to expect of other retrainings. "
    "Dashed in colour: an epoch depends on how many there are, and is no shorter run. A run that "
    "ends twice as far from Retrain as it began and as three quarters of the others is drawn at "
    "the edge, and one that collapsed in every seed is not drawn."
)
ERROR = "Forgetting error:\nmean of |ΔUA|, |ΔMIA| (points)"
DAMAGE = "Damage: near − far loss (points)"
LEAST = 5.0  # points that an axis covers at least, so that noise alone does not fill it
ROOM = 0.12  # of an axis, around what is drawn
MOST, FAR = 0.75, 2  # a run is far off if it ends FAR times beyond this quantile of the others
AREA, LAST_AREA = 6.0, 30.0  # of an epoch's dot, and of the last one
BASE = Look(DARK, "o", is_control=True)
CROSS = Look(DARK, "P", is_control=True)


@dataclass(frozen=True)
class Paths:
    """The runs to draw, with their paths in points."""

    cell: CellTable
    legs: Mapping[str, Leg]

    @cached_property
    def far_runs(self) -> list[str]:
        """The runs that would hide the others: they end far off, or failed in some seeds."""
        found = [run for run in self.legs if self.cell.failure_summary(run) or self._is_far(run)]
        return found if len(found) < len(self.legs) else []

    def _is_far(self, run: str) -> bool:
        ends = [leg.gap[-1] for other, leg in self.legs.items() if other != run]
        known = [end for end in ends if not np.isnan(end)]
        usual = float(np.quantile(known, MOST)) if known else np.inf
        leg = self.legs[run]
        return not leg.gap[-1] <= FAR * max(usual, float(leg.gap[0]))

    def limits(self, part: str, *least: float) -> Limits:
        """Return the ends of an axis: all epochs of all runs but the far ones, and the base."""
        parts = {run: getattr(leg, part) for run, leg in self.legs.items()}
        whole = [values for run, values in parts.items() if run not in self.far_runs]
        shown = np.concatenate([*whole, *(values[:1] for values in parts.values()), least])
        low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
        return low - ROOM * (high - low), high + ROOM * (high - low)

    def start(self, part: str) -> float:
        """Return where all runs begin: at the base model."""
        return float(np.nanmean([getattr(leg, part)[0] for leg in self.legs.values()]))


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the paths of the tracked runs."""
    drawn = find_looks(cell)
    found = {run: leg.in_points() for run, leg in legs(cell).items() if run in drawn}
    if found:
        paths = Paths(cell, found)
        notes = [_describe_paths(paths), *describe_failures(cell)]
        panels = [_error_panel(paths), _cost_panel(paths)]
        title = f"{cell.title}: towards Retrain"
        plot = Plot("trajectory", title, CAPTION, panels, 2, notes=notes, row_height=2.9)
        yield replace(plot, names_are_legend=True)


def _error_panel(paths: Paths) -> Panel:
    """Return the panel of damage against forgetting error, with Retrain at the origin."""
    noise = POINTS * noise_floor_by_sd(paths.cell, "damage", DAMAGED)
    start = [paths.start("error")], [paths.start("damage")]
    marks = [
        Series("Original", BASE, *start, mark="point", areas=[36.0], names=["Original"]),
        Series("Retrain", CROSS, [0.0], [0.0], mark="point", areas=[49.0], names=["Retrain"]),
    ]
    marks[0] = replace(marks[0], is_hollow=True)
    lines = [line for run in paths.legs for line in _path(paths, run, "error", "damage")]
    return Panel(
        [*lines, *marks],
        x=Axis(ERROR, limits=paths.limits("error", 0, LEAST)),
        y=Axis(DAMAGE, limits=paths.limits("damage", -LEAST / 2, LEAST / 2)),
        levels=[Level(0.0)],
        bands=[Band(low=-noise, high=noise, label=NOISE_LABEL)] if np.isfinite(noise) else [],
        value_name="damage",
        unit=" points",
    )


def _cost_panel(paths: Paths) -> Panel:
    """Return the average gap over seconds, with shares of Retrain's time."""
    cell, cost = paths.cell, mean(paths.cell.values(REFERENCE, "rte"))
    moved = {run: leg for run, leg in paths.legs.items() if len(leg.gap) > 1}
    seconds = np.concatenate([leg.seconds[1:] for leg in moved.values()])
    left = float(seconds[seconds > 0].min()) / 1.5
    floor = POINTS * cell.number(REFERENCE, "floor", at="avg_gap")
    budgets = [
        Level(share / 100 * cost, "x", text=f"{share} %", is_faint=True)
        for share in SHARES
        if share / 100 * cost > left
    ]
    lines = [line for run in moved for line in _path(paths, run, "seconds", "gap", first=1)]
    return Panel(
        lines,
        x=Axis("Seconds (RTE)", "log", limits=(left, 1.6 * max(cost, float(seconds.max())))),
        y=Axis("Avg. Gap (points)", limits=(0.0, paths.limits("gap", 0, LEAST)[1])),
        levels=[
            *budgets,
            Level(cost, "x", "dashed", text="Retrain"),
            Level(paths.start("gap"), dash="dotted", text="Original"),
        ],
        bands=[Band(low=0.0, high=floor)] if np.isfinite(floor) else [],
        value_name="average gap",
        unit=" points",
    )


def _path(paths: Paths, run: str, x: str, y: str, first: int = 0) -> Iterator[Series]:
    """Yield a run's line, and its epochs as dots, the last one large and named."""
    leg, look = paths.legs[run], find_looks(paths.cell)[run]
    across, up = getattr(leg, x)[first:].tolist(), getattr(leg, y)[first:].tolist()
    label, is_near = paths.cell.labels[run], run not in paths.far_runs
    line = replace(look, marker="", dash="dashed" if leg.is_paced else "solid", is_control=True)
    yield Series(label, line, across, up, run=run, sets_scale=is_near)
    count = len(across)
    is_gap = y == "gap"
    noise = (
        noise_floor(paths.cell, "avg_gap")
        if is_gap
        else noise_floor_by_sd(paths.cell, "damage", DAMAGED)
    )
    yield Series(
        label,
        replace(look, marker=look.marker or "o"),
        across,
        up,
        run=run,
        mark="point",
        n=[len(paths.cell.seeds)] * count,
        noise=[POINTS * noise] * count,
        details=_details(leg, first),
        areas=[*[AREA] * (count - 1), LAST_AREA],
        names=[*[""] * (count - 1), label],
        sets_scale=is_near,
    )


def _details(leg: Leg, first: int) -> Mapping[str, Sequence[str]]:
    def texts(values: Floats, form: str, unit: str) -> list[str]:
        return [format_number(value, form, unit) for value in values[first:]]

    return {
        "epoch": [str(epoch) for epoch in range(first, len(leg.gap))],
        "time": texts(leg.seconds, ".3g", " s"),
        "forgetting error": texts(leg.error, ".1f", " points"),
        "damage": texts(leg.damage, ".1f", " points"),
        "average gap": texts(leg.gap, ".1f", " points"),
    }


def _describe_paths(paths: Paths) -> str:
    """Return how to read the plot, and which runs end beyond it."""
    labels = paths.cell.labels
    dashed = [labels[run] for run, leg in paths.legs.items() if leg.is_paced]
    ends = [f"{labels[run]} ({_describe_end(paths.legs[run])})" for run in paths.far_runs]
    notes = ["Ring: the base model. Cross: Retrain. One dot per epoch; means over seeds."]
    notes += [f"Dashed: an epoch is no shorter run ({', '.join(dashed)})."] if dashed else []
    notes += [f"At the edge, as they end beyond: {', '.join(ends)}."] if ends else []
    return " ".join(notes)


def _describe_end(leg: Leg) -> str:
    return "undefined" if np.isnan(leg.gap[-1]) else f"a gap of {leg.gap[-1]:.0f} points"
