"""Seconds and memory, from the cost files of runs, tunings and support sizes; what pays when."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from collateral.contract.rows import Row
from collateral.findings._shared.statistics import mean_of_defined
from collateral.results.layout import ORIGINAL, RETRAIN
from collateral.results.record import EPOCH_SECONDS, STATED

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the costs of every run; the base model, taken as it is, costs nothing."""
    for result in cell.all_results():
        if result.run == ORIGINAL:
            yield Row(result.run, "rte", 0.0, result.seed)
            continue
        rows = _of_run(result.run, result.seed, result.cost())
        # The memory is that of a look at somebody else's weights.
        is_given = "weights" in result.record
        yield from (row for row in rows if not is_given or row.metric in ("rte", "seconds"))
        if device := device_of(result.cost(), result.record):
            yield Row(result.run, "on_device", 1.0, result.seed, at=device)
    for method in cell.tuned:
        seconds = cell.tuning_cost(method)["total_seconds"]
        yield Row(method, "tuning_seconds", seconds, cell.seeds[0])
    for run in cell.support_sized:
        for seed in cell.seeds:
            seconds = cell.support_sizes_cost(seed)["total_seconds"]
            yield Row(run, "support_size_seconds", seconds, seed)
    if cell.reference == RETRAIN:
        yield from _ledger(cell)


def _of_run(run: str, seed: int, cost: Mapping[str, Any]) -> Iterator[Row]:
    """Yield what a cost file says; undefined where nothing was measured."""
    totals = {
        "rte": "total_seconds",
        "peak_rss_mb": "peak_rss_mb",
        "peak_device_mb": "peak_device_mb",
    }
    for metric, key in totals.items():
        yield Row(run, metric, math.nan if cost[key] is None else float(cost[key]), seed)
    for phase, seconds in cost["seconds"].items():
        yield Row(run, "seconds", float(seconds), seed, at=phase)
    for epoch, seconds in enumerate(cost.get(EPOCH_SECONDS, ())):
        yield Row(run, EPOCH_SECONDS, float(seconds), seed, at=epoch)


def device_of(cost: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return where a run was computed, a CPU with its threads; empty where nobody knows."""
    if "weights" in record:  # of somebody else's making
        return "" if cost.get("total_seconds") is None else f"as {STATED}"
    kind = str(cost.get("device", ""))
    name = str(record.get("numerics", {}).get("device", kind))
    return f"{name}, threads: {cost['threads']}" if kind == "cpu" and "threads" in cost else name


def _ledger(cell: CellResults) -> Iterator[Row]:
    """Yield each run's share of Retrain's time, and from how many deletions on it pays."""
    by_run: dict[str, list[Result]] = {}
    for result in cell.all_results():
        by_run.setdefault(result.run, []).append(result)
    retrain = _mean_seconds(by_run[RETRAIN])
    devices = {run: _devices(results) for run, results in by_run.items()}
    for run in cell.runs:
        own = 0.0 if run == ORIGINAL else _mean_seconds(by_run[run])
        is_elsewhere = run != ORIGINAL and devices[run] != devices[RETRAIN]
        seconds = math.nan if is_elsewhere else own
        yield Row(run, "rte_share", seconds / retrain if retrain else math.nan)
        if by_run[run][0].kind == "method":
            method = run.partition("@")[0]  # whose tuning a sweep uses
            tuning = _tuning_seconds(cell, method) if method in cell.tuned else 0.0
            yield Row(run, "paying_deletions", paying_deletions(tuning, seconds, retrain))


def _tuning_seconds(cell: CellResults, method: str) -> float:
    """Return what tuning took, and the teacher that it asks; NaN on another device."""
    costs = [cell.tuning_cost(method), *cell.teacher_costs(method)]
    # Their records do not name a GPU: of one it is only known that it is one.
    of_retrain = {device_of(result.cost(), {}) for result in cell.retrained()}
    is_elsewhere = {device_of(cost, {}) for cost in costs} != of_retrain
    return math.nan if is_elsewhere else float(sum(cost["total_seconds"] for cost in costs))


def paying_deletions(tuning: float, seconds: float, retrain: float) -> float:
    """Return after how many deletions the time that each saves is that of tuning; NaN: never."""
    return tuning / (retrain - seconds) if seconds < retrain else math.nan


def _mean_seconds(results: list[Result]) -> float:
    found = (result.cost()["total_seconds"] for result in results)
    return mean_of_defined(math.nan if seconds is None else float(seconds) for seconds in found)


def _devices(results: list[Result]) -> set[str]:
    return {device_of(result.cost(), result.record) for result in results}
