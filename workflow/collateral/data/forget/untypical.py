"""Least typical examples of the train set or a class: pixels furthest from the class's mean image.

The distance is Euclidean, and the mean is that of all train images of the class. So the choice
depends on no model, and is the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StrictInt, model_validator

from collateral.contract.messages import quoted
from collateral.contract.params import Share
from collateral.data.forget import hardest
from collateral.data.forget.random_part import count_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

# `select` gets the distance of every train image from the mean image of its class.
NEEDS = "images"


class Params(hardest.InClass):
    """Parameters: how many examples to forget, as a share or a number, of all or of one class."""

    share: Share | None = Field(
        None,
        description="Share of the train examples to forget, of all classes or of `class`. The "
        "number of examples is rounded down. Give either `share` or `count`.",
    )
    count: Annotated[StrictInt, Field(ge=1)] | None = Field(
        None, description="Number of examples to forget. Give either `share` or `count`."
    )

    @model_validator(mode="after")
    def _check_one_of_both(self) -> Params:
        if (self.share is None) == (self.count is None):
            raise ValueError("should have one of `share` and `count`")
        return self


find_classes, chosen = hardest.find_classes, hardest.chosen


def select(labels: Labels, params: Params, distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples with the largest distances."""
    import numpy as np

    ranked = hardest.rank(labels, params, distance)
    return np.sort(ranked[: _count(len(ranked), params)])


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise if there are too few."""
    return _count(hardest.count_members(size, params), params)


def _count(members: int, params: Params) -> int:
    if params.share is not None:
        return count_part("share", members, params.share)
    assert params.count is not None, "the validator wants one of both"
    if params.count > members:
        raise ValueError(
            f"count: {quoted(params.count)}: there are {members} train examples to choose from"
        )
    return params.count
