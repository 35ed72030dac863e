"""KLOM of every run by subset, for all examples, near examples and far examples."""

from collections.abc import Iterator, Sequence

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.findings.near import FAR, NEAR, PARTS, Mask, near_in_the_mean
from collateral.metrics.klom import Floats, klom, margins, mean_klom


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield KLOM of Retrain, and KLOM of every other run minus that of Retrain."""
    parts = list(_split_sets(cell))
    sound_seeds = [result.seed for result in cell.retrained() if not result.is_diverged]
    retrained = _margins_by_set(cell, cell.retrained(), sound_seeds)
    baselines = {name: klom(of_set, of_set) for name, of_set in retrained.items()}
    for name, at, members in parts:
        yield Row(
            cell.reference, "klom_retrain", mean_klom(baselines[name], members), set=name, at=at
        )
    for run in cell.runs:
        results = [result for result in cell.results() if result.run == run]
        own = _margins_by_set(cell, results, sound_seeds)
        by_set = {name: klom(own[name], retrained[name]) - baselines[name] for name in own}
        for name, at, members in parts:
            yield Row(run, "klom", mean_klom(by_set[name], members), set=name, at=at)


def _split_sets(cell: CellResults) -> Iterator[tuple[str, str | None, Mask]]:
    """Yield the mask of each part of each subset; near and far by mean similarity over seeds."""
    for name, parts in PARTS.items():
        yield name, None, np.ones(cell.similarity[name].shape[-1], dtype=bool)
        if NEAR in parts:
            is_near = near_in_the_mean(cell, name)
            yield name, NEAR, is_near
            yield name, FAR, ~is_near


def _margins_by_set(
    cell: CellResults, results: Sequence[Result], sound_seeds: Sequence[int]
) -> dict[str, Floats]:
    """Return a run's margins (seeds, examples) by subset, for seeds whose Retrain did not diverge.

    A run other than Retrain that diverged in any seed has no margins at all.
    """
    is_lost = any(result.is_diverged and result.run != cell.reference for result in results)
    used = [] if is_lost else [result for result in results if result.seed in sound_seeds]
    train, test = cell.labels.train, cell.labels.test
    found = [cell.sets(margins(r.train.logits, train), margins(r.test.logits, test)) for r in used]
    return {
        name: np.reshape([one[name] for one in found], (len(used), cell.similarity[name].shape[1]))
        for name in PARTS
    }
