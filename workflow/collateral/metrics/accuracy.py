"""Accuracy by subset and by class, disagreement of models, and calibration of confidences."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import binom

from collateral.metrics.arrays import Floats, Ints, Mask
from collateral.metrics.similarity import bin_count, bin_mean

# Dict from the name of an accuracy to the subset on which it is computed.
SUBSETS = {"ua": "forget", "ra": "retain", "ta": "test"}
NUM_BINS = 15  # number of confidence bins for calibration errors
# Minimum number of examples for calibration errors.
# With fewer, even a calibrated model has an error of several percentage points.
LEAST_EXAMPLES = 500


def accuracies(
    prediction: Mapping[str, Ints], label: Mapping[str, Ints], affected: Sequence[int]
) -> dict[str, float]:
    """Return UA, RA and TA, and each of them on the affected classes only.

    Predictions and labels are given by subset: forget, retain and test.
    """
    values = {}
    for name, subset in SUBSETS.items():
        own, true = prediction[subset], label[subset]
        is_affected = np.isin(true, affected)
        values[name] = accuracy(own, true)
        values[f"{name}_affected"] = accuracy(own[is_affected], true[is_affected])
    return values


def accuracy(prediction: Ints, label: Ints) -> float:
    """Return the fraction of correct predictions; NaN without examples."""
    return float(np.mean(prediction == label)) if len(label) else float("nan")


def disagreement(prediction: Ints, other: Ints) -> float:
    """Return the fraction of examples for which two models predict different classes."""
    return float(np.mean(prediction != other)) if len(prediction) else float("nan")


def class_accuracy(prediction: Ints, label: Ints, num_classes: int) -> Floats:
    """Return the accuracy on each class's examples; NaN for a class without examples."""
    return bin_mean((prediction == label).astype(np.float64), label, num_classes)


def calibration_errors(confidence: Floats, is_correct: Mask) -> tuple[float, float]:
    """Return the expected calibration error with 15 bins, and the debiased squared error.

    The debiased square may be negative; it leaves out bins with one example (Kumar et al., 2019).
    """
    # A confidence on the edge of two bins belongs to the lower bin; 0 belongs to the first bin.
    bins = np.clip(np.ceil(confidence * NUM_BINS).astype(np.int64) - 1, 0, NUM_BINS - 1)
    count = bin_count(bins, NUM_BINS)
    rate = bin_mean(is_correct.astype(np.float64), bins, NUM_BINS)
    gap = bin_mean(confidence, bins, NUM_BINS) - rate
    share = count / len(confidence)
    error = float((share * np.abs(gap))[count > 0].sum())
    several = count > 1
    variance = rate[several] * (1 - rate[several]) / (count[several] - 1)
    return error, float((share[several] * (gap[several] ** 2 - variance)).sum())


def guessing(label: Ints) -> tuple[float, float]:
    """Return the accuracy of always naming the largest class, and its 97.5 % quantile.

    The quantile is that of guesses which are right, independently, with this probability.
    """
    share = float(np.unique_counts(label).counts.max() / len(label))
    return share, float(binom.ppf(0.975, len(label), share) / len(label))
