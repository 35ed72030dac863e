"""Table, plot and sentences on how near tracked runs come to Retrain by epoch and by cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import EMPTY, FACTORS
from collateral.contract.rows import TRACKED
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import different_devices, join_sentences, list_devices
from collateral.findings._shared.compare import noise_floor, noise_floor_by_sd
from collateral.findings._shared.series import NOISE_LABEL, describe_failures, find_looks
from collateral.findings.columns import TableRow, number_source, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.findings.trajectory import SHARES
from collateral.findings.verdict import DAMAGED
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Band, Level, Limits, Panel, Plot, Series, format_number
from collateral.plots.style import DARK, Look
from collateral.results.layout import ORIGINAL
from collateral.results.record import EPOCH_SECONDS
from collateral.results.table import CellTable

CAPTION = (
    "Average gap to Retrain, in points, of the latest model that a method has within a share of "
    "Retrain's cost ({cost} s), with the epoch it comes from: {title}. {seeds}"
)
CONVENTIONS = (
    "Costs are RTE, with preparation, without tuning. –: no model yet. Do nothing: the gap of the "
    "base model. Bold: the leading method, which is nearer to Retrain than doing nothing and than "
    "every method within a smaller share; in a column without bold, none is. Controls, and runs "
    "that diverged or collapsed, are not ranked. At its end: the gap of the whole run, and its "
    "share of Retrain's cost."
)
IDLE = "Do nothing"
PACED = "*: not ranked: its schedule depends on the number of epochs, so no epoch is a shorter run."
GAP = f"{TRACKED}avg_gap"
POINTS = FACTORS["points"]

Floats = NDArray[np.float64]
PLOT_CAPTION = (
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
# Minimum range of an axis in percentage points, so that noise does not fill the plot.
MIN_RANGE = 5.0
ROOM = 0.12  # fraction of the data range that is left empty at each end of an axis
# A run is far if its final gap is above 2 x the base model's gap and 3 x the other runs' median.
FAR_FROM_BASE, FAR_FROM_MEDIAN = 2, 3
AREA, LAST_AREA = 6.0, 30.0  # area of an epoch's dot, and of the last epoch's dot


@dataclass(frozen=True)
class RunPath:
    """Seconds and distances from Retrain of one run by epoch; epoch 0 is the base model."""

    run: str
    seconds: Floats
    gap: Floats
    error: Floats
    damage: Floats
    is_paced: bool  # whether the learning-rate schedule depends on the number of epochs
    # Gap and epoch of the latest model within each budget, by budget in percent of Retrain's cost.
    # The epoch is 0 if no model is finished; if `is_paced`, only the last epoch's model counts.
    within: Mapping[int, tuple[float, int]]

    @staticmethod
    def read(cell: CellTable, run: str) -> RunPath:
        """Read the path of a tracked run."""
        epochs, is_paced = cell.indices(run, GAP), run in cell.plan.paced
        gap, error, damage = (
            np.array([cell.number(run, f"{TRACKED}{part}", at=epoch) for epoch in epochs])
            for part in ("avg_gap", "forgetting_error", "damage")
        )
        seconds = np.array([mean(cell.values(run, EPOCH_SECONDS, at=epoch)) for epoch in epochs])
        within = {}
        for share in SHARES:
            epoch = cell.number(run, "budget_epoch", at=share)
            has_model = epoch == len(epochs) - 1 if is_paced else epoch > 0  # false if it is NaN
            gap_then = cell.number(run, "budget_gap", at=share)
            within[share] = (gap_then, int(epoch)) if has_model else (math.nan, 0)
        return RunPath(run, seconds, gap, error, damage, is_paced, within)

    def in_points(self) -> RunPath:
        """Return the path with distances in percentage points instead of rates."""
        parts = {name: POINTS * getattr(self, name) for name in ("gap", "error", "damage")}
        return replace(self, **parts)


@dataclass(frozen=True)
class Paths:
    """The paths of a cell's tracked runs, first those of methods, then those of controls."""

    cell: CellTable
    by_run: Mapping[str, RunPath]

    @staticmethod
    def read(cell: CellTable) -> Paths:
        """Read the paths of all tracked runs."""
        runs = [*cell.runs("method"), *cell.runs("control")]
        return Paths(cell, {run: RunPath.read(cell, run) for run in runs if cell.indices(run, GAP)})

    @property
    def idle_gap(self) -> float:
        """Average gap of the base model, from which every run starts."""
        return next((float(path.gap[0]) for path in self.by_run.values()), math.nan)

    @property
    def ranked(self) -> list[RunPath]:
        """Paths of the ranked methods: those that are not `is_paced` and failed in no seed."""
        methods = [run for run in self.by_run if self.cell.kinds[run] == "method"]
        sound = [self.by_run[run] for run in methods if not self.cell.failure_summary(run)]
        return [path for path in sound if not path.is_paced]

    @cached_property
    def leaders(self) -> dict[int, list[str]]:
        """The ranked methods with the smallest gap within each budget, including ties.

        No method leads if the base model, or a method within a smaller budget, has a smaller gap:
        with a larger budget one may still stop early, or not start.
        """
        least, found = self.idle_gap, {}
        for share in SHARES:
            gaps = {path.run: path.within[share][0] for path in self.ranked}
            known = (gap for gap in (least, *gaps.values()) if not math.isnan(gap))
            least = min(known, default=math.nan)
            found[share] = [run for run, gap in gaps.items() if gap == least < self.idle_gap]
        return found

    @cached_property
    def far_runs(self) -> list[str]:
        """Runs that are plotted at the edge: they end far from Retrain, or failed in a seed."""
        found = [run for run in self.by_run if self.cell.failure_summary(run) or self._is_far(run)]
        return found if len(found) < len(self.by_run) else []

    def _is_far(self, run: str) -> bool:
        ends = [path.gap[-1] for other, path in self.by_run.items() if other != run]
        known = [end for end in ends if not np.isnan(end)]
        usual = float(np.median(known)) if known else np.inf
        path = self.by_run[run]
        return not path.gap[-1] <= max(FAR_FROM_MEDIAN * usual, FAR_FROM_BASE * path.gap[0])

    def limits(self, part: str, *least: float) -> Limits:
        """Return axis limits that include the base model and all runs except the `far_runs`."""
        parts = {run: getattr(path, part) for run, path in self.by_run.items()}
        whole = [values for run, values in parts.items() if run not in self.far_runs]
        shown = np.concatenate([*whole, *(values[:1] for values in parts.values()), least])
        low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
        return low - ROOM * (high - low), high + ROOM * (high - low)

    def start(self, part: str) -> float:
        """Return the base model's coordinate on the axis `part`; all paths begin there."""
        return float(np.nanmean([getattr(path, part)[0] for path in self.by_run.values()]))


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of gaps within budgets, if runs are tracked."""
    paths = Paths.read(cell)
    if not paths.by_run:
        return
    methods, controls = (
        [_make_line(row, paths) for row in rows if row.run in paths.by_run]
        for rows in rows_by_kind(cell, ("method", "control"))
    )
    groups = [group for group in (methods, [*controls, _idle_line(paths)]) if group]
    headings = [*(f"{share} %" for share in SHARES), "At its end"]
    seeds = f"Means over n = {len(cell.seeds)} seeds." if len(cell.seeds) > 1 else "One seed."
    cost = find_metric("rte").text(mean(cell.values(cell.reference, "rte")))
    caption = CAPTION.format(cost=cost, title=cell.title, seeds=seeds)
    is_paced = any(path.is_paced for path in paths.by_run.values())
    yield Table(
        "trajectory",
        "Within a budget",
        [Grid("Method", headings, groups)],
        join_sentences(caption, different_devices(cell)),
        join_sentences(CONVENTIONS, PACED if is_paced else ""),
        [_make_record(paths, run, share) for run in (*paths.by_run, ORIGINAL) for share in SHARES],
    )


def _make_line(row: TableRow, paths: Paths) -> Line:
    """Return the row of a tracked run: its gap within each budget, and at the end."""
    path = paths.by_run[row.run]
    fields = [_show_gap(path, share, path.run in paths.leaders[share]) for share in SHARES]
    label = f"{row.label}*" if path.is_paced else row.label
    return Line(label, [*fields, _show_end(row.cell, path)], row.note, row.is_aside)


def _show_gap(path: RunPath, share: int, is_best: bool) -> Field:
    gap, epoch = path.within[share]
    if not epoch:
        return Field(EMPTY)
    text = f"{find_metric('budget_gap').text(gap)} ({epoch})"
    of_gap, of_epoch = (number_source(path.run, f"budget_{x}", at=share) for x in ("gap", "epoch"))
    return Field(text, gap, is_best=is_best, source=of_gap, also=(of_epoch,))


def _show_end(cell: CellTable, path: RunPath) -> Field:
    """Return the final gap of a run, and its cost in percent of Retrain's if devices are equal."""
    text, devices = find_metric("avg_gap").text(path.gap[-1]), list_devices(cell)
    if devices.get(path.run) == devices.get(cell.reference):
        share = path.seconds[-1] / mean(cell.values(cell.reference, "rte"))
        text = f"{text} at {find_metric('rte_share').text(share)} %"
    return Field(text, path.gap[-1], source=number_source(path.run, GAP, at=len(path.gap) - 1))


def _idle_line(paths: Paths) -> Line:
    """Return the row of the base model, which costs no time."""
    gap, first = paths.idle_gap, next(iter(paths.by_run))
    text, free = find_metric("avg_gap").text(gap), find_metric("rte_share").text(0.0)
    field = Field(text, gap, source=number_source(first, GAP, at=0))
    end = replace(field, value=f"{text} at {free} %")
    return Line(IDLE, [*(field for _ in SHARES), end], is_aside=True)


def _make_record(paths: Paths, run: str, share: int) -> dict[str, Any]:
    """Return a tracked run's unrounded numbers within one budget, or the base model's."""
    cell, path = paths.cell, paths.by_run.get(run)
    gap, epoch = path.within[share] if path else (paths.idle_gap, 0)
    return {
        "run": run,
        "label": cell.labels[run] if path else IDLE,
        "kind": cell.kinds[run] if path else "control",
        "percent": share,
        "avg_gap": gap,
        "epoch": epoch if epoch or not path else math.nan,
        "seconds": (path.seconds[epoch] if epoch else math.nan) if path else 0.0,
        "n": len(cell.seeds),
        "is_paced": bool(path and path.is_paced),
        "status": (path and cell.failure_summary(run)) or "ok",
        "best": run in paths.leaders[share],
    }


def words(cell: CellTable) -> str:
    """Return a sentence naming the leader within each budget; empty without tracked runs."""
    paths = Paths.read(cell)
    if not paths.by_run:
        return ""
    idle = f"{find_metric('avg_gap').text(paths.idle_gap)} points"
    best = {share: runs for share, runs in paths.leaders.items() if runs}
    if not best:
        within = f"within {SHARES[-1]} % of Retrain's cost"
        if not any(epoch for path in paths.ranked for _, epoch in path.within.values()):
            return f"No ranked method has a model {within}."
        return f"No ranked method is nearer to Retrain {within} than doing nothing ({idle})."
    parts: list[str] = []
    last: list[str] = []
    for share, runs in best.items():
        names = " and ".join(cell.labels[run] for run in runs)
        gap = find_metric("budget_gap").text(paths.by_run[runs[0]].within[share][0])
        parts.append(f"within {share} % {'still ' * (runs == last)}{names} ({gap} points)")
        last = runs
    claim = "One seed, so no claim: nearest" if len(cell.seeds) == 1 else "Nearest"
    return join_sentences(
        f"{claim} to Retrain, by the average gap and for a share of its cost, is "
        f"{', '.join(parts)}.",
        "A larger share that is not named brings no method nearer."
        if len(best) < len(SHARES)
        else "",
        f"Doing nothing has {idle}.",
    )


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of the tracked runs' paths."""
    found, drawn = Paths.read(cell).by_run, find_looks(cell)
    paths = Paths(cell, {run: path.in_points() for run, path in found.items() if run in drawn})
    if paths.by_run:
        notes = [_describe_paths(paths), *describe_failures(cell)]
        panels = [_error_panel(paths), _cost_panel(paths)]
        title = f"{cell.title}: towards Retrain"
        plot = Plot("trajectory", title, PLOT_CAPTION, panels, 2, notes=notes, row_height=2.9)
        yield replace(plot, names_are_legend=True)


def _error_panel(paths: Paths) -> Panel:
    """Return the panel of damage against forgetting error, with Retrain at the origin."""
    noise = POINTS * noise_floor_by_sd(paths.cell, "damage", DAMAGED)
    start = paths.start("error"), paths.start("damage")
    marks = [
        _mark("Original", "o", *start, 36.0, is_hollow=True, run=ORIGINAL),
        _mark("Retrain", "P", 0.0, 0.0, 49.0),
    ]
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


def _mark(label: str, marker: str, x: float, y: float, area: float, **more: Any) -> Series:
    """Return a dark marker at one point, with its label beside it."""
    look = Look(DARK, marker, is_control=True)
    return Series(label, look, [x], [y], mark="point", areas=[area], names=[label], **more)


def _cost_panel(paths: Paths) -> Panel:
    """Return the panel of average gap against seconds; lines mark fractions of Retrain's time."""
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


def _path(paths: Paths, run: str, x: str, y: str, first: int = 0) -> Iterator[Series]:
    """Yield a run's line, and one dot per epoch; the last dot is large and has the run's name."""
    cell, path, look = paths.cell, paths.by_run[run], find_looks(paths.cell)[run]
    across, up = getattr(path, x)[first:].tolist(), getattr(path, y)[first:].tolist()
    label, is_near, count = cell.labels[run], run not in paths.far_runs, len(across)
    line = replace(look, marker="", dash="dashed" if path.is_paced else "solid", is_control=True)
    yield Series(label, line, across, up, run=run, sets_scale=is_near)
    by_sd = noise_floor_by_sd(cell, "damage", DAMAGED)
    noise = noise_floor(cell, "avg_gap") if y == "gap" else by_sd
    yield Series(
        label,
        replace(look, marker=look.marker or "o"),
        across,
        up,
        run=run,
        mark="point",
        n=[len(cell.seeds)] * count,
        noise=[POINTS * noise] * count,
        details=_details(path, first),
        areas=[*[AREA] * (count - 1), LAST_AREA],
        names=[*[""] * (count - 1), label],
        sets_scale=is_near,
    )


def _details(path: RunPath, first: int) -> Mapping[str, Sequence[str]]:
    """Return the tooltips of a path's dots, from the epoch `first` on."""
    distances = {"forgetting error": path.error, "damage": path.damage, "average gap": path.gap}
    return {
        "epoch": [str(epoch) for epoch in range(first, len(path.gap))],
        "time": [format_number(value, ".3g", " s") for value in path.seconds[first:]],
        **{
            name: [format_number(value, ".1f", " points") for value in values[first:]]
            for name, values in distances.items()
        },
    }


def _describe_paths(paths: Paths) -> str:
    """Return sentences on how to read the plot, and on runs that end outside it."""
    labels = paths.cell.labels
    dashed = [labels[run] for run, path in paths.by_run.items() if path.is_paced]
    ends = {labels[run]: paths.by_run[run].gap[-1] for run in paths.far_runs}
    texts = [
        f"{label} ({'undefined' if np.isnan(gap) else f'a gap of {gap:.0f} points'})"
        for label, gap in ends.items()
    ]
    return join_sentences(
        "Ring: the base model. Cross: Retrain. One dot per epoch; means over seeds.",
        f"Dashed: an epoch is no shorter run ({', '.join(dashed)})." if dashed else "",
        f"At the edge, as they end beyond: {', '.join(texts)}." if texts else "",
    )
