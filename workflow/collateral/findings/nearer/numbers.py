"""Relative MMD of every run by seed, and its interval over seeds; sweeps are left out."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.special import softmax

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.divergence import choose_examples, relative_mmd, squared_bandwidth
from collateral.metrics.statistics import interval_half_width, mean
from collateral.results.layout import ORIGINAL


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the relative MMD of every run, and its interval over seeds.

    Nothing is yielded if the control `original` (the base model) is not in the benchmark.
    """
    if ORIGINAL not in cell.runs:
        return
    yield Row(cell.reference, "nearer_examples", float(len(_compared_examples(cell))))
    by_run: dict[str, list[float]] = {}
    for row in _numbers_by_seed(cell):
        yield row
        if row.metric == "nearer":
            by_run.setdefault(row.run, []).append(row.value)
    for run, values in by_run.items():
        average, half_width = mean(np.array(values)), interval_half_width(np.array(values))
        yield Row(run, "nearer_low", average - half_width)
        yield Row(run, "nearer_high", average + half_width)


def _numbers_by_seed(cell: CellResults) -> Iterator[Row]:
    """Yield the kernel's bandwidth in each seed, and every run's relative MMD by seed.

    In the rows of Retrain, the relative MMD is that of Retrain of the next seed.
    """
    first, *others = cell.retrained()
    for retrained, following in pairwise([first, *others, first]):
        seed = retrained.seed
        reference, base = (
            _read_probabilities(cell, one) for one in (retrained, cell.result(ORIGINAL, seed))
        )
        scale = squared_bandwidth(reference, base)
        yield Row(cell.reference, "nearer_bandwidth", math.sqrt(scale), seed)
        runs = [one for one in cell.results() if one.seed == seed and not one.is_sweep]
        for one in (following, *runs):
            own = _read_probabilities(cell, one)
            value = math.nan if one is retrained else relative_mmd(own, reference, base, scale)
            yield Row(one.run, "nearer", value, seed)


def _read_probabilities(cell: CellResults, result: Result) -> Floats:
    """Return class probabilities, one row per compared example; all NaN if the run diverged."""
    rows = _compared_examples(cell)
    if result.is_diverged:
        return np.full((len(rows), len(cell.labels.class_names)), np.nan)
    probabilities: Floats = softmax(result.train.logits[rows].astype(np.float64), axis=1)
    return probabilities


def _compared_examples(cell: CellResults) -> Ints:
    forget: Ints = cell.split.forget
    return forget[choose_examples(len(forget))]
