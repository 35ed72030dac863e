"""Calibration errors: how far confidences are from accuracies in bins of confidence."""

import numpy as np

from collateral.metrics.arrays import Floats, Mask
from collateral.metrics.similarity import bin_count, bin_mean

NUM_BINS = 15
# Minimum number of examples; with fewer, even a calibrated model has an error of several points.
LEAST_EXAMPLES = 500


def calibration_errors(confidence: Floats, is_correct: Mask) -> tuple[float, float]:
    """Return the expected calibration error of 15 bins, and the debiased squared error.

    The debiased square may be negative; it leaves out bins with one example (Kumar et al., 2019).
    """
    # A confidence on an edge belongs to the lower bin; 0 belongs to the first.
    bins = np.clip(np.ceil(confidence * NUM_BINS).astype(np.int64) - 1, 0, NUM_BINS - 1)
    count = bin_count(bins, NUM_BINS)
    accuracy = bin_mean(is_correct.astype(np.float64), bins, NUM_BINS)
    gap = bin_mean(confidence, bins, NUM_BINS) - accuracy
    share = count / len(confidence)
    error = float((share * np.abs(gap))[count > 0].sum())
    several = count > 1
    variance = accuracy[several] * (1 - accuracy[several]) / (count[several] - 1)
    return error, float((share[several] * (gap[several] ** 2 - variance)).sum())
