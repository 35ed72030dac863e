"""What another draw of examples would have given, for the very same models: a bootstrap."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
# Weighted sums of columns, (resamples, columns), in; a number for each resample out.
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]
NUM_RESAMPLES = 400
LEVELS = (0.025, 0.975)


def weights(num_examples: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return how often each resample has each example: independent Poisson counts of mean 1."""
    return rng.poisson(1, (NUM_RESAMPLES, num_examples)).astype(np.uint8)


def resampled(columns: Floats, drawn: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the sums of `columns` (examples, columns) over each resample."""
    return drawn.astype(np.float32) @ columns.astype(np.float32)


def percentiles(statistics: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a statistic by its resamples; NaN where it has none."""
    if np.isnan(statistics).any():
        return float("nan"), float("nan")
    low, high = np.quantile(statistics, LEVELS)
    return float(low), float(high)
