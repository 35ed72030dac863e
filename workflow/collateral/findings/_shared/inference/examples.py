"""What another draw of examples would have given, for the very same models: a bootstrap."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Floats = NDArray[np.floating]
NUM_RESAMPLES = 1000
PIECE = 2_000_000
# Poisson's law in so many equal parts: the count of each; numpy's own draws are ten times slower.
NUM_LEVELS = 2**16
_BELOW = np.exp(-1) * np.cumsum(1 / np.cumprod([1, *range(1, 9)]))
COUNTS = np.searchsorted(_BELOW, (np.arange(NUM_LEVELS) + 0.5) / NUM_LEVELS).astype(np.uint8)


def weights(num_examples: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return how often each resample has each example: independent Poisson counts of mean 1."""
    drawn = rng.integers(0, NUM_LEVELS, (NUM_RESAMPLES, num_examples), dtype=np.uint16)
    return COUNTS[drawn]


def resampled(columns: Floats, drawn: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the sums of `columns` (examples, columns) over each resample."""
    # Piece by piece: as floats, all resamples of a large set at once would fill the memory.
    pieces = np.array_split(drawn, max(1, drawn.size // PIECE))
    return np.concatenate([piece.astype(np.float64) @ columns for piece in pieces])


def percentiles(statistics: Floats, num_examples: int) -> tuple[float, float]:
    """Return the 95 % interval of a statistic by its resamples; NaN where it has none.

    Resamples spread a little less than samples do, so the levels are those of Student's t
    (Hesterberg's expanded percentiles).
    """
    if np.isnan(statistics).any() or num_examples < 2:
        return float("nan"), float("nan")
    wider = np.sqrt(num_examples / (num_examples - 1)) * stdtrit(num_examples - 1, 0.975)
    low, high = np.quantile(statistics, [ndtr(-wider), ndtr(wider)])
    return float(low), float(high)
