"""Budgets and paths towards Retrain of the tracked runs: table, plot and sentences."""

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
# A run is drawn at the edge if its final gap exceeds both 2 x the base model's gap and 3 x the
# median final gap of the other runs.
FAR_FROM_BASE, FAR_FROM_MEDIAN = 2, 3
AREA, LAST_AREA = 6.0, 30.0  # areas of the dots: of each epoch, and of the last epoch


@dataclass(frozen=True)
class RunPath:
    """Seconds and distances from Retrain of one run by epoch; epoch 0 is the base model."""

    run: str
    seconds: Floats
    gap: Floats
    error: Floats
    damage: Floats
    is_paced: bool  # whether the learning-rate schedule depends on the number of epochs
    # (gap, epoch) within each budget, by budget in percent of Retrain's cost.
    _within: dict[int, tuple[float, int]]

    def in_points(self) -> RunPath:
        """Return the path with distances in points instead of rates."""
        parts = {name: POINTS * getattr(self, name) for name in ("gap", "error", "damage")}
        return replace(self, **parts)

    def within(self, share: int) -> tuple[float, int]:
        """Return the gap of the latest model within a budget, and its epoch, or 0 without a model.

        The budget is in percent of Retrain's cost. A paced run has a model at its last epoch only.
        """
        gap, epoch = self._within[share]
        is_run = epoch == len(self.gap) - 1 if self.is_paced else epoch > 0
        return (gap, epoch) if is_run else (math.nan, 0)


def find_paths(cell: CellTable) -> dict[str, RunPath]:
    """Return the paths of all tracked runs, methods first."""
    runs = [*cell.runs("method"), *cell.runs("control")]
    return {run: _read_path(cell, run) for run in runs if cell.indices(run, f"{TRACKED}avg_gap")}


def find_leaders(cell: CellTable) -> dict[int, list[str]]:
    """Return the ranked methods with the smallest gap within each budget, including ties.

    No method leads if the base model, or a method within a smaller budget, has a smaller gap: with
    a larger budget one may still stop early, or not start.
    """
    ranked = {run: path for run, path in find_paths(cell).items() if is_ranked(cell, path)}
    idle = least = idle_gap(cell)
    found = {}
    for share in SHARES:
        gaps = {run: path.within(share)[0] for run, path in ranked.items()}
        known = (gap for gap in (least, *gaps.values()) if not math.isnan(gap))
        least = min(known, default=math.nan)
        found[share] = [run for run, gap in gaps.items() if gap == least < idle]
    return found


def idle_gap(cell: CellTable) -> float:
    """Return the average gap of the base model, from which every run starts."""
    return next((float(path.gap[0]) for path in find_paths(cell).values()), math.nan)


def is_ranked(cell: CellTable, path: RunPath) -> bool:
    """Tell whether a run is ranked: a method that is not paced, and that failed in no seed."""
    is_sound = cell.kinds[path.run] == "method" and not cell.failure_summary(path.run)
    return is_sound and not path.is_paced


def _read_path(cell: CellTable, run: str) -> RunPath:
    epochs = cell.indices(run, f"{TRACKED}avg_gap")
    parts = ("avg_gap", "forgetting_error", "damage")
    gap, error, damage = (
        np.array([cell.number(run, f"{TRACKED}{part}", at=epoch) for epoch in epochs])
        for part in parts
    )
    seconds = np.array([mean(cell.values(run, EPOCH_SECONDS, at=epoch)) for epoch in epochs])
    within = {share: _within(cell, run, share) for share in SHARES}
    return RunPath(run, seconds, gap, error, damage, run in cell.plan.paced, within)


def _within(cell: CellTable, run: str, share: int) -> tuple[float, int]:
    epoch = cell.number(run, "budget_epoch", at=share)
    return cell.number(run, "budget_gap", at=share), 0 if math.isnan(epoch) else int(epoch)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of gaps within budgets, if runs are tracked."""
    if not (found := find_paths(cell)):
        return
    best = find_leaders(cell)
    methods, controls = (
        [_make_line(row, found[row.run], best) for row in rows if row.run in found]
        for rows in rows_by_kind(cell, ("method", "control"))
    )
    groups = [group for group in (methods, [*controls, _idle_line(cell)]) if group]
    headings = [*(f"{share} %" for share in SHARES), "At its end"]
    seeds = f"Means over n = {len(cell.seeds)} seeds." if len(cell.seeds) > 1 else "One seed."
    cost = find_metric("rte").text(mean(cell.values(cell.reference, "rte")))
    caption = CAPTION.format(cost=cost, title=cell.title, seeds=seeds)
    yield Table(
        "trajectory",
        "Within a budget",
        [Grid("Method", headings, groups)],
        join_sentences(caption, different_devices(cell)),
        join_sentences(CONVENTIONS, PACED if any(path.is_paced for path in found.values()) else ""),
        [_make_record(cell, run, share) for run in (*found, ORIGINAL) for share in SHARES],
    )


def _make_line(row: TableRow, path: RunPath, best: dict[int, list[str]]) -> Line:
    """Return the row of a tracked run: its gap within each budget, and at the end."""
    fields = [_show_gap(path, share, path.run in best[share]) for share in SHARES]
    label = f"{row.label}*" if path.is_paced else row.label
    return Line(label, [*fields, _show_end(row.cell, path)], row.note, row.is_aside)


def _show_gap(path: RunPath, share: int, is_best: bool) -> Field:
    gap, epoch = path.within(share)
    if not epoch:
        return Field(EMPTY)
    return Field(
        f"{find_metric('budget_gap').text(gap)} ({epoch})",
        gap,
        is_best=is_best,
        source=number_source(path.run, "budget_gap", at=share),
        also=(number_source(path.run, "budget_epoch", at=share),),
    )


def _show_end(cell: CellTable, path: RunPath) -> Field:
    """Return the gap of the whole run, with its share of Retrain's cost on the same device."""
    gap, devices = find_metric("avg_gap").text(path.gap[-1]), list_devices(cell)
    source = number_source(path.run, GAP, at=len(path.gap) - 1)
    if devices.get(path.run) != devices.get(cell.reference):
        return Field(gap, path.gap[-1], source=source)
    share = path.seconds[-1] / mean(cell.values(cell.reference, "rte"))
    text = f"{gap} at {find_metric('rte_share').text(share)} %"
    return Field(text, path.gap[-1], source=source)


def _idle_line(cell: CellTable) -> Line:
    """Return the row of the base model, which costs no time."""
    gap, first = idle_gap(cell), next(iter(find_paths(cell)))
    text, free = find_metric("avg_gap").text(gap), find_metric("rte_share").text(0.0)
    field = Field(text, gap, source=number_source(first, GAP, at=0))
    end = replace(field, value=f"{text} at {free} %")
    return Line(IDLE, [*(field for _ in SHARES), end], is_aside=True)


def _make_record(cell: CellTable, run: str, share: int) -> dict[str, Any]:
    """Return a tracked run's unrounded numbers within one budget, or the base model's."""
    path = find_paths(cell).get(run)
    gap, epoch = path.within(share) if path else (idle_gap(cell), 0)
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
        "best": run in find_leaders(cell)[share],
    }


def words(cell: CellTable) -> str:
    """Return a sentence naming the leader within each budget; empty without tracked runs."""
    found, best = find_paths(cell), find_leaders(cell)
    if not found:
        return ""
    shares = [share for share in SHARES if best[share]]
    if not shares:
        return _explain_no_leader(cell)
    parts: list[str] = []
    last: list[str] = []
    for share in shares:
        names = " and ".join(cell.labels[run] for run in best[share])
        gap = find_metric("budget_gap").text(found[best[share][0]].within(share)[0])
        again = "still " if best[share] == last else ""
        parts.append(f"within {share} % {again}{names} ({gap} points)")
        last = best[share]
    claim = "One seed, so no claim: nearest" if len(cell.seeds) == 1 else "Nearest"
    text = f"{claim} to Retrain, by the average gap and for a share of its cost, is "
    return f"{text}{', '.join(parts)}.{_describe_rest(cell, len(shares) < len(SHARES))}"


def _explain_no_leader(cell: CellTable) -> str:
    """Return why no method leads: none is in time, or none is nearer than the base model."""
    within = f"within {SHARES[-1]} % of Retrain's cost"
    ranked = [path for path in find_paths(cell).values() if is_ranked(cell, path)]
    if not any(path.within(share)[1] for path in ranked for share in SHARES):
        return f"No ranked method has a model {within}."
    gap = find_metric("avg_gap").text(idle_gap(cell))
    return f"No ranked method is nearer to Retrain {within} than doing nothing ({gap} points)."


def _describe_rest(cell: CellTable, is_share_unnamed: bool) -> str:
    """Return a sentence on the gap of the base model, and one on budgets without a leader."""
    unnamed = " A larger share that is not named brings no method nearer." * is_share_unnamed
    return f"{unnamed} Doing nothing has {find_metric('avg_gap').text(idle_gap(cell))} points."


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
        plot = Plot("trajectory", title, PLOT_CAPTION, panels, 2, notes=notes, row_height=2.9)
        yield replace(plot, names_are_legend=True)


def _error_panel(paths: DrawnPaths) -> Panel:
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
    """Return a dark mark with its name beside it."""
    look = Look(DARK, marker, is_control=True)
    return Series(label, look, [x], [y], mark="point", areas=[area], names=[label], **more)


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
    cell, count = paths.cell, len(across)
    by_sd = noise_floor_by_sd(cell, "damage", DAMAGED)
    noise = noise_floor(cell, "avg_gap") if y == "gap" else by_sd
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
