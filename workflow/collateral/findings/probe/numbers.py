"""Curves of relearning, what is left under noise, and ZRF: of every run but sweeps', by seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, softmax

from collateral.contract.rows import Row
from collateral.results.layout import RETRAIN
from collateral.results.outputs import MANY_CLASSES, compress_logits, expand_logits

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

    Probes = Sequence[Any]  # by seed (results/experiments.py)
    Results = Sequence[Result]  # of a run, by seed

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield what the config asks for; nothing where it does not."""
    by_run: dict[str, list[Result]] = {}
    for result in cell.all_results():
        if "@" not in result.run:
            by_run.setdefault(result.run, []).append(result)
    probes = [cell.probe(seed) for seed in cell.seeds] if cell.probed else []
    for name in cell.probed:
        for results in by_run.values():
            yield from ASK[name](cell, probes, results, by_run[RETRAIN])


def relearning(
    cell: CellResults, probes: Probes, results: Results, retrained: Results
) -> Iterator[Row]:
    """Yield the curve of a run, and how far it is from Retrain's."""
    run, own = results[0].run, shown("relearn_accuracy", probes, results)
    for seed, curve in zip(cell.seeds, own, strict=True):
        for step, value in enumerate(curve):
            yield Row(run, "relearn_accuracy", float(value), seed, at=step)
    # Before the first step nothing is relearned: that is UA's.
    reference = shown("relearn_accuracy", probes, retrained)
    if run == RETRAIN:
        own = next_seeds(own)
    yield from gaps(run, "relearn_gap", cell.seeds, own[:, 1:] - reference[:, 1:])
    for seed, difference in zip(cell.seeds, own - reference, strict=True):
        yield Row(run, "relearn_even", even_by(difference), seed)


def residual(
    cell: CellResults, probes: Probes, results: Results, retrained: Results
) -> Iterator[Row]:
    """Yield what is left in a run under noise, and how much more than in Retrain."""
    run, own = results[0].run, shown("residual_share", probes, results)
    for seed, share in zip(cell.seeds, own.mean(axis=1), strict=True):
        yield Row(run, "residual_accuracy", float(share), seed)
    reference = shown("residual_share", probes, retrained)
    if run == RETRAIN:
        own = next_seeds(own)
    yield from gaps(run, "residual_gap", cell.seeds, own - reference)


def zrf(cell: CellResults, probes: Probes, results: Results, _: Results) -> Iterator[Row]:
    """Yield how random a run is."""
    for probe, result in zip(probes, results, strict=True):
        value = math.nan
        if not result.is_diverged:
            own, untrained = result.train.logits[cell.split.forget], probe.zrf_logits
            value = randomness(own, as_kept(untrained, cell.labels.train[cell.split.forget]))
        yield Row(result.run, "zrf", value, result.seed)


ASK = {"relearn": relearning, "residual": residual, "zrf": zrf}


def shown(name: str, probes: Probes, results: Results) -> Floats:
    """Return what a run shows, a row a seed; NaN where it diverged."""
    rows = [
        getattr(probe, name)[probe.row(result.run)].astype(np.float64)
        for probe, result in zip(probes, results, strict=True)
    ]
    is_lost = np.array([result.is_diverged for result in results])
    return np.where(is_lost[:, None], np.nan, np.stack(rows))


def next_seeds(own: Floats) -> Floats:
    """Return of each seed the row of the next one; a single seed has none."""
    return np.roll(own, -1, axis=0) if len(own) > 1 else np.full_like(own, np.nan)


def gaps(run: str, metric: str, seeds: Sequence[int], differences: Floats) -> Iterator[Row]:
    """Yield the mean difference from Retrain by seed."""
    for seed, gap in zip(seeds, differences.mean(axis=1), strict=True):
        yield Row(run, metric, float(gap), seed)


def even_by(difference: Floats) -> float:
    """Return the first step at which a curve is not below Retrain's; if at none, one too many."""
    if np.isnan(difference).any():
        return math.nan
    steps = np.flatnonzero(difference >= 0)
    return float(steps[0]) if len(steps) else float(len(difference))


def as_kept(logits: NDArray[np.floating], label: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return logits as a run's are: where classes are many, the small ones are shared out."""
    is_many = logits.shape[1] > MANY_CLASSES
    return expand_logits(compress_logits(logits.astype(np.float16), label)) if is_many else logits


def randomness(logits: NDArray[np.floating], untrained: NDArray[np.floating]) -> float:
    """Return 1 minus the mean Jensen-Shannon divergence, in nats, of each pair of rows."""
    p, q = (softmax(rows.astype(np.float64), axis=1) for rows in (logits, untrained))
    m = (p + q) / 2
    divergence = (rel_entr(p, m) + rel_entr(q, m)).sum(axis=1) / 2
    return float(1 - divergence.mean())
