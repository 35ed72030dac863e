"""Easiest examples of the train set or a class: smallest loss under the first seed's base model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.data.forget import hardest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.results.dataset import Labels

NEEDS = hardest.NEEDS
Params = hardest.Params
find_classes, count, chosen = hardest.find_classes, hardest.count, hardest.chosen


def select(labels: Labels, params: Params, loss: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples with the smallest losses."""
    return hardest.take_largest(labels, params, -loss)
