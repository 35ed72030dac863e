"""KLOM of every run on each subset: on all examples, near the forget set, and far from it."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.inputs import Cached, CellResults, Result
from collateral.findings.near import NEAR, PARTS, split_by_distance
from collateral.metrics.arrays import Floats, Mask
from collateral.metrics.margins import klom, margins, mean_klom

BySet = dict[str, Floats]


def cached_numbers(cell: CellResults, cached: Cached) -> Iterator[Row]:
    """Yield the KLOM of Retrain, and the KLOM of every other run minus the KLOM of Retrain."""
    retrained = cell.retrained()
    read_retrained = cache(partial(_measure_retrain, cell))
    for run in (cell.reference, *cell.runs):
        results = [result for result in cell.all_results() if result.run == run]
        make = partial(_measure, cell, run, results, read_retrained)
        yield from cached(f"{run}-all", dict.fromkeys([*retrained, *results]), make)


def _measure(
    cell: CellResults,
    run: str,
    results: Sequence[Result],
    read_retrained: Callable[[], tuple[BySet, BySet]],
) -> Iterator[Row]:
    """Yield a run's mean KLOM on each subset, and on its parts near and far from the forget set.

    For a run other than Retrain, the KLOM of Retrain is subtracted.
    """
    metric, (retrained, found) = "klom_retrain", read_retrained()
    if run != cell.reference:
        own = _margins_by_set(cell, results)
        metric = "klom"
        found = {name: klom(own[name], retrained[name]) - found[name] for name in own}
    for name, at, members in _split_sets(cell):
        yield Row(run, metric, mean_klom(found[name], members), set=name, at=at)


def _measure_retrain(cell: CellResults) -> tuple[BySet, BySet]:
    """Return Retrain's margins by subset, and each example's KLOM of Retrain against itself."""
    retrained = _margins_by_set(cell, cell.retrained())
    return retrained, {name: klom(of_set, of_set) for name, of_set in retrained.items()}


def _split_sets(cell: CellResults) -> Iterator[tuple[str, str | None, Mask]]:
    """Yield, for each subset, masks of all examples, of near examples and of far examples."""
    for name, parts in PARTS.items():
        yield name, None, np.ones(cell.similarity[name].shape[-1], dtype=bool)
        if NEAR in parts:
            for at, mask in split_by_distance(cell, name).items():
                yield name, at, mask


def _margins_by_set(cell: CellResults, results: Sequence[Result]) -> BySet:
    """Return a run's margins by subset, as arrays (seeds, examples).

    Seeds in which Retrain diverged are left out. If another run diverged in any seed, its arrays
    are empty.
    """
    sound_seeds = [result.seed for result in cell.retrained() if not result.is_diverged]
    is_lost = any(result.is_diverged and result.run != cell.reference for result in results)
    used = [] if is_lost else [result for result in results if result.seed in sound_seeds]
    train, test = cell.labels.train, cell.labels.test
    found = [cell.sets(margins(r.train.logits, train), margins(r.test.logits, test)) for r in used]
    return {
        name: np.reshape([one[name] for one in found], (len(used), cell.similarity[name].shape[1]))
        for name in PARTS
    }
