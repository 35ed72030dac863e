"""The numbers of all probes of every run by seed, without sweeps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.probes import PARTS
from collateral.contract.rows import Row
from collateral.findings.near import FAR, NEAR
from collateral.metrics import divergence
from collateral.metrics.features import cka_by_part
from collateral.metrics.statistics import Floats, shift_seeds
from collateral.results.outputs import MANY_CLASSES, compress_logits, expand_logits

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

    Probes = Sequence[Any]  # list with one results.experiments.Probe per seed
    Results = Sequence[Result]  # results of one run, one per seed


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers of the probes in the config; no rows without probes."""
    by_run: dict[str, list[Result]] = {}
    for result in cell.all_results():
        if not result.is_sweep:
            by_run.setdefault(result.run, []).append(result)
    probes = [cell.probe(seed) for seed in cell.seeds] if cell.probed else []
    for name in cell.probed:
        for results in by_run.values():
            yield from PROBES[name](cell, probes, results, by_run[cell.reference])


def relearning(
    cell: CellResults, probes: Probes, results: Results, retrained: Results
) -> Iterator[Row]:
    """Yield a run's accuracy after each relearning step, and its difference from Retrain's."""
    run, own = results[0].run, _read("relearn_accuracy", probes, results)
    for seed, curve in zip(cell.seeds, own, strict=True):
        for step, value in enumerate(curve):
            yield Row(run, "relearn_accuracy", float(value), seed, at=step)
    reference = _read("relearn_accuracy", probes, retrained)
    if run == cell.reference:
        own = shift_seeds(own)
    # Step 0 is left out: before fine-tuning, the accuracy is UA on one half of the forget set.
    yield from _gap_rows(run, "relearn_gap", cell.seeds, own[:, 1:] - reference[:, 1:])
    for seed, difference in zip(cell.seeds, own - reference, strict=True):
        yield Row(run, "relearn_even", first_even_step(difference), seed)


def residual(
    cell: CellResults, probes: Probes, results: Results, retrained: Results
) -> Iterator[Row]:
    """Yield a run's residual accuracy under noise, and its difference from Retrain's."""
    run, own = results[0].run, _read("residual_share", probes, results)
    for seed, share in zip(cell.seeds, own.mean(axis=1), strict=True):
        yield Row(run, "residual_accuracy", float(share), seed)
    reference = _read("residual_share", probes, retrained)
    if run == cell.reference:
        own = shift_seeds(own)
    yield from _gap_rows(run, "residual_gap", cell.seeds, own - reference)


def zrf(cell: CellResults, probes: Probes, results: Results, _: Results) -> Iterator[Row]:
    """Yield a run's ZRF: how close its predictions are to an untrained net's."""
    forget = cell.split.forget
    for probe, result in zip(probes, results, strict=True):
        value = math.nan
        if not result.is_diverged:
            untrained = compress_like_outputs(probe.zrf_logits, cell.labels.train[forget])
            value = divergence.zrf(result.train.logits[forget], untrained)
        yield Row(result.run, "zrf", value, result.seed)


def linear(
    cell: CellResults, probes: Probes, results: Results, retrained: Results
) -> Iterator[Row]:
    """Yield the accuracy of a new head on a run's features, and its difference from Retrain's."""
    run, own = results[0].run, _read("linear_accuracy", probes, results)
    for seed, (forget, test) in zip(cell.seeds, own, strict=True):
        yield Row(run, "linear_accuracy", float(forget), seed)
        yield Row(run, "linear_test_accuracy", float(test), seed)
    reference = _read("linear_accuracy", probes, retrained)
    if run == cell.reference:
        own = shift_seeds(own)
    yield from _gap_rows(run, "linear_gap", cell.seeds, own[:, :1] - reference[:, :1])


def cka(cell: CellResults, probes: Probes, results: Results, retrained: Results) -> Iterator[Row]:
    """Yield CKA of a run's features with Retrain's and with the base model's, for each part.

    Retrain's own features are compared with those of Retrain of the next seed.
    """
    run = results[0].run
    by_metric = {name: _read(name, probes, results) for name in ("cka_retrain", "cka_base")}
    if run == cell.reference:
        by_metric["cka_retrain"] = _compare_retrains(probes, results)
    is_lost = [result.is_diverged for result in retrained]
    by_metric["cka_retrain"][is_lost] = np.nan
    for metric, values in by_metric.items():
        for seed, by_part in zip(cell.seeds, values, strict=True):
            for name, value in zip(PARTS, by_part, strict=True):
                yield Row(run, metric, float(value), seed, *CKA_PLACES[name])


def _compare_retrains(probes: Probes, results: Results) -> Floats:
    """Return CKA of Retrain's features with those of Retrain of the next seed, (seeds, parts)."""
    found = np.full((len(probes), len(PARTS)), np.nan)
    for place, probe in enumerate(probes):
        following = (place + 1) % len(probes)
        if following != place and not results[following].is_diverged:
            other = probes[following].cka_features
            found[place] = cka_by_part(probe.cka_features, other, probe.cka_part, len(PARTS))
    return found


def resurfacing(
    cell: CellResults, probes: Probes, results: Results, retrained: Results
) -> Iterator[Row]:
    """Yield a run's accuracies after each step of fine-tuning on retained examples.

    The gap is the rise of the accuracy on the forget set, minus Retrain's rise.
    """
    run = results[0].run
    for metric in RESURFACE_CURVES:
        for seed, probe, curve in zip(
            cell.seeds, probes, _read(metric, probes, results), strict=True
        ):
            for step, value in zip(probe.resurface_steps, curve, strict=True):
                yield Row(run, metric, float(value), seed, at=int(step))
    own, reference = (
        of[:, -1:] - of[:, :1]
        for of in (_read("resurface_accuracy", probes, one) for one in (results, retrained))
    )
    if run == cell.reference:
        own = shift_seeds(own)
    yield from _gap_rows(run, "resurface_gap", cell.seeds, own - reference)


# Columns `set` and `at` of the rows of CKA, by part of the data.
CKA_PLACES: dict[str, tuple[str, str | None]] = {
    "forget": ("forget", None),
    "near": ("retain", NEAR),
    "far": ("retain", FAR),
    "test": ("test", None),
}
RESURFACE_CURVES = ("resurface_accuracy", "resurface_near_accuracy", "resurface_test_accuracy")
# Function that yields the rows of a probe, by the name of the probe in the config.
PROBES = {
    "relearn": relearning,
    "residual": residual,
    "zrf": zrf,
    "linear": linear,
    "cka": cka,
    "resurface": resurfacing,
}


def _read(name: str, probes: Probes, results: Results) -> Floats:
    """Return one run's values in a probe, one row per seed; NaN in a seed that diverged."""
    rows = [
        getattr(probe, name)[probe.row(result.run)].astype(np.float64)
        for probe, result in zip(probes, results, strict=True)
    ]
    is_diverged = np.array([result.is_diverged for result in results])
    return np.where(is_diverged[:, None], np.nan, np.stack(rows))


def _gap_rows(run: str, metric: str, seeds: Sequence[int], differences: Floats) -> Iterator[Row]:
    """Yield the mean difference from Retrain, one row per seed."""
    for seed, gap in zip(seeds, differences.mean(axis=1), strict=True):
        yield Row(run, metric, float(gap), seed)


def first_even_step(difference: Floats) -> float:
    """Return the first step whose difference is not negative; if none is, the number of steps."""
    if np.isnan(difference).any():
        return math.nan
    steps = np.flatnonzero(difference >= 0)
    return float(steps[0]) if len(steps) else float(len(difference))


def compress_like_outputs(
    logits: NDArray[np.floating], label: NDArray[np.int64]
) -> NDArray[np.floating]:
    """Return logits as outputs.npz stores them: of many classes, only the largest are exact."""
    is_many = logits.shape[1] > MANY_CLASSES
    return expand_logits(compress_logits(logits.astype(np.float16), label)) if is_many else logits
