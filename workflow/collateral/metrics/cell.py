"""All numbers of a cell: of every run and seed, and over all seeds."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from collateral.core.diagnosis import Diagnosis
from collateral.metrics.classes import slope, slope_numbers
from collateral.metrics.gaps import TERMS, BySeed, average_gaps, noise_floors
from collateral.metrics.locality import bin_count, bin_floor
from collateral.metrics.result import (
    ByName,
    Cell,
    Reference,
    Result,
    by_bin,
    edges_of,
    numbers_against,
    own_numbers,
    reference_of,
    support_size_numbers,
)
from collateral.metrics.rows import Numbers, Row, rows_of
from collateral.metrics.similarity import NUM_BINS
from collateral.metrics.support import support_floors

STATUSES = ("ok", "collapsed", "diverged")  # from good to bad


def cell_rows(cell: Cell, retrained: Iterable[Result], results: Iterable[Result]) -> list[Row]:
    """Return every row of the cell, sorted; no two results are needed at the same time."""
    edges = edges_of(cell)
    references: dict[int, Reference] = {}
    of_retrain = []
    for result in retrained:
        reference = references[result.seed] = reference_of(cell, result, edges)
        own = own_numbers(cell, result, reference)
        of_retrain.append(_numbers(result, own | _counts(reference) | _similarities(reference)))
    of_runs = []
    diagnoses: dict[str, dict[int, Diagnosis]] = {}
    for result in results:
        reference = references[result.seed]
        own = own_numbers(cell, result, reference) | numbers_against(cell, result, reference)
        own |= support_size_numbers(cell, result, reference)
        of_runs.append(_numbers(result, own))
        if result.diagnosis is not None:
            diagnoses.setdefault(result.run, {})[result.seed] = result.diagnosis
    everyone = list(references.values())
    scale = _edge_numbers(edges) | _bin_floors(everyone) | _class_floors(everyone) | _sizes(cell)
    pooled = [_pooled(of_retrain, scale | noise_floors(_by_seed(of_retrain)))]
    for run in dict.fromkeys(numbers.run for numbers in of_runs):
        seeds = [numbers for numbers in of_runs if numbers.run == run]
        gaps = average_gaps(_by_seed(seeds), _by_seed(of_retrain))
        others = _class_slopes(seeds, references) | _support_floors(
            diagnoses.get(run, {}), references
        )
        pooled.append(_pooled(seeds, gaps | others))
    return rows_of(cell.name, cell.split, [*of_retrain, *of_runs, *pooled])


def _numbers(result: Result, measured: dict[str, float]) -> Numbers:
    """Join what is measured here and what the run itself reported."""
    if clash := sorted(measured.keys() & result.extra.keys()):
        raise ValueError(f"{result.run}: its record's extra {clash} are metrics already; rename")
    values = measured | dict(result.extra)
    return Numbers(result.run, result.kind, result.seed, values, result.status)


def _pooled(runs: Sequence[Numbers], values: dict[str, float]) -> Numbers:
    """Give numbers over all seeds the worst status of them."""
    status = max((numbers.status for numbers in runs), key=STATUSES.index)
    return Numbers(runs[0].run, runs[0].kind, None, values, status)


def _by_seed(runs: Sequence[Numbers]) -> BySeed:
    names = {name for terms in TERMS.values() for name in terms}
    return {name: np.array([numbers.values[name] for numbers in runs]) for name in names}


def _counts(reference: Reference) -> dict[str, float]:
    return by_bin("bin_count:", {name: bin_count(bins) for name, bins in reference.bins.items()})


def _similarities(reference: Reference) -> dict[str, float]:
    return {f"class_similarity:{name}": value for name, value in reference.class_similarity.items()}


def _sizes(cell: Cell) -> dict[str, float]:
    """Return how many examples each affected class had, and how many of them are forgotten."""
    names, label = cell.labels.class_names, cell.labels.train
    of_all, of_forget = (
        np.bincount(x, minlength=len(names)) for x in (label, label[cell.split.forget])
    )
    sizes = {f"train_count:{names[c]}": float(of_all[c]) for c in cell.split.affected}
    return sizes | {f"forget_count:{names[c]}": float(of_forget[c]) for c in cell.split.affected}


def _edge_numbers(edges: ByName) -> dict[str, float]:
    low = by_bin("bin_low:", {name: points[:-1] for name, points in edges.items()})
    return low | by_bin("bin_high:", {name: points[1:] for name, points in edges.items()})


def _bin_floors(references: Sequence[Reference]) -> dict[str, float]:
    """Return the floors of the bins; `references` are in the order of the seeds."""
    sound = [row for row, reference in enumerate(references) if not reference.is_diverged]
    floors = {}
    for name in references[0].profile:
        profiles = [[references[j].profile_on[i][name] for j in sound] for i in sound]
        floors[name] = bin_floor(np.reshape(profiles, (len(sound), len(sound), NUM_BINS)))
    return by_bin("floor_", floors)


def _class_floors(references: Sequence[Reference]) -> dict[str, float]:
    floors = {}
    for name in references[0].class_accuracy:
        rates = [r.class_accuracy[name] for r in references if not r.is_diverged]
        # A class has the same examples for every seed.
        profiles = np.broadcast_to(np.reshape(rates, (1, -1, 1)), (len(rates), len(rates), 1))
        floors[f"floor_class:{name}"] = float(bin_floor(profiles)[0])
    return floors


def _support_floors(
    diagnoses: Mapping[int, Diagnosis], references: Mapping[int, Reference]
) -> dict[str, float]:
    """Return how far the seeds' teachers and Retrains are apart; nothing without teachers."""
    if not diagnoses:
        return {}
    return support_floors(list(diagnoses.values()), [r.forget for r in references.values()])


def _class_slopes(runs: Sequence[Numbers], references: Mapping[int, Reference]) -> dict[str, float]:
    """Return the mean slope of drop on similarity and its interval; nothing without classes."""
    slopes = []
    for numbers in runs:
        assert numbers.seed is not None, "numbers over all seeds have no Retrain"
        similarity = references[numbers.seed].class_similarity
        drops = [numbers.values[f"class_drop:{name}"] for name in similarity]
        slopes.append(slope(list(similarity.values()), drops))
    if not similarity:
        return {}
    return slope_numbers(np.array(slopes))
