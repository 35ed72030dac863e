"""Time and memory of every run, and the time of its tuning; both are read from cost.json files."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.statistics import mean_of_defined
from collateral.results.layout import ORIGINAL
from collateral.results.record import EPOCH_SECONDS, STATED


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the time and memory of every run; the base model (`original`) takes 0 seconds."""
    for result in cell.all_results():
        if result.run == ORIGINAL:
            yield Row(result.run, "rte", 0.0, result.seed)
            continue
        rows = _run_rows(result.run, result.seed, result.cost())
        # If the user gave the weights, memory was measured during evaluation and is left out.
        is_given = "weights" in result.record
        yield from (row for row in rows if not is_given or row.metric in ("rte", "seconds"))
        if device := name_device(result.cost(), result.record):
            yield Row(result.run, "on_device", 1.0, result.seed, at=device)
    for method in cell.tuned:
        seconds = cell.tuning_cost(method)["total_seconds"]
        yield Row(method, "tuning_seconds", seconds, cell.seeds[0])
    for run in cell.support_sized:
        for seed in cell.seeds:
            seconds = cell.support_sizes_cost(seed)["total_seconds"]
            yield Row(run, "support_size_seconds", seconds, seed)
    if cell.has_retrain:
        yield from _compare_with_retrain(cell)


def _run_rows(run: str, seed: int, cost: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of one cost.json file; a number that was not measured is NaN."""
    for metric in ("rte", "peak_rss_mb", "peak_device_mb"):
        value = cost["total_seconds" if metric == "rte" else metric]
        yield Row(run, metric, math.nan if value is None else float(value), seed)
    for phase, seconds in cost["seconds"].items():
        yield Row(run, "seconds", float(seconds), seed, at=phase)
    for epoch, seconds in enumerate(cost.get(EPOCH_SECONDS, ())):
        yield Row(run, EPOCH_SECONDS, float(seconds), seed, at=epoch)


def name_device(cost: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return the device of a run as text.

    The text includes the number of CPU threads, and the precision if it is not float32.
    """
    if "weights" in record:  # the user gave the weights, so the device is not recorded
        return "" if cost.get("total_seconds") is None else f"as {STATED}"
    kind = str(cost.get("device", ""))
    name = str(record.get("numerics", {}).get("device", kind))
    threads = f", threads: {cost['threads']}" if kind == "cpu" and "threads" in cost else ""
    precision = record.get("params", {}).get("precision", "float32")
    return name + threads + (f", {precision}" if precision != "float32" else "")


def _compare_with_retrain(cell: CellResults) -> Iterator[Row]:
    """Yield each run's time as a fraction of Retrain's time; for a tuned method, also with tuning.

    For methods, also yield the number of deletions after which tuning has paid off.
    """
    by_run: dict[str, list[Result]] = {}
    for result in cell.all_results():
        by_run.setdefault(result.run, []).append(result)
    retrain = _mean_seconds(by_run[cell.reference])
    devices = {
        run: {name_device(result.cost(), result.record) for result in results}
        for run, results in by_run.items()
    }
    for run in cell.runs:
        own = 0.0 if run == ORIGINAL else _mean_seconds(by_run[run])
        is_elsewhere = run != ORIGINAL and devices[run] != devices[cell.reference]
        seconds = math.nan if is_elsewhere else own
        yield Row(run, "rte_share", seconds / retrain if retrain else math.nan)
        if by_run[run][0].kind == "method":
            method = run.partition("@")[0]  # all runs of a sweep share the tuning of one method
            tuning = _tuning_seconds(cell, method) if method in cell.tuned else 0.0
            if method in cell.tuned:
                share = (seconds + tuning) / retrain if retrain else math.nan
                yield Row(run, "rte_share_with_tuning", share)
            yield Row(run, "paying_deletions", paying_deletions(tuning, seconds, retrain))


def _tuning_seconds(cell: CellResults, method: str) -> float:
    """Return the seconds of tuning a method and of training the teacher used in tuning.

    The result is NaN if Retrain ran on another device.
    """
    costs = [cell.tuning_cost(method), *cell.teacher_costs(method)]
    # The GPU model is unknown for tuning, so only the devices in cost.json are compared.
    retrain_devices = {name_device(result.cost(), {}) for result in cell.retrained()}
    is_elsewhere = {name_device(cost, {}) for cost in costs} != retrain_devices
    return math.nan if is_elsewhere else float(sum(cost["total_seconds"] for cost in costs))


def paying_deletions(tuning: float, seconds: float, retrain: float) -> float:
    """Return after how many deletions the time saved by unlearning equals the time of tuning.

    The result is NaN if unlearning is not faster than retraining.
    """
    return tuning / (retrain - seconds) if seconds < retrain else math.nan


def _mean_seconds(results: list[Result]) -> float:
    found = (result.cost()["total_seconds"] for result in results)
    return mean_of_defined(math.nan if seconds is None else float(seconds) for seconds in found)
