"""Table, plot and sentences on how near tracked runs come to Retrain by epoch and by cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from collateral.contract.metrics import EMPTY, FACTORS
from collateral.contract.rows import TRACKED
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import different_devices, join_sentences, list_devices
from collateral.findings._shared.compare import noise_floor_by_sd, noise_floor_of_gap
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
Point = tuple[float, float]
GAP = f"{TRACKED}avg_gap"
POINTS = FACTORS["points"]

# Columns of a path that are distances from Retrain, each with the name of its metric.
DISTANCES = {"gap": "avg_gap", "error": "forgetting_error", "damage": "damage"}
PLOT_CAPTION = (
    "The path of each method from the base model (ring) towards Retrain (cross), one dot per "
    "epoch. Left: the forgetting error (mean deviation of UA and MIA from Retrain's) and the "
    "damage (loss of accuracy on the nearest retained examples minus that on all others); grey: "
    "the range of 95 % of differences between retrainings. Right: the average gap over the "
    "method's own seconds, with preparation, without tuning; vertical lines are shares of "
    "Retrain's time; grey: the expected gap of other retrainings. Dashed in colour: the schedule "
    "depends on the number of epochs, so an epoch is no shorter run. A run that ends much further "
    "from Retrain than the "
    "base model and the other runs is drawn up to the edge, where a hollow dot has its name; a run "
    "that failed in every seed is not drawn."
)
ERROR = "Forgetting error:\nmean of |ΔUA|, |ΔMIA| (points)"
DAMAGE = "Damage: near − far loss (points)"
# Minimum range of an axis in percentage points, so that noise does not fill the plot.
MIN_RANGE = 5.0
ROOM = 0.12  # fraction of the data range that is left empty at each end of an axis
# A run is far if its final gap is above 2 x the base's gap and 3 x the other runs' median gap.
FAR_FROM_BASE, FAR_FROM_MEDIAN = 2, 3
SPACE_FOR_NAMES = 2.5  # factor by which the axis of seconds reaches beyond the last value
BELOW_ZERO = 0.04  # height below zero as a fraction of the axis, so that no path is on the frame
TEXT_WIDTH = 0.14  # distance of two texts at shares of Retrain's time, as a fraction of the axis
AREA, LAST_AREA = 6.0, 30.0  # area of an epoch's dot, and of the last epoch's dot


def read_path(cell: CellTable, run: str) -> pd.DataFrame:
    """Return the path of a tracked run: its seconds and distances from Retrain.

    The table has one row per epoch; row 0 is the base model.
    """
    epochs = cell.indices(run, GAP)
    seconds = [mean(cell.values(run, EPOCH_SECONDS, at=epoch)) for epoch in epochs]
    parts = {
        part: [cell.number(run, f"{TRACKED}{metric}", at=epoch) for epoch in epochs]
        for part, metric in DISTANCES.items()
    }
    return pd.DataFrame({"seconds": seconds, **parts})


def read_paths(cell: CellTable) -> dict[str, pd.DataFrame]:
    """Return the trajectories of all tracked runs: first of methods, then of controls."""
    runs = [*cell.runs("method"), *cell.runs("control")]
    return {run: read_path(cell, run) for run in runs if cell.indices(run, GAP)}


def find_budgets(cell: CellTable, paths: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Return records of each tracked run's latest model within each budget, and of the base model.

    `best` marks the ranked methods with the smallest gap within a budget. No method is best if the
    base model, or a method within a smaller budget, has a smaller gap: with a larger budget one
    may still stop early, or not start.
    """
    records = [_make_record(cell, run, paths[run], share) for run in paths for share in SHARES]
    idle = least = float(next(iter(paths.values()))["gap"][0])
    for share in SHARES:
        of_share = [record for record in records if record["percent"] == share]
        ranked = [record for record in of_share if _is_ranked(record)]
        least = float(np.fmin.reduce([least, *(record["avg_gap"] for record in ranked)]))
        for record in ranked:
            record["best"] = record["avg_gap"] == least < idle
    base = {"run": ORIGINAL, "label": IDLE, "kind": "control"}
    numbers = {"avg_gap": idle, "epoch": 0, "seconds": 0.0, "n": len(cell.seeds)}
    ended = {"is_paced": False, "status": "ok", "best": False}
    return [*records, *({**base, "percent": share, **numbers, **ended} for share in SHARES)]


def _is_ranked(record: Mapping[str, Any]) -> bool:
    return record["kind"] == "method" and record["status"] == "ok" and not record["is_paced"]


def _make_record(cell: CellTable, run: str, path: pd.DataFrame, share: int) -> dict[str, Any]:
    """Return the record of a run's latest model within a budget; NaN if there is no model.

    If a run's schedule depends on the number of epochs, only its final model counts.
    """
    is_paced, epoch = run in cell.plan.paced, cell.number(run, "budget_epoch", at=share)
    has_model = epoch >= (len(path) - 1 if is_paced else 1)  # false if the epoch is NaN
    return {
        "run": run,
        "label": cell.labels[run],
        "kind": cell.kinds[run],
        "percent": share,
        "avg_gap": cell.number(run, "budget_gap", at=share) if has_model else math.nan,
        "epoch": int(epoch) if has_model else math.nan,
        "seconds": path["seconds"][int(epoch)] if has_model else math.nan,
        "n": len(cell.seeds),
        "is_paced": is_paced,
        "status": cell.failure_summary(run) or "ok",
        "best": False,
    }


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of average gaps within each budget of time, if runs are tracked."""
    paths = read_paths(cell)
    if not paths:
        return
    records = find_budgets(cell, paths)
    by_run = {run: [one for one in records if one["run"] == run] for run in (*paths, ORIGINAL)}
    methods, controls = (
        [_make_line(row, by_run[row.run], paths[row.run]) for row in rows if row.run in paths]
        for rows in rows_by_kind(cell, ("method", "control"))
    )
    idle = _idle_line(next(iter(paths)), records[-1]["avg_gap"])
    groups = [group for group in (methods, [*controls, idle]) if group]
    headings = [*(f"{share} %" for share in SHARES), "At its end"]
    seeds = f"Means over n = {len(cell.seeds)} seeds." if len(cell.seeds) > 1 else "One seed."
    cost = find_metric("rte").text(mean(cell.values(cell.reference, "rte")))
    caption = CAPTION.format(cost=cost, title=cell.title, seeds=seeds)
    yield Table(
        "trajectory",
        "Within a budget",
        [Grid("Method", headings, groups)],
        join_sentences(caption, different_devices(cell)),
        join_sentences(CONVENTIONS, PACED if any(run in cell.plan.paced for run in paths) else ""),
        records,
    )


def _make_line(row: TableRow, budgets: Sequence[Mapping[str, Any]], path: pd.DataFrame) -> Line:
    """Return the table row of a tracked run: its average gap within each budget, and at its end."""
    label = f"{row.label}*" if row.run in row.cell.plan.paced else row.label
    fields = [*map(_show_gap, budgets), _show_end(row.cell, row.run, path)]
    return Line(label, fields, row.note, row.is_aside)


def _show_gap(record: Mapping[str, Any]) -> Field:
    """Return the table entry of a latest model: its average gap, and its epoch in parentheses."""
    if math.isnan(record["epoch"]):
        return Field(EMPTY)
    gap, metrics = record["avg_gap"], ("budget_gap", "budget_epoch")
    text = f"{find_metric('budget_gap').text(gap)} ({record['epoch']})"
    source, other = (number_source(record["run"], name, at=record["percent"]) for name in metrics)
    return Field(text, gap, is_best=record["best"], source=source, also=(other,))


def _show_end(cell: CellTable, run: str, path: pd.DataFrame) -> Field:
    """Return the table entry of a run's final average gap.

    If run and Retrain used the same device, the run's cost in percent of Retrain's is added.
    """
    end, devices = path.iloc[-1], list_devices(cell)
    text = find_metric("avg_gap").text(end["gap"])
    if devices.get(run) == devices.get(cell.reference):
        share = end["seconds"] / mean(cell.values(cell.reference, "rte"))
        text = f"{text} at {find_metric('rte_share').text(share)} %"
    return Field(text, end["gap"], source=number_source(run, GAP, at=len(path) - 1))


def _idle_line(run: str, gap: float) -> Line:
    """Return the table row "Do nothing": the average gap of the base model, which costs no time.

    The base model is epoch 0 of every tracked run, so the gap is that of `run` at epoch 0.
    """
    text, free = find_metric("avg_gap").text(gap), find_metric("rte_share").text(0.0)
    field = Field(text, gap, source=number_source(run, GAP, at=0))
    end = replace(field, value=f"{text} at {free} %")
    return Line(IDLE, [*(field for _ in SHARES), end], is_aside=True)


def words(cell: CellTable) -> str:
    """Return a sentence that names the method nearest to Retrain within each budget.

    It is empty if no run is tracked.
    """
    paths = read_paths(cell)
    if not paths:
        return ""
    records = find_budgets(cell, paths)
    idle = f"{find_metric('avg_gap').text(records[-1]['avg_gap'])} points"
    parts = []
    for share in SHARES:
        if best := [one for one in records if one["best"] and one["percent"] == share]:
            names = " and ".join(record["label"] for record in best)
            gap = find_metric("budget_gap").text(best[0]["avg_gap"])
            parts.append(f"within {share} % {names} ({gap} points)")
    if not parts:
        within = f"within {SHARES[-1]} % of Retrain's cost"
        if not any(_is_ranked(record) and record["epoch"] > 0 for record in records):
            return f"No ranked method has a model {within}."
        return f"No ranked method is nearer to Retrain {within} than doing nothing ({idle})."
    claim = "One seed, so no claim: nearest" if len(cell.seeds) == 1 else "Nearest"
    is_complete = len(parts) == len(SHARES)
    return join_sentences(
        f"{claim} to Retrain, by the average gap and for a share of its cost (without tuning), is "
        f"{', '.join(parts)}.",
        "" if is_complete else "A larger share that is not named brings no method nearer.",
        f"Doing nothing has {idle}.",
    )


@dataclass(frozen=True)
class Paths:
    """The paths of a cell's tracked runs in a plot, with distances in percentage points."""

    cell: CellTable
    by_run: Mapping[str, pd.DataFrame]

    @cached_property
    def far_runs(self) -> list[str]:
        """Runs that end far from Retrain, or failed in a seed; they may leave the plot at its edge.

        If this holds for all runs, the list is empty.
        """
        found = [run for run in self.by_run if self.cell.failure_summary(run) or self._is_far(run)]
        return found if len(found) < len(self.by_run) else []

    def _is_far(self, run: str) -> bool:
        ends = {other: path["gap"].iloc[-1] for other, path in self.by_run.items()}
        known = [end for other, end in ends.items() if other != run and not np.isnan(end)]
        usual = float(np.median(known)) if known else np.inf
        first = self.by_run[run]["gap"][0]
        return not ends[run] <= max(FAR_FROM_MEDIAN * usual, FAR_FROM_BASE * first)

    def limits(self, part: str, *least: float) -> Limits:
        """Return limits of the axis `part` that include the base model and all but `far_runs`."""
        parts = {run: path[part] for run, path in self.by_run.items()}
        shown = [values[:1] if run in self.far_runs else values for run, values in parts.items()]
        together = np.concatenate([*shown, least])
        low, high = float(np.nanmin(together)), float(np.nanmax(together))
        return low - ROOM * (high - low), high + ROOM * (high - low)

    def start(self, part: str) -> float:
        """Return the base model's coordinate on the axis `part`; all paths begin there."""
        return float(np.nanmean([path[part][0] for path in self.by_run.values()]))


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of the tracked runs' paths."""
    found, drawn = read_paths(cell), find_looks(cell)
    factors = {"seconds": 1.0, **dict.fromkeys(DISTANCES, POINTS)}
    paths = Paths(cell, {run: path * factors for run, path in found.items() if run in drawn})
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
    x = Axis(ERROR, limits=paths.limits("error", 0, MIN_RANGE))
    y = Axis(DAMAGE, limits=paths.limits("damage", -MIN_RANGE / 2, MIN_RANGE / 2))
    return Panel(
        [*_lines(paths, ("error", "damage"), (x, y)), *marks],
        x=x,
        y=y,
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
    """Return the panel of average gap against seconds.

    Vertical lines mark fractions of Retrain's time.
    """
    cell, cost = paths.cell, mean(paths.cell.values(paths.cell.reference, "rte"))
    moved = {run: path for run, path in paths.by_run.items() if len(path) > 1}
    seconds = np.concatenate([path["seconds"][1:] for path in moved.values()])
    left = float(seconds[seconds > 0].min()) / 1.5
    floor = POINTS * cell.number(cell.reference, "floor", at="avg_gap")
    limits = left, SPACE_FOR_NAMES * max(cost, float(seconds.max()))
    top = paths.limits("gap", 0, MIN_RANGE)[1]
    x = Axis("Seconds (RTE)", "log", limits=limits)
    y = Axis("Avg. Gap (points)", limits=(-BELOW_ZERO * top, top))
    return Panel(
        _lines(paths, ("seconds", "gap"), (x, y), moved),
        x=x,
        y=y,
        levels=[
            *mark_shares(cost, limits),
            Level(cost, "x", "dashed", text="Retrain"),
            Level(paths.start("gap"), dash="dotted", text="Original"),
        ],
        bands=[Band(low=0.0, high=floor)] if np.isfinite(floor) else [],
        value_name="average gap",
        unit=" points",
    )


def mark_shares(cost: float, limits: Limits) -> list[Level]:
    """Return faint lines at shares of Retrain's time; a text that would touch another is left out.

    The horizontal axis is logarithmic.
    """
    left, right = map(math.log, limits)
    levels, last = [], math.log(cost)
    for share in reversed(SHARES):
        at = math.log(share / 100 * cost)
        if at > left:
            has_text = last - at > TEXT_WIDTH * (right - left)
            text, last = (f"{share} %", at) if has_text else ("", last)
            levels.append(Level(share / 100 * cost, "x", text=text, is_faint=True))
    return levels[::-1]


def _lines(
    paths: Paths, parts: tuple[str, str], axes: tuple[Axis, Axis], runs: Iterable[str] = ()
) -> list[Series]:
    """Return the lines and dots of the paths in a panel; costs begin with the first epoch."""
    first = 1 if "seconds" in parts else 0
    return [one for run in runs or paths.by_run for one in _path(paths, run, parts, axes, first)]


def _path(
    paths: Paths, run: str, parts: tuple[str, str], axes: tuple[Axis, Axis], first: int
) -> Iterator[Series]:
    """Yield a run's path as a line, and as one dot per epoch.

    The last dot is large and has the run's name. A path that leaves the panel ends at its edge,
    with a hollow dot.
    """
    cell, path, look = paths.cell, paths.by_run[run], find_looks(paths.cell)[run]
    is_far = run in paths.far_runs
    points = list(zip(*(path[part][first:].tolist() for part in parts), strict=True))
    inside, end = leave(points, *axes) if is_far else (points, None)
    label, count = cell.labels[run], len(inside)
    line = replace(
        look, marker="", dash="dashed" if run in cell.plan.paced else "solid", is_control=True
    )
    dot = replace(look, marker=look.marker or "o")
    drawn = [*inside, *([end] if end else [])]
    yield Series(label, line, *_split(drawn), run=run, sets_scale=not is_far)
    by_sd = noise_floor_by_sd(cell, "damage", DAMAGED)
    noise = POINTS * (noise_floor_of_gap(cell, "avg_gap") if "gap" in parts else by_sd)
    texts = _details(path, first)
    has_name = end is None and count > 0
    yield Series(
        label,
        dot,
        *_split(inside),
        run=run,
        mark="point",
        n=[len(cell.seeds)] * count,
        noise=[noise] * count,
        details={name: many[:count] for name, many in texts.items()},
        areas=[AREA] * (count - has_name) + [LAST_AREA] * has_name,
        names=[""] * (count - has_name) + [label] * has_name,
        sets_scale=not is_far,
    )
    if end:
        yield Series(
            label,
            dot,
            *_split([end]),
            run=run,
            mark="point",
            n=[len(cell.seeds)],
            noise=[noise],
            details={name: many[-1:] for name, many in texts.items()},
            areas=[LAST_AREA],
            names=[label],
            is_hollow=True,
            sets_scale=False,
        )


def _split(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    """Return the horizontal and the vertical positions of points."""
    return [x for x, _ in points], [y for _, y in points]


def leave(points: Sequence[Point], x: Axis, y: Axis) -> tuple[list[Point], Point | None]:
    """Return the points of a path before it leaves a panel, and where it crosses the edge.

    The crossing is None if the path stays inside. Undefined points are inside.
    """
    for place, point in enumerate(points):
        if _is_outside(point, x, y):
            start = points[place - 1] if place else None
            return list(points[:place]), _cross(start, point, x, y)
    return list(points), None


def _is_outside(point: Point, *axes: Axis) -> bool:
    limits = (axis.limits or (-math.inf, math.inf) for axis in axes)
    return any(v < low or v > high for v, (low, high) in zip(point, limits, strict=True))


def _cross(start: Point | None, end: Point, *axes: Axis) -> Point:
    """Return where the line from a point inside to a point outside crosses the edge of a panel.

    Without a start it is the point of the edge that is nearest to the end.
    """
    limits = [axis.limits or (-math.inf, math.inf) for axis in axes]
    if start is None or any(map(math.isnan, start)):
        x, y = (min(max(v, low), high) for v, (low, high) in zip(end, limits, strict=True))
        return x, y
    # Positions on a logarithmic axis are interpolated as they are drawn.
    scales = [(math.log, math.exp) if axis.scale == "log" else (float, float) for axis in axes]
    shares = [1.0]
    for (forward, _), a, b, ends in zip(scales, start, end, limits, strict=True):
        steps = [
            (forward(edge) - forward(a)) / (forward(b) - forward(a)) for edge in ends if a != b
        ]
        shares += [step for step in steps if 0 <= step <= 1]
    share = min(shares)
    x, y = (
        back(forward(a) + share * (forward(b) - forward(a)))
        for (forward, back), a, b in zip(scales, start, end, strict=True)
    )
    return x, y


def _details(path: pd.DataFrame, first: int) -> Mapping[str, Sequence[str]]:
    """Return the tooltips of a path's dots, from the epoch `first` on."""
    shown = path[first:]
    names = {"error": "forgetting error", "damage": "damage", "gap": "average gap"}
    return {
        "epoch": [str(epoch) for epoch in shown.index],
        "time": [format_number(value, ".3g", " s") for value in shown["seconds"]],
        **{
            name: [format_number(value, ".1f", " points") for value in shown[part]]
            for part, name in names.items()
        },
    }


def _describe_paths(paths: Paths) -> str:
    """Return sentences on how to read the plot, and on runs that end outside the plot."""
    labels = paths.cell.labels
    dashed = [labels[run] for run in paths.by_run if run in paths.cell.plan.paced]
    ends = {labels[run]: paths.by_run[run]["gap"].iloc[-1] for run in paths.far_runs}
    texts = [
        f"{label} ({'undefined' if np.isnan(gap) else f'a gap of {gap:.0f} points'})"
        for label, gap in ends.items()
    ]
    return join_sentences(
        "Ring: the base model. Cross: Retrain. One dot per epoch; means over seeds.",
        f"Dashed: an epoch is no shorter run ({', '.join(dashed)})." if dashed else "",
        f"At the edge, as they end beyond: {', '.join(texts)}." if texts else "",
    )
