"""Tug of war (Zhao et al., 2024), and values shifted by one seed for a Retrain baseline."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tug_of_war(own: Sequence[Floats], retrained: Sequence[Floats]) -> Floats:
    """Return the product of 1 - |difference| over metrics, one value per seed."""
    product: Floats = np.prod(1 - np.abs(np.subtract(own, retrained)), axis=0)
    return product


def shift_seeds(values: Floats) -> Floats:
    """Return for each seed the value of the next seed, cyclically; NaN with a single seed."""
    return np.roll(values, -1, axis=0) if len(values) > 1 else np.full_like(values, np.nan)
