"""Seconds and memory, from the cost files of runs, tunings and support sizes."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from collateral.contract.protocols import CellResults
from collateral.contract.rows import Row
from collateral.results.layout import ORIGINAL
from collateral.results.record import EPOCH_SECONDS


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the costs of every run; the base model, taken as it is, costs nothing."""
    for result in cell.everyone():
        if result.run == ORIGINAL:
            yield Row(result.run, "rte", 0.0, result.seed)
        else:
            yield from _of_run(result.run, result.seed, result.cost())
    for method in cell.tuned:
        seconds = cell.tuning_cost(method)["total_seconds"]
        yield Row(method, "tuning_seconds", seconds, cell.seeds[0])
    for run in cell.support_sized:
        for seed in cell.seeds:
            seconds = cell.support_sizes_cost(seed)["total_seconds"]
            yield Row(run, "support_size_seconds", seconds, seed)


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
