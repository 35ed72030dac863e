"""Which of a cell's facts are good enough: green; a reason to look: amber; a fault: red."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import percent
from collateral.findings.catalogue import metric_of
from collateral.findings.gates.copies import LEAST_SIDE, MOST_BITS
from collateral.results.gates import Colour, Gate
from collateral.results.table import REFERENCE, BenchmarkTable, CellTable

LEAST_RA = 0.9
LEAST_SEEDS = 3
MOST_TA_GAP = 0.03
OLD = "the results are from before this was kept, so it cannot be said"

Answer = tuple[Colour, str]


def gates_of(table: BenchmarkTable) -> list[Gate]:
    """Ask every question of every cell; some are not for every cell."""
    asked = ((name, cell, ask(cell)) for cell in table.cells for name, ask in GATES.items())
    return [Gate(name, cell.name, *answer) for name, cell, answer in asked if answer]


def disjoint(cell: CellTable) -> Answer:
    """Is everybody either forgotten or retained?"""
    faults = cell.number(REFERENCE, "split_faults")
    if math.isnan(faults):
        return "amber", f"whether forget and retain set share examples: {OLD}"
    num_forgotten = sum(count for count, _ in cell.forgotten.values())
    if faults:
        return "red", f"{faults:.0f} train examples are not in exactly one of forget and retain set"
    return "green", f"none of the {num_forgotten} forgotten examples is retained as well"


def trained_on(cell: CellTable) -> Answer:
    """Was Retrain trained on exactly the retained examples?"""
    found = cell.values(REFERENCE, "trained_on_split")
    if wrong := _seeds(cell, found == 0):
        return "red", f"by its records, Retrain was trained on others than the retained: {wrong}"
    if unknown := _seeds(cell, np.isnan(found)):
        return "amber", f"what Retrain was trained on ({unknown}): {OLD}"
    return "green", f"Retrain's records name exactly the retained examples: {_all(cell)}"


def learned(cell: CellTable) -> Answer:
    """Does Retrain know what it was trained on?"""
    ra, metric = cell.values(REFERENCE, "ra"), metric_of("ra")
    least, bar = float(ra.min()), f"the bar is {percent(LEAST_RA)}"  # NaN where one is
    if math.isnan(least):
        return "red", f"Retrain's RA is undefined: {_seeds(cell, np.isnan(ra))}"
    said = f"Retrain's lowest RA of {_all(cell)} is {metric.text(least)} %, {bar}"
    return ("green" if least >= LEAST_RA else "red"), said


def base_differs(cell: CellTable) -> Answer:
    """Is Retrain another model than the base?"""
    found, metric = cell.values(REFERENCE, "base_distance"), metric_of("base_distance")
    if same := _seeds(cell, found == 0):
        return "red", f"the base's confidences are Retrain's: {same}"
    if np.isnan(found).any():
        reason = f"unknown for {_seeds(cell, np.isnan(found))}"
        return "amber", f"how far the base is from Retrain is {reason}: a control `original` says"
    return "green", f"confidences of base and Retrain differ by {metric.text(found.min())} points"


def alike(cell: CellTable) -> Answer | None:
    """Is Retrain trained as well as a base that was trained elsewhere?"""
    found, metric = cell.values(REFERENCE, "base_ta_gap"), metric_of("base_ta_gap")
    if np.isnan(found).all():
        return None  # trained here, by one recipe
    gap = float(np.nanmean(found))
    said = (
        f"on test examples of unaffected classes, Retrain's accuracy is {metric.text(gap)} points "
        f"from the given base's; above {percent(MOST_TA_GAP)} their recipes differ"
    )
    return ("green" if abs(gap) <= MOST_TA_GAP else "amber"), said


def exact_copies(cell: CellTable) -> Answer:
    """Is no forgotten image retained under another id?"""
    found = cell.number(REFERENCE, "exact_copies")
    if math.isnan(found):
        return "amber", f"whether forgotten images have copies among the retained: {OLD}"
    said = f"{found:.0f} forgotten images have an exact copy among the retained"
    return ("red" if found else "green"), said


def near_copies(cell: CellTable) -> Answer:
    """Does no forgotten image look like a retained one?"""
    found, side = (cell.number(REFERENCE, name) for name in ("near_copies", "image_side"))
    if side < LEAST_SIDE:
        said = f"not looked for in images of {side:.0f} pixels: below {LEAST_SIDE} many look alike"
        return "green", said
    if math.isnan(found):
        return "amber", f"whether forgotten images look like retained ones: {OLD}"
    said = f"{found:.0f} forgotten images look like a retained one (hashes within {MOST_BITS} bits)"
    return ("amber" if found else "green"), said


def tuning(cell: CellTable) -> Answer:
    """Did tuning choose from within its grid, where both neighbours were tried?"""
    found = {run: cell.values(run, "trial_chosen") for run in cell.plan.trials}
    chosen = {run: int(np.nanmin(v)) for run, v in found.items() if not np.isnan(v).all()}
    at_edge = [
        f"{cell.benchmark.labels.get(run, run)} {key} {value:g} of {low:g} to {high:g}"
        for run, trial in chosen.items()
        for key, value, low, high in edges(cell.plan.trials[run], trial)
    ]
    if at_edge:
        return "amber", f"tuning chose an end of its grid: {', '.join(at_edge)}"
    if lost := [run for run in cell.plan.trials if run not in chosen]:
        return "amber", f"what tuning chose is not among the numbers: {', '.join(lost)}"
    return "green", f"of {len(chosen)} tuned methods none has a value at an end of its grid"


def edges(
    trials: Sequence[Mapping[str, Any]], chosen: int
) -> Iterator[tuple[str, float, float, float]]:
    """Yield the values of a trial that are the least or the largest that were tried."""
    for key, value in trials[chosen].items():
        tried = {trial[key] for trial in trials if key in trial}
        if len(tried) > 1 and all(type(one) in (int, float) for one in tried):
            low, high = min(tried), max(tried)
            if value in (low, high):
                yield key, value, low, high


def seeds(cell: CellTable) -> Answer:
    """Are there enough seeds to tell a difference from chance?"""
    said = f"{len(cell.seeds)} seeds, {LEAST_SEEDS} are the fewest that tell anything from chance"
    return ("green" if len(cell.seeds) >= LEAST_SEEDS else "amber"), said


def ended(cell: CellTable) -> Answer:
    """Did all runs end well?"""
    labels = {REFERENCE: "Retrain", **cell.benchmark.labels}
    bad = [f"{labels[run]} {cell.trouble(run)}" for run in cell.kinds if cell.troubles[run]]
    if bad:
        return "amber", f"not all runs ended well: {', '.join(bad)}"
    return "green", f"all {len(cell.kinds)} runs ended well in {_all(cell)}"


def _all(cell: CellTable) -> str:
    return f"{len(cell.seeds)} seeds" if len(cell.seeds) > 1 else "1 seed"


def _seeds(cell: CellTable, is_meant: NDArray[np.bool_]) -> str:
    """Name some of the seeds; empty where there are none."""
    named = [str(seed) for seed, yes in zip(cell.seeds, is_meant, strict=True) if yes]
    return f"seed{'s' * (len(named) > 1)} {', '.join(named)}" if named else ""


# By name, as the page lists them.
GATES: dict[str, Callable[[CellTable], Answer | None]] = {
    "disjoint sets": disjoint,
    "trained on the split": trained_on,
    "Retrain learned": learned,
    "base differs": base_differs,
    "Retrain as the base": alike,
    "exact copies": exact_copies,
    "near copies": near_copies,
    "tuning": tuning,
    "seeds": seeds,
    "runs ended well": ended,
}
