"""All numbers of a cell: of every run and seed, and over all seeds."""

from collections.abc import Iterable, Sequence

import numpy as np

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
)
from collateral.metrics.rows import Numbers, Row, rows_of
from collateral.metrics.similarity import NUM_BINS

STATUSES = ("ok", "collapsed", "diverged")  # from good to bad


def cell_rows(cell: Cell, retrained: Iterable[Result], results: Iterable[Result]) -> list[Row]:
    """Return every row of the cell, sorted; no two results are needed at the same time."""
    edges = edges_of(cell)
    references: dict[int, Reference] = {}
    of_retrain = []
    for result in retrained:
        reference = references[result.seed] = reference_of(cell, result, edges)
        own = own_numbers(cell, result, reference)
        of_retrain.append(_numbers(result, own | _counts(reference)))
    of_runs = []
    for result in results:
        reference = references[result.seed]
        own = own_numbers(cell, result, reference)
        of_runs.append(_numbers(result, own | numbers_against(cell, result, reference)))
    scale = _edge_numbers(edges) | _bin_floors(list(references.values()))
    pooled = [_pooled(of_retrain, scale | noise_floors(_by_seed(of_retrain)))]
    for run in dict.fromkeys(numbers.run for numbers in of_runs):
        seeds = [numbers for numbers in of_runs if numbers.run == run]
        pooled.append(_pooled(seeds, average_gaps(_by_seed(seeds), _by_seed(of_retrain))))
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


def _edge_numbers(edges: ByName) -> dict[str, float]:
    low = by_bin("bin_low:", {name: points[:-1] for name, points in edges.items()})
    return low | by_bin("bin_high:", {name: points[1:] for name, points in edges.items()})


def _bin_floors(references: Sequence[Reference]) -> dict[str, float]:
    floors = {}
    for name in references[0].profile:
        profiles = [
            reference.profile[name] for reference in references if not reference.is_diverged
        ]
        floors[name] = bin_floor(np.reshape(profiles, (-1, NUM_BINS)))
    return by_bin("floor_", floors)
