"""The share of every class that is tested on, where a data set has no test part of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.contract.seeds import seed_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def num_tested(total: int, share: float) -> int:
    """Return how many of a class are tested on: at least one, and one is left to train on."""
    return min(max(1, round(share * total)), total - 1)


def drawn(labels: NDArray[np.int64], share: float, seed: int) -> NDArray[np.bool_]:
    """Draw a share of every class by hashes of the examples' places."""
    import numpy as np

    is_test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label).tolist()
        order = sorted(places, key=lambda place: seed_of("test", seed, place))
        is_test[order[: num_tested(len(places), share)]] = True
    return is_test
