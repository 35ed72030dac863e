"""The examples of the train set or of a class that shadow models memorise most, or least.

Memorisation of an example (Feldman and Zhang, 2020) is the mean over models that were trained on it
minus the mean over models that were not; here of the probability of its true class, not of correct
predictions, because with few models many examples would be equal. The first half of the pool
(`shadows:`) chooses the examples. The second half gives their mean memorisation in split.json, and
is attacked (U-LiRA).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from collateral.data.forget import hardest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.results.dataset import Labels

NEEDS = "shadows"  # `select` gets the memorisation of every train example


class Params(hardest.Params):
    """Parameters: the fraction to forget, and whether to forget the most or least memorised."""

    level: Literal["high", "low"] = Field(
        description="`high`: forget the most memorised examples. `low`: forget those whose "
        "memorisation is nearest to 0. Memorisation is how much more probable the true class is "
        "to models that were trained on the example."
    )


find_classes, count, chosen = hardest.find_classes, hardest.count, hardest.chosen


def select(labels: Labels, params: Params, memorised: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples that are memorised most or least."""
    # The least memorised examples have values near 0; values far below 0 are estimation noise.
    values = memorised if params.level == "high" else -abs(memorised)
    return hardest.take_largest(labels, params, values)
