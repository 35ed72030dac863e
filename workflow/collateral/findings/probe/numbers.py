"""The numbers that the probes of every run give, by seed; runs of sweeps are left out."""

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
    """Yield the numbers of all probes in the config; nothing if the config has no probes."""
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
    """The values that the probes measured on one run, and on Retrain."""

    cell: CellResults
    probes: Sequence[Any]  # `Probe` of each seed
    results: Sequence[Result]  # results of the run, one per seed
    retrained: Sequence[Result]  # results of Retrain, one per seed

    @property
    def run(self) -> str:
        """Name of the run."""
        return self.results[0].run

    def values(self, name: str, results: Sequence[Result] | None = None) -> Floats:
        """Return the run's values in a probe, a row per seed; a diverged seed has a row of NaN."""
        pairs = list(zip(self.probes, results or self.results, strict=True))
        # The probe of a seed in which the run has no model does not list the run.
        rows = [
            getattr(probe, name)[0 if one.is_diverged else probe.row(one.run)].astype(np.float64)
            for probe, one in pairs
        ]
        return np.where([[one.is_diverged] for _, one in pairs], np.nan, np.stack(rows))

    def pair(self, name: str) -> tuple[Floats, Floats]:
        """Return a run's values in a probe, and Retrain's values of the same seeds.

        If the run is Retrain itself, its values of the next seed are paired with its own.
        """
        own, reference = self.values(name), self.values(name, self.retrained)
        return shift_seeds(own) if self.run == self.cell.reference else own, reference

    def rows(
        self, metric: str, values: Floats, subset: str = "", at: Iterable[At] = (None,)
    ) -> Iterator[Row]:
        """Yield the table rows of one metric of the run: one row per seed and per value of `at`."""
        by_seed = np.reshape(values, (len(self.cell.seeds), -1))
        for seed, row in zip(self.cell.seeds, by_seed, strict=True):
            for index, value in zip(at, row, strict=True):
                yield Row(self.run, metric, float(value), seed, subset, index)


def relearning(probed: ProbedRun) -> Iterator[Row]:
    """Yield a run's accuracy after each step of relearning, and its difference from Retrain's.

    Also yield the first step at which the run is at least as accurate as Retrain.
    """
    curves = probed.values("relearn_accuracy")
    yield from probed.rows("relearn_accuracy", curves, at=range(curves.shape[1]))
    own, reference = probed.pair("relearn_accuracy")
    # The mean leaves out step 0, the accuracy before any fine-tuning.
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
    """Yield the CKA of a run's features with Retrain's and with the base's, by group of examples.

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
    """Return the CKA of Retrain's features with those of Retrain of the next seed.

    The array has one row per seed and one column per group of examples.
    """
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

    Also yield by how much its accuracy on the forget set rises in all steps, minus Retrain's rise.
    """
    steps = [int(step) for step in probed.probes[0].resurface_steps]
    for metric in RESURFACE_CURVES:
        yield from probed.rows(metric, probed.values(metric), at=steps)
    own, reference = (of[:, -1] - of[:, 0] for of in probed.pair("resurface_accuracy"))
    yield from probed.rows("resurface_gap", own - reference)


def patching(probed: ProbedRun) -> Iterator[Row]:
    """Yield a run's accuracy on patched test images, and the success of the patch."""
    corrected, success = probed.values("patch_rates").T
    yield from probed.rows("patch_accuracy", corrected)
    yield from probed.rows("patch_success", success)


# For each group of examples on which CKA is computed: its columns `set` and `at` in the long table.
CKA_PLACES: dict[str, tuple[str, str | None]] = {
    "forget": ("forget", None),
    "near": ("retain", NEAR),
    "far": ("retain", FAR),
    "test": ("test", None),
}
RESURFACE_CURVES = ("resurface_accuracy", "resurface_near_accuracy", "resurface_test_accuracy")
# For each probe, by its name in the config: the function that yields its rows.
PROBES = {
    "relearn": relearning,
    "residual": residual,
    "zrf": zrf,
    "linear": linear,
    "cka": cka,
    "resurface": resurfacing,
    "patch": patching,
}


def first_even_step(difference: Floats) -> float:
    """Return the first step at which a run's accuracy is not below Retrain's.

    `difference` is the run's accuracy minus Retrain's, by step from step 0 on. If it is negative
    at every step, the number of the last step plus 1 is returned.
    """
    if np.isnan(difference).any():
        return math.nan
    steps = np.flatnonzero(difference >= 0)
    return float(steps[0]) if len(steps) else float(len(difference))


def compress_like_outputs(
    logits: NDArray[np.floating], label: NDArray[np.int64]
) -> NDArray[np.floating]:
    """Return logits with the same loss of precision as those in the file outputs.npz.

    If there are many classes, that file stores small logits only approximately.
    """
    is_many = logits.shape[1] > MANY_CLASSES
    return expand_logits(compress_logits(logits.astype(np.float16), label)) if is_many else logits
