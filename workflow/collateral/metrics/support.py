"""How large a support should be: what teachers on supports of every size say of the forget set.

A model's histogram is the mean over the forget set of its class probabilities, of which each
example keeps the largest few, renormalised, as the student is shown them.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from collateral.core.diagnosis import Diagnosis
from collateral.metrics.accuracy import accuracy
from collateral.metrics.gaps import mean_of_defined

Floats = NDArray[np.floating]


def keep_top(probability: Floats, top: int) -> NDArray[np.float64]:
    """Return the `top` largest entries of every row (N, C) as they are, and 0 for all others."""
    rows = probability.astype(np.float64)
    top = min(top, rows.shape[1])
    kept = np.argpartition(rows, -top, axis=1)[:, -top:]
    result = np.zeros_like(rows)
    np.put_along_axis(result, kept, np.take_along_axis(rows, kept, axis=1), axis=1)
    return result


def histogram(probability: Floats, top: int) -> NDArray[np.float64]:
    """Return the mean of the rows (N, C), of each its `top` largest entries, renormalised."""
    kept = keep_top(probability, top)
    return np.asarray((kept / kept.sum(axis=1, keepdims=True)).mean(axis=0))


def divergence(p: Floats, q: Floats, count: int) -> float:
    """Return KL(p, q) in nats of two histograms over `count` examples each.

    A class that nobody is predicted as would make it infinite, so both are taken with one example
    more, which is as much of every class.
    """
    p, q = ((count * h + 1 / len(h)) / (count + 1) for h in (p, q))
    return float(np.sum(p * np.log(p / q)))


def histograms(diagnosis: Diagnosis) -> NDArray[np.float64]:
    """Return the histogram of every teacher, (K, C)."""
    return np.array([histogram(soft, int(diagnosis.top)) for soft in diagnosis.soft_labels])


def support_numbers(diagnosis: Diagnosis, label: NDArray[np.int64]) -> dict[str, float]:
    """Return the numbers of every size, bin and of `k: auto`; `label` is the forget set's."""
    soft, top = diagnosis.soft_labels, int(diagnosis.top)
    kl = [divergence(new, old, len(label)) for old, new in pairwise(histograms(diagnosis))]
    of_sizes: dict[str, Sequence[float] | NDArray[np.generic]] = {
        "kl_previous": [np.nan, *kl],
        "teacher_ua": [_accuracy(rows, label) for rows in soft],
        "top_mass": [float(keep_top(rows, top).sum(axis=1).mean()) for rows in soft],
        "epochs": diagnosis.epochs,
        "accuracy": diagnosis.support_accuracy,
        "least_similarity": diagnosis.least_similarity,
        "num_classes": diagnosis.num_classes,
    }
    of_bins = {
        "drop": diagnosis.step_drop,
        "bin_low": diagnosis.step_edges[:-1],
        "bin_high": diagnosis.step_edges[1:],
        "bin_count": diagnosis.step_counts,
    }
    numbers = by_size(diagnosis, of_sizes)
    for name, values in of_bins.items():
        numbers |= {f"support_{name}:{b:02d}": float(v) for b, v in enumerate(values)}
    alone = {"step_rate": diagnosis.step_rate, "auto": diagnosis.auto_size}
    return numbers | {f"support_{name}": float(value) for name, value in alone.items()}


def _accuracy(soft: Floats, label: NDArray[np.int64]) -> float:
    """Return a teacher's accuracy on the forget set; NaN for one that diverged."""
    return accuracy(soft.argmax(axis=1), label) if np.isfinite(soft).all() else float("nan")


def against_retrain(diagnosis: Diagnosis, retrained: Floats) -> dict[str, float]:
    """Return KL(teacher, Retrain) for every size; Retrain's probabilities of D_f are (F, C)."""
    reference = histogram(retrained, int(diagnosis.top))
    kl = [divergence(h, reference, len(retrained)) for h in histograms(diagnosis)]
    return by_size(diagnosis, {"kl_retrain": kl})


def support_floors(diagnoses: Sequence[Diagnosis], retrained: Sequence[Floats]) -> dict[str, float]:
    """Return the mean KL between two seeds: of their teachers of one size, of their Retrains.

    Seeds are taken in both orders; with one seed it is undefined.
    """
    count, top = diagnoses[0].soft_labels.shape[1], int(diagnoses[0].top)
    by_seed = np.array([histograms(diagnosis) for diagnosis in diagnoses])  # (S, K, C)
    floors = by_size(
        diagnoses[0], {"floor": [_between(of_size, count) for of_size in by_seed.swapaxes(0, 1)]}
    )
    references = [histogram(probability, top) for probability in retrained]
    return floors | {"support_floor_retrain": _between(references, count)}


def _between(of_seeds: Sequence[Floats] | Floats, count: int) -> float:
    return mean_of_defined(divergence(p, q, count) for p, q in permutations(of_seeds, 2))


def by_size(
    diagnosis: Diagnosis, columns: Mapping[str, Sequence[float] | NDArray[np.generic]]
) -> dict[str, float]:
    """Return every column's value of each size as `support_<name>:<size>`."""
    return {
        f"support_{name}:{size:05d}": float(value)
        for name, values in columns.items()
        for size, value in zip(diagnosis.sizes, values, strict=True)
    }
