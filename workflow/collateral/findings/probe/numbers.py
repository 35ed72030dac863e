"""The numbers of all probes of every run by seed, without sweeps."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.probes import PARTS
from collateral.contract.rows import At, Row
from collateral.findings.inputs import CellResults, Result
from collateral.findings.near import FAR, NEAR
from collateral.metrics import divergence
from collateral.metrics.features import cka_by_part
from collateral.metrics.statistics import Floats, shift_seeds
from collateral.results.outputs import MANY_CLASSES, compress_logits, expand_logits


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers of the probes in the config; no rows without probes."""
    by_run: dict[str, list[Result]] = {}
    for result in cell.all_results():
        if not result.is_sweep:
            by_run.setdefault(result.run, []).append(result)
    probes = [cell.probe(seed) for seed in cell.seeds] if cell.probed else []
    for name in cell.probed:
        for results in by_run.values():
            yield from PROBES[name](ProbedRun(cell, probes, results, by_run[cell.reference]))


@dataclass(frozen=True)
class ProbedRun:
    """The values of one run in the probes, and those of Retrain."""

    cell: CellResults
    probes: Sequence[Any]  # `Probe` of each seed
    results: Sequence[Result]  # results of the run, one per seed
    retrained: Sequence[Result]  # results of Retrain, one per seed

    @property
    def run(self) -> str:
        """Name of the run."""
        return self.results[0].run

    def values(self, name: str, results: Sequence[Result] | None = None) -> Floats:
        """Return the run's values in a probe, one row per seed; NaN in a seed that diverged."""
        pairs = list(zip(self.probes, results or self.results, strict=True))
        rows = [getattr(probe, name)[probe.row(one.run)].astype(np.float64) for probe, one in pairs]
        return np.where([[one.is_diverged] for _, one in pairs], np.nan, np.stack(rows))

    def pair(self, name: str) -> tuple[Floats, Floats]:
        """Return a run's values in a probe, and Retrain's; Retrain is paired with its next seed."""
        own, reference = self.values(name), self.values(name, self.retrained)
        return shift_seeds(own) if self.run == self.cell.reference else own, reference

    def rows(
        self, metric: str, values: Floats, subset: str = "", at: Iterable[At] = (None,)
    ) -> Iterator[Row]:
        """Yield one row per seed and index (`at`) of a metric of the run."""
        by_seed = np.reshape(values, (len(self.cell.seeds), -1))
        for seed, row in zip(self.cell.seeds, by_seed, strict=True):
            for index, value in zip(at, row, strict=True):
                yield Row(self.run, metric, float(value), seed, subset, index)


def relearning(probed: ProbedRun) -> Iterator[Row]:
    """Yield a run's accuracy after each relearning step, and its difference from Retrain's."""
    curves = probed.values("relearn_accuracy")
    yield from probed.rows("relearn_accuracy", curves, at=range(curves.shape[1]))
    own, reference = probed.pair("relearn_accuracy")
    # Step 0 is left out: before fine-tuning, the accuracy is UA on one half of the forget set.
    yield from probed.rows("relearn_gap", (own[:, 1:] - reference[:, 1:]).mean(axis=1))
    even = [first_even_step(difference) for difference in own - reference]
    yield from probed.rows("relearn_even", np.array(even))


def residual(probed: ProbedRun) -> Iterator[Row]:
    """Yield a run's accuracy on noisy forget images, and its difference from Retrain's."""
    yield from probed.rows("residual_accuracy", probed.values("residual_share").mean(axis=1))
    own, reference = probed.pair("residual_share")
    yield from probed.rows("residual_gap", (own - reference).mean(axis=1))


def zrf(probed: ProbedRun) -> Iterator[Row]:
    """Yield a run's ZRF: how close its predictions are to an untrained net's."""
    forget, labels = probed.cell.split.forget, probed.cell.labels.train
    for probe, result in zip(probed.probes, probed.results, strict=True):
        value = math.nan
        if not result.is_diverged:
            untrained = compress_like_outputs(probe.zrf_logits, labels[forget])
            value = divergence.zrf(result.train.logits[forget], untrained)
        yield Row(result.run, "zrf", value, result.seed)


def linear(probed: ProbedRun) -> Iterator[Row]:
    """Yield the accuracy of a new head on a run's features, and its difference from Retrain's."""
    forget, test = probed.values("linear_accuracy").T
    yield from probed.rows("linear_accuracy", forget)
    yield from probed.rows("linear_test_accuracy", test)
    own, reference = probed.pair("linear_accuracy")
    yield from probed.rows("linear_gap", own[:, 0] - reference[:, 0])


def cka(probed: ProbedRun) -> Iterator[Row]:
    """Yield CKA of a run's features with Retrain's and the base model's, by group of examples.

    Retrain's own features are compared with those of Retrain of the next seed.
    """
    by_metric = {name: probed.values(name) for name in ("cka_retrain", "cka_base")}
    if probed.run == probed.cell.reference:
        by_metric["cka_retrain"] = _compare_retrains(probed)
    by_metric["cka_retrain"][[result.is_diverged for result in probed.retrained]] = np.nan
    for metric, values in by_metric.items():
        for name, of_part in zip(PARTS, values.T, strict=True):
            subset, at = CKA_PLACES[name]
            yield from probed.rows(metric, of_part, subset, [at])


def _compare_retrains(probed: ProbedRun) -> Floats:
    """Return CKA of Retrain with Retrain of the next seed, by seed and group of examples."""
    probes, results = probed.probes, probed.results
    found = np.full((len(probes), len(PARTS)), np.nan)
    for place, probe in enumerate(probes):
        following = (place + 1) % len(probes)
        if following != place and not results[following].is_diverged:
            other = probes[following].cka_features
            found[place] = cka_by_part(probe.cka_features, other, probe.cka_part, len(PARTS))
    return found


def resurfacing(probed: ProbedRun) -> Iterator[Row]:
    """Yield a run's accuracies after each step of fine-tuning on retained examples.

    The gap is the rise of the accuracy on the forget set, minus Retrain's rise.
    """
    steps = [int(step) for step in probed.probes[0].resurface_steps]
    for metric in RESURFACE_CURVES:
        yield from probed.rows(metric, probed.values(metric), at=steps)
    own, reference = (of[:, -1] - of[:, 0] for of in probed.pair("resurface_accuracy"))
    yield from probed.rows("resurface_gap", own - reference)


# Columns `set` and `at` of the long table, by group of examples on which CKA is computed.
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


def first_even_step(difference: Floats) -> float:
    """Return the first step whose difference is not negative; if none, number of steps plus 1."""
    if np.isnan(difference).any():
        return math.nan
    steps = np.flatnonzero(difference >= 0)
    return float(steps[0]) if len(steps) else float(len(difference))


def compress_like_outputs(
    logits: NDArray[np.floating], label: NDArray[np.int64]
) -> NDArray[np.floating]:
    """Return logits as outputs.npz stores them; with many classes, small logits are inexact."""
    is_many = logits.shape[1] > MANY_CLASSES
    return expand_logits(compress_logits(logits.astype(np.float16), label)) if is_many else logits
