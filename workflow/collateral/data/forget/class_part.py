"""A fraction of a class: the first examples in data-set order (as in the paper), or random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from collateral.contract.conventions import class_index, derive_seed
from collateral.contract.params import ClassLabel, Seed, Strict
from collateral.data.forget.random_part import count_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


class Params(Strict):
    """Parameters: the class, the fraction of it to forget, and the choice of examples."""

    class_: ClassLabel = Field(
        alias="class", description="Class of which a part is forgotten, by name or index."
    )
    fraction: float = Field(
        gt=0,
        le=1,
        description="Share of the class's train examples to forget. The number of examples is "
        "rounded down.",
    )
    order: Literal["first", "random"] = Field(
        "first",
        description="Which examples are forgotten. `first`: the first ones in data-set order. "
        "`random`: a random choice.",
    )
    split_seed: Seed = Field(0, description="Seed of the random choice with `order: random`.")


def find_classes(params: Params, class_names: Sequence[str]) -> list[int]:
    """Return a list that contains the index of the class; raise if the data set lacks the class."""
    try:
        return [class_index(params.class_, class_names)]
    except ValueError as error:
        raise ValueError(f"class: {error}") from None


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the indices of the train examples to forget, ascending.

    A smaller random fraction is a subset of a larger one with the same split seed.
    """
    import numpy as np

    (index,) = find_classes(params, labels.class_names)
    name = labels.class_names[index]
    members = np.flatnonzero(labels.train == index)
    count = _count(len(members), name, params)
    if params.order == "random":
        rng = np.random.default_rng(derive_seed("forget", params.split_seed, name))
        members = rng.permutation(members)
    return np.sort(members[:count])


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise if it would return none."""
    (index,) = find_classes(params, size.class_names)
    return _count(size.train[index], size.class_names[index], params)


def _count(members: int, name: str, params: Params) -> int:
    return count_part("fraction", members, params.fraction, f" of '{name}'")


def chosen(labels: Labels, params: Params) -> dict[str, Any]:
    """Return the parameters to store in split.json: the class by name, the seed only if used."""
    content = params.model_dump(by_alias=True)
    content["class"] = labels.class_names[find_classes(params, labels.class_names)[0]]
    if params.order == "first":
        del content["split_seed"]
    return content
