"""Which of a cell's facts are good enough: green; a reason to look: amber; a fault: red."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract import power
from collateral.contract.metrics import format_percent
from collateral.findings._shared.inference.differences import LEAST_SEEDS
from collateral.findings._shared.inference.equivalence import is_beyond
from collateral.findings._shared.likeness import LEAST_SIDE, MOST_BITS
from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import Problem, run_safely
from collateral.results.gates import Colour, Gate
from collateral.results.layout import RETRAIN
from collateral.results.table import NAMES, BenchmarkTable, CellTable

LEAST_RA = 0.9
SMALL_BATCH = 32  # examples: with fewer, batch norm's statistics of maps of one pixel are noise
MOST_TA_GAP = 0.03
PART = "colours"  # of the finding, where one cannot be told
OLD = "the results are from before this was kept, so it cannot be said"
UNDECIDED = (
    "whether Retrain was trained as well as the given base cannot be decided: no class has all of "
    "its train examples left, or a model diverged"
)
UNSAID = f"it is weights of your own, or {OLD}"

Answer = tuple[Colour, str]
Ask = Callable[[CellTable], Answer | None]


def gates_of(table: BenchmarkTable) -> tuple[list[Gate], list[Problem]]:
    """Ask every question of every cell; one that raises is amber, and a problem."""
    is_left_out = NEED_RETRAIN if table.plan.reference != RETRAIN else ()
    gates = {name: ask for name, ask in GATES.items() if name not in is_left_out}
    asked = (_asked(name, ask, cell) for cell in table.cells for name, ask in gates.items())
    found = [one for one in asked if one]
    return [gate for gate, _ in found], [problem for _, problem in found if problem]


def red_gates(cell: CellTable) -> list[Gate]:
    """Return the red gates of a cell: with one of them no verdict is given."""
    gates, _ = gates_of(BenchmarkTable(cell.benchmark, (cell,)))
    return [gate for gate in gates if gate.colour == "red"]


def _asked(name: str, ask: Ask, cell: CellTable) -> tuple[Gate, Problem | None] | None:
    """Ask one question; None where it is not one for this cell."""
    answer, problem = run_safely(partial(ask, cell), "gates", PART, cell.name)
    if problem:
        said = " ".join(f"could not be asked: {problem.error}".split())
        return Gate(name, cell.name, "amber", said), problem
    return (Gate(name, cell.name, *answer), None) if answer else None


def disjoint(cell: CellTable) -> Answer:
    """Is everybody either forgotten or retained?"""
    faults = cell.number(cell.reference, "split_faults")
    if math.isnan(faults):
        return "amber", f"whether forget and retain set share examples: {OLD}"
    num_forgotten = sum(count for count, _ in cell.forgotten.values())
    if faults:
        return "red", f"{faults:.0f} train examples are not in exactly one of forget and retain set"
    return "green", f"none of the {num_forgotten} forgotten examples is retained as well"


def trained_on(cell: CellTable) -> Answer:
    """Was Retrain trained on, or validated by, exactly the retained examples?"""
    found = cell.values(cell.reference, "trained_on_split")
    if wrong := _seeds(cell, found == 0):
        return "red", f"by its records, Retrain saw others than the retained: {wrong}"
    if unknown := _seeds(cell, np.isnan(found)):
        return "amber", f"what Retrain was trained on ({unknown}): {UNSAID}"
    said = "by its records, Retrain was trained on, or validated by, exactly the retained"
    return "green", f"{said}: {_all(cell)}"


def learned(cell: CellTable) -> Answer:
    """Does Retrain know what it was trained on?"""
    ra, metric = cell.values(cell.reference, "ra"), find_metric("ra")
    least, bar = float(ra.min()), f"the bar is {format_percent(LEAST_RA)}"  # NaN where one is
    if math.isnan(least):
        return "red", f"Retrain's RA is undefined: {_seeds(cell, np.isnan(ra))}"
    said = f"Retrain's lowest RA of {_all(cell)} is {metric.text(least)} %, {bar}"
    return ("green", said) if least >= LEAST_RA else ("red", f"{said}; {_cure(cell)}")


def _cure(cell: CellTable) -> str:
    """Say how Retrain may learn more."""
    cure = "train longer (`base.epochs`) or with another rate (`base.lr`)"
    smallest = mean_of_defined(cell.values(cell.reference, "smallest_batch"))
    if smallest < SMALL_BATCH:  # never where it is not known
        cure += (
            f"; its smallest batch has {smallest:.0f} examples, which are few for batch norm: "
            "another `base.batch_size` may leave more for the last batch"
        )
    return cure


def base_differs(cell: CellTable) -> Answer:
    """Is Retrain another model than the base?"""
    found, metric = cell.values(cell.reference, "base_distance"), find_metric("base_distance")
    if same := _seeds(cell, found == 0):
        return "red", f"the base's confidences are Retrain's: {same}"
    if np.isnan(found).any():
        reason = f"unknown for {_seeds(cell, np.isnan(found))}"
        return "amber", f"how far the base is from Retrain is {reason}: a control `original` says"
    return "green", f"confidences of base and Retrain differ by {metric.text(found.min())} points"


def forgettable(cell: CellTable) -> Answer:
    """Does the base know more of what is forgotten than Retrain does?"""
    base_ua, ua = (cell.values(cell.reference, name) for name in ("base_ua", "ua"))
    above, metric = mean_of_defined(base_ua - ua), find_metric("margin")
    if math.isnan(above):
        said = "whether anything is to be forgotten is unknown"
        return "amber", f"{said}: add the control `original`, or track a method"
    margin = cell.number(cell.reference, "margin", at="ua")
    said = f"the base's UA is {metric.text(above, sign=True)} points from Retrain's"
    if math.isnan(margin):
        why = ", which takes two seeds" if len(cell.seeds) < LEAST_SEEDS else ""
        return "amber", f"{said}; the margin is not known{why}"
    if is_beyond(above, margin):
        return "green", f"{said}, the margin is {metric.text(margin)}"
    said = f"nothing to forget: {said}, no more than the margin of {metric.text(margin)}"
    return "amber", f"{said}; UA does not tell who forgot from who did nothing"


def alike(cell: CellTable) -> Answer | None:
    """Is Retrain trained as well as a base that was trained elsewhere?"""
    found, metric = cell.values(cell.reference, "base_ta_gap"), find_metric("base_ta_gap")
    if "base_ta_gap" not in cell.metrics(cell.reference):
        return None  # trained here, by one recipe
    if np.isnan(found).all():
        return "amber", UNDECIDED
    gap = float(np.nanmean(found))
    said = (
        f"on test examples of unaffected classes, Retrain's accuracy is {metric.text(gap)} points "
        f"from the given base's; above {format_percent(MOST_TA_GAP)} their recipes differ"
    )
    return ("green" if abs(gap) <= MOST_TA_GAP else "amber"), said


def unseen(cell: CellTable) -> Answer | None:
    """Was a base that was trained elsewhere kept from seeing the test set?"""
    if cell.benchmark.test_drawn is None:
        return None  # trained here, without it
    if cell.benchmark.test_drawn:
        said = "the test set is a share of the images, on which your base may have been trained"
        return "amber", f"{said}: TA and MIA cannot be trusted; name unseen images (`test_path`)"
    return "green", "the test set is one that you named, not a share of the images drawn here"


def shadows_learned(cell: CellTable) -> Answer | None:
    """Do shadow models, trained on less than the base, know what they were trained on?"""
    least, metric = cell.number(cell.reference, "shadow_sure"), find_metric("shadow_sure")
    if math.isnan(least):
        return None  # there are none
    said = (
        f"of what it saw, each shadow model gives at least {metric.text(least)} % more than half "
        f"of the probability to the true class, the bar is {format_percent(LEAST_RA)}"
    )
    return ("green" if least >= LEAST_RA else "amber"), said


def exact_copies(cell: CellTable) -> Answer:
    """Is no forgotten image retained under another id?"""
    found = cell.number(cell.reference, "exact_copies")
    if math.isnan(found):
        return "amber", f"whether forgotten images have copies among the retained: {OLD}"
    said = f"{found:.0f} forgotten images have an exact copy among the retained"
    return ("red" if found else "green"), said


def near_copies(cell: CellTable) -> Answer:
    """Does no forgotten image look like a retained one?"""
    found, side = (cell.number(cell.reference, name) for name in ("near_copies", "image_side"))
    if side < LEAST_SIDE:
        said = f"not looked for in images of {side:.0f} pixels: below {LEAST_SIDE} many look alike"
        return "green", said
    if math.isnan(found):
        return "amber", f"whether forgotten images look like retained ones: {OLD}"
    said = f"{found:.0f} forgotten images look like a retained one (hashes within {MOST_BITS} bits)"
    return ("amber" if found else "green"), said


def tuning(cell: CellTable) -> Answer:
    """Did tuning choose what its rule admits, from within its grid?"""
    plan, labels = cell.plan, cell.benchmark.labels
    found = {run: cell.values(run, "trial_chosen") for run in plan.trials}
    chosen = {run: int(np.nanmin(v)) for run, v in found.items() if not np.isnan(v).all()}
    faults = {fault: named for fault, named in _tuning_faults(cell, chosen).items() if named}
    if faults:
        return "amber", "; ".join(f"{fault}: {', '.join(of)}" for fault, of in faults.items())
    said = f"of {len(chosen)} tuned methods none has a value at an end of its grid"
    pairs = [f"{labels.get(run, run)} {key}" for run in chosen for key in in_pairs(plan.grid(run))]
    return "green", said + (f"; two values have no inside: {', '.join(pairs)}" if pairs else "")


def _tuning_faults(cell: CellTable, chosen: Mapping[str, int]) -> dict[str, list[str]]:
    """Name by fault the tuned methods that have it; `chosen`: the trial of each."""
    plan, labels, rule = cell.plan, cell.benchmark.labels, cell.benchmark.select
    admitted = {run: cell.values(run, "rule_admissible", at=rule) for run in chosen}
    return {
        "no trial was admissible, so that tuning chose the least bad": [
            labels.get(run, run) for run, counts in admitted.items() if (counts == 0).any()
        ],
        "tuning chose an end of its grid": [
            f"{labels.get(run, run)} {key} {value:g} of {low:g} to {high:g}"
            for run, trial in chosen.items()
            for key, value, low, high in edges(plan.grid(run), trial)
        ],
        "what tuning chose is not among the numbers": [r for r in plan.trials if r not in chosen],
    }


def edges(
    trials: Sequence[Mapping[str, Any]], chosen: int
) -> Iterator[tuple[str, float, float, float]]:
    """Yield the values of a trial that are the least or the largest of three or more."""
    for key, tried in _numbers_tried(trials).items():
        low, high, value = min(tried), max(tried), trials[chosen][key]
        if len(tried) > 2 and value in (low, high):
            yield key, value, low, high


def in_pairs(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what was tried at two values alone: whichever is chosen is an end."""
    return [key for key, tried in _numbers_tried(trials).items() if len(tried) == 2]


def _numbers_tried(trials: Sequence[Mapping[str, Any]]) -> dict[str, set[float]]:
    tried = {key: {trial[key] for trial in trials} for key in trials[0]}
    return {
        key: values
        for key, values in tried.items()
        if all(type(value) in (int, float) for value in values)
    }


def seeds(cell: CellTable) -> Answer:
    """Are there enough seeds to tell a difference from chance?"""
    said = power.in_words(len(cell.seeds), len(cell.runs("method")))
    return ("green" if len(cell.seeds) >= power.FAIR else "amber"), said


def ended(cell: CellTable) -> Answer:
    """Did all runs end well?"""
    labels = {cell.reference: NAMES[cell.reference], **cell.benchmark.labels}
    bad = [f"{labels[run]} {cell.failure_summary(run)}" for run in cell.kinds if cell.troubles[run]]
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
GATES: dict[str, Ask] = {
    "disjoint sets": disjoint,
    "trained on the split": trained_on,
    "Retrain learned": learned,
    "base differs": base_differs,
    "something to forget": forgettable,
    "Retrain as the base": alike,
    "test set unseen": unseen,
    "shadow models learned": shadows_learned,
    "exact copies": exact_copies,
    "near copies": near_copies,
    "tuning": tuning,
    "seeds": seeds,
    "runs ended well": ended,
}
NEED_RETRAIN = (
    *("trained on the split", "Retrain learned", "base differs", "something to forget"),
    "Retrain as the base",
    *("tuning", "seeds"),  # what tuning chose, and what seeds can tell, is held against Retrain
)
