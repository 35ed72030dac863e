"""A long-tailed fraction of the train set: most forgotten examples are of a few classes.

The classes are ranked at random; an example of the class of rank r has the weight 1 / r^exponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from collateral.contract.conventions import derive_seed
from collateral.data.forget import random_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.results.dataset import Labels


class Params(random_part.Params):
    """Parameters: the fraction of the train set, the exponent of the weights, and the seed."""

    exponent: float = Field(
        1.0,
        ge=0,
        description="Exponent s of the class weights 1 / rank^s. The larger it is, the fewer "
        "classes contain most of the forgotten examples; with 0 all classes have the same weight.",
    )


count, chosen = random_part.count, random_part.chosen


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples to forget.

    A smaller fraction is a subset of a larger one with the same split seed and exponent.
    """
    import numpy as np

    count = len(random_part.select(labels, params))  # raises an error if this number is 0
    rng = np.random.default_rng(derive_seed("zipf", params.split_seed))
    rank = 1 + rng.permutation(len(labels.class_names))
    weight = rank[labels.train] ** -params.exponent
    # Weighted sampling without replacement takes the smallest (exponential noise / weight).
    order = np.argsort(rng.exponential(size=len(weight)) / weight)
    return np.sort(order[:count])
