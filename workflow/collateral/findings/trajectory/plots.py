"""Plot of the paths of tracked runs towards Retrain: forgetting error, damage and gap by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from collateral.findings._shared.compare import noise_floor, noise_floor_by_sd
from collateral.findings._shared.series import NOISE_LABEL, describe_failures, find_looks
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.views import POINTS, Floats, RunPath, find_paths
from collateral.findings.verdict import DAMAGED
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Band, Level, Limits, Panel, Plot, Series, format_number
from collateral.plots.style import DARK, Look
from collateral.results.table import CellTable

CAPTION = (
    "The path of each method from the base model (ring) towards Retrain (cross), one dot per "
    "epoch. Left: the forgetting error (mean deviation of UA and MIA from Retrain's) and the "
    "damage (loss of accuracy compared with Retrain on the nearest retained examples, minus that "
    "on all others); grey: the range of 95 % of differences between retrainings. Right: the "
    "average gap over the method's own seconds, with preparation; vertical lines are shares of "
    "Retrain's time; grey: the expected gap of other retrainings. Dashed in colour: the schedule "
    "depends on the number of epochs, so an epoch is no shorter run. A run that ends more than "
    "twice as far from Retrain as the base model, and more than three times as far as half of the "
    "other runs, leaves the plot at its edge; a run that collapsed in every seed is not drawn."
)
ERROR = "Forgetting error:\nmean of |ΔUA|, |ΔMIA| (points)"
DAMAGE = "Damage: near − far loss (points)"
MIN_RANGE = 5.0  # smallest range of an axis in points, so that noise does not fill it
ROOM = 0.12  # share of the data range that is left empty at each end of an axis
# A run is drawn at the edge if its last gap exceeds 2 base gaps and 3 median gaps.
FAR_FROM_BASE, FAR_FROM_MEDIAN = 2, 3
AREA, LAST_AREA = 6.0, 30.0  # areas of the dots of an epoch and of the last epoch
BASE = Look(DARK, "o", is_control=True)
CROSS = Look(DARK, "P", is_control=True)


@dataclass(frozen=True)
class DrawnPaths:
    """The paths to draw, in points, by run."""

    cell: CellTable
    by_run: Mapping[str, RunPath]

    @cached_property
    def far_runs(self) -> list[str]:
        """The runs drawn at the edge: they end far from Retrain, or failed in some seeds."""
        found = [run for run in self.by_run if self.cell.failure_summary(run) or self._is_far(run)]
        return found if len(found) < len(self.by_run) else []

    def _is_far(self, run: str) -> bool:
        ends = [path.gap[-1] for other, path in self.by_run.items() if other != run]
        known = [end for end in ends if not np.isnan(end)]
        usual = float(np.median(known)) if known else np.inf
        path = self.by_run[run]
        return not path.gap[-1] <= max(FAR_FROM_MEDIAN * usual, FAR_FROM_BASE * path.gap[0])

    def limits(self, part: str, *least: float) -> Limits:
        """Return axis limits that include all epochs of all runs but the far ones, and the base."""
        parts = {run: getattr(path, part) for run, path in self.by_run.items()}
        whole = [values for run, values in parts.items() if run not in self.far_runs]
        shown = np.concatenate([*whole, *(values[:1] for values in parts.values()), least])
        low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
        return low - ROOM * (high - low), high + ROOM * (high - low)

    def start(self, part: str) -> float:
        """Return the coordinate of the base model, where all paths begin."""
        return float(np.nanmean([getattr(path, part)[0] for path in self.by_run.values()]))


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of the tracked runs' paths."""
    drawn = find_looks(cell)
    found = {run: path.in_points() for run, path in find_paths(cell).items() if run in drawn}
    if found:
        paths = DrawnPaths(cell, found)
        notes = [_describe_paths(paths), *describe_failures(cell)]
        panels = [_error_panel(paths), _cost_panel(paths)]
        title = f"{cell.title}: towards Retrain"
        plot = Plot("trajectory", title, CAPTION, panels, 2, notes=notes, row_height=2.9)
        yield replace(plot, names_are_legend=True)


def _error_panel(paths: DrawnPaths) -> Panel:
    """Return the panel of damage against forgetting error, with Retrain at the origin."""
    noise = POINTS * noise_floor_by_sd(paths.cell, "damage", DAMAGED)
    start = [paths.start("error")], [paths.start("damage")]
    marks = [
        Series("Original", BASE, *start, mark="point", areas=[36.0], names=["Original"]),
        Series("Retrain", CROSS, [0.0], [0.0], mark="point", areas=[49.0], names=["Retrain"]),
    ]
    marks[0] = replace(marks[0], is_hollow=True)
    lines = [line for run in paths.by_run for line in _path(paths, run, "error", "damage")]
    return Panel(
        [*lines, *marks],
        x=Axis(ERROR, limits=paths.limits("error", 0, MIN_RANGE)),
        y=Axis(DAMAGE, limits=paths.limits("damage", -MIN_RANGE / 2, MIN_RANGE / 2)),
        levels=[Level(0.0)],
        bands=[Band(low=-noise, high=noise, label=NOISE_LABEL)] if np.isfinite(noise) else [],
        value_name="damage",
        unit=" points",
    )


def _cost_panel(paths: DrawnPaths) -> Panel:
    """Return the panel of the average gap over seconds, with lines at shares of Retrain's time."""
    cell, cost = paths.cell, mean(paths.cell.values(paths.cell.reference, "rte"))
    moved = {run: path for run, path in paths.by_run.items() if len(path.gap) > 1}
    seconds = np.concatenate([path.seconds[1:] for path in moved.values()])
    left = float(seconds[seconds > 0].min()) / 1.5
    floor = POINTS * cell.number(cell.reference, "floor", at="avg_gap")
    budgets = [
        Level(share / 100 * cost, "x", text=f"{share} %", is_faint=True)
        for share in SHARES
        if share / 100 * cost > left
    ]
    lines = [line for run in moved for line in _path(paths, run, "seconds", "gap", first=1)]
    return Panel(
        lines,
        x=Axis("Seconds (RTE)", "log", limits=(left, 1.6 * max(cost, float(seconds.max())))),
        y=Axis("Avg. Gap (points)", limits=(0.0, paths.limits("gap", 0, MIN_RANGE)[1])),
        levels=[
            *budgets,
            Level(cost, "x", "dashed", text="Retrain"),
            Level(paths.start("gap"), dash="dotted", text="Original"),
        ],
        bands=[Band(low=0.0, high=floor)] if np.isfinite(floor) else [],
        value_name="average gap",
        unit=" points",
    )


def _path(paths: DrawnPaths, run: str, x: str, y: str, first: int = 0) -> Iterator[Series]:
    """Yield a run's line, and one dot per epoch; the last dot is large and has the run's name."""
    path, look = paths.by_run[run], find_looks(paths.cell)[run]
    across, up = getattr(path, x)[first:].tolist(), getattr(path, y)[first:].tolist()
    label, is_near = paths.cell.labels[run], run not in paths.far_runs
    line = replace(look, marker="", dash="dashed" if path.is_paced else "solid", is_control=True)
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
        details=_details(path, first),
        areas=[*[AREA] * (count - 1), LAST_AREA],
        names=[*[""] * (count - 1), label],
        sets_scale=is_near,
    )


def _details(path: RunPath, first: int) -> Mapping[str, Sequence[str]]:
    def texts(values: Floats, form: str, unit: str) -> list[str]:
        return [format_number(value, form, unit) for value in values[first:]]

    return {
        "epoch": [str(epoch) for epoch in range(first, len(path.gap))],
        "time": texts(path.seconds, ".3g", " s"),
        "forgetting error": texts(path.error, ".1f", " points"),
        "damage": texts(path.damage, ".1f", " points"),
        "average gap": texts(path.gap, ".1f", " points"),
    }


def _describe_paths(paths: DrawnPaths) -> str:
    """Return sentences on how to read the plot, and on runs that end outside it."""
    labels = paths.cell.labels
    dashed = [labels[run] for run, path in paths.by_run.items() if path.is_paced]
    ends = [f"{labels[run]} ({_describe_end(paths.by_run[run])})" for run in paths.far_runs]
    notes = ["Ring: the base model. Cross: Retrain. One dot per epoch; means over seeds."]
    notes += [f"Dashed: an epoch is no shorter run ({', '.join(dashed)})."] if dashed else []
    notes += [f"At the edge, as they end beyond: {', '.join(ends)}."] if ends else []
    return " ".join(notes)


def _describe_end(path: RunPath) -> str:
    return "undefined" if np.isnan(path.gap[-1]) else f"a gap of {path.gap[-1]:.0f} points"
