"""Table and sentences: the method nearest to Retrain within a share of Retrain's cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import EMPTY, FACTORS
from collateral.contract.rows import TRACKED
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import different_devices, join_sentences, list_devices
from collateral.findings.columns import TableRow, number_source, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.findings.trajectory import SHARES
from collateral.metrics.statistics import mean
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


@dataclass(frozen=True)
class RunPath:
    """Seconds and distances from Retrain of one run by epoch; epoch 0 is the base model."""

    run: str
    seconds: Floats
    gap: Floats
    error: Floats
    damage: Floats
    is_paced: bool  # whether the learning-rate schedule depends on the number of epochs
    _within: dict[int, tuple[float, int]]  # gap and epoch by share of Retrain's cost

    def in_points(self) -> RunPath:
        """Return the path with distances in points instead of rates."""
        parts = {name: POINTS * getattr(self, name) for name in ("gap", "error", "damage")}
        return replace(self, **parts)

    def within(self, share: int) -> tuple[float, int]:
        """Return the gap of the latest model within a share of Retrain's cost, and its epoch.

        The epoch is 0 if there is no model yet. A paced run has a model at its last epoch only.
        """
        gap, epoch = self._within[share]
        is_run = epoch == len(self.gap) - 1 if self.is_paced else epoch > 0
        return (gap, epoch) if is_run else (math.nan, 0)


def find_paths(cell: CellTable) -> dict[str, RunPath]:
    """Return the paths of all tracked runs, methods first."""
    runs = [*cell.runs("method"), *cell.runs("control")]
    return {run: _read_path(cell, run) for run in runs if cell.indices(run, f"{TRACKED}avg_gap")}


def find_leaders(cell: CellTable) -> dict[int, list[str]]:
    """Return the ranked methods with the smallest gap within each share, including ties.

    No method leads if its gap is not below that of doing nothing, or is above the smallest gap
    within a smaller share: with a larger budget one may still stop early, or not start.
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
    """Tell whether a run is ranked: a method without failures, with epochs that are not paced."""
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
        [
            *(
                _make_record(cell, path, share, is_best=path.run in best[share])
                for path in found.values()
                for share in SHARES
            ),
            *(_make_idle_record(cell, share) for share in SHARES),
        ],
    )


def _make_line(row: TableRow, path: RunPath, best: dict[int, list[str]]) -> Line:
    """Return the row of a tracked run: its gap within each share, and at the end."""
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


def _make_record(cell: CellTable, path: RunPath, share: int, *, is_best: bool) -> dict[str, Any]:
    gap, epoch = path.within(share)
    return {
        "run": path.run,
        "label": cell.labels[path.run],
        "kind": cell.kinds[path.run],
        "percent": share,
        "avg_gap": gap,
        "epoch": epoch or math.nan,
        "seconds": path.seconds[epoch] if epoch else np.nan,
        "n": len(cell.seeds),
        "is_paced": path.is_paced,
        "status": cell.failure_summary(path.run) or "ok",
        "best": is_best,
    }


def _make_idle_record(cell: CellTable, share: int) -> dict[str, Any]:
    return {
        "run": ORIGINAL,
        "label": IDLE,
        "kind": "control",
        "percent": share,
        "avg_gap": idle_gap(cell),
        "epoch": 0,
        "seconds": 0.0,
        "n": len(cell.seeds),
        "is_paced": False,
        "status": "ok",
        "best": False,
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
    """Return a sentence on why no method leads: none is in time, or none beats the base."""
    within = f"within {SHARES[-1]} % of Retrain's cost"
    ranked = [path for path in find_paths(cell).values() if is_ranked(cell, path)]
    if not any(path.within(share)[1] for path in ranked for share in SHARES):
        return f"No ranked method has a model {within}."
    gap = find_metric("avg_gap").text(idle_gap(cell))
    return f"No ranked method is nearer to Retrain {within} than doing nothing ({gap} points)."


def _describe_rest(cell: CellTable, is_share_unnamed: bool) -> str:
    """Return a sentence on the gap of the base model, and one on budgets without a leader."""
    unnamed = " A share that is not named brings nothing nearer." if is_share_unnamed else ""
    return f"{unnamed} Doing nothing has {find_metric('avg_gap').text(idle_gap(cell))} points."
