"""The examples of the train set or of a class that shadow models memorise most, least, or between.

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
from collateral.data.forget.random_part import count_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.results.dataset import Labels

NEEDS = "shadows"  # `select` gets the memorisation of every train example


class Params(hardest.Params):
    """Parameters: the fraction to forget, and how much the forgotten examples are memorised."""

    level: Literal["high", "mid", "low", "thirds"] = Field(
        description="Which examples are forgotten. `high`: those with the highest memorisation. "
        "`low`: those with memorisation nearest to 0. `mid`: those in the middle of the order by "
        "memorisation. `thirds`: a third of each, as in RUM. Memorisation of an example is the "
        "mean probability of its true class by shadow models trained on it, minus that by shadow "
        "models not trained on it."
    )


find_classes, count, chosen = hardest.find_classes, hardest.count, hardest.chosen


def select(labels: Labels, params: Params, memorised: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples with this level of memorisation."""
    import numpy as np

    highest = hardest.rank(labels, params, memorised)
    # The least memorised examples have values near 0; values far below 0 are estimation noise.
    lowest = hardest.rank(labels, params, -abs(memorised))
    total = count_part("share", len(highest), params.share)
    if params.level != "thirds":
        order = {"high": highest, "low": lowest, "mid": _from_middle(highest)}[params.level]
        return np.sort(order[:total])
    high = highest[: total // 3]
    low = _without(lowest, high)[: total // 3]
    others = _from_middle(_without(highest, np.concatenate([high, low])))
    return np.sort(np.concatenate([high, low, others[: total - 2 * (total // 3)]]))


def _without(ranked: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices that are not taken, in their order."""
    import numpy as np

    return ranked[~np.isin(ranked, taken)]


def _from_middle(ranked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices by the distance of their rank from the middle rank."""
    import numpy as np

    distance = abs(np.arange(len(ranked)) - (len(ranked) - 1) / 2)
    return ranked[np.argsort(distance, kind="stable")]
