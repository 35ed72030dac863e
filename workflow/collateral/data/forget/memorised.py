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
MIDDLE = 0.5  # RUM's middle memorisation; the median is near 0


class Params(hardest.Params):
    """Parameters: the fraction to forget, and how much the forgotten examples are memorised."""

    level: Literal["high", "mid", "low", "thirds"] = Field(
        description="Which examples are forgotten. `high`: those with the highest memorisation. "
        "`low`: those with memorisation nearest to 0. `mid`: those nearest to 0.5. `thirds`, as in "
        "RUM: one third has the highest memorisation, one the lowest (also far below 0, unlike "
        "`low`), and one is nearest to 0.5 among the others. Memorisation of an example is the "
        "mean probability of its true class by shadow models trained on it, minus that by shadow "
        "models not trained on it."
    )


find_classes, count, chosen = hardest.find_classes, hardest.count, hardest.chosen


def select(labels: Labels, params: Params, memorised: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples with this level of memorisation."""
    import numpy as np

    by_level = {
        "high": memorised,
        "low": -abs(memorised),  # values far below 0 are estimation noise
        "mid": -abs(memorised - MIDDLE),
    }
    ranked = {level: hardest.rank(labels, params, values) for level, values in by_level.items()}
    total = count_part("share", len(ranked["high"]), params.share)
    if params.level != "thirds":
        return np.sort(ranked[params.level][:total])
    high = ranked["high"][: total // 3]
    low = _without(hardest.rank(labels, params, -memorised), high)[: total // 3]
    others = _without(ranked["mid"], np.concatenate([high, low]))
    return np.sort(np.concatenate([high, low, others[: total - 2 * (total // 3)]]))


def _without(ranked: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices that are not taken, in their order."""
    import numpy as np

    return ranked[~np.isin(ranked, taken)]
