"""Hardest examples of the train set or a class: largest loss under the first seed's base model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.conventions import class_index, derive_seed
from collateral.contract.params import ClassLabel, Seed, Share, Strict
from collateral.data.forget.random_part import count_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

# `select` gets the loss of every train example under the base model of the first seed.
NEEDS = "base"


class InClass(Strict):
    """Parameters: the class to which the examples belong, and the order of equal ones."""

    class_: ClassLabel | None = Field(
        None,
        alias="class",
        description="Class to which the forgotten examples belong, by name or index. Default: all "
        "classes.",
    )
    split_seed: Seed = Field(
        0, description="Seed of the random order in which examples with equal values are taken."
    )


class Params(InClass):
    """Parameters: the fraction to forget, of the train set or of one class."""

    share: Share = Field(
        description="Share of the train examples to forget, of all classes or of `class`. The "
        "number of examples is rounded down."
    )


def find_classes(params: InClass, class_names: Sequence[str]) -> list[int]:
    """Return a list: the index of the given class, or all class indices if no class is given."""
    try:
        whole = range(len(class_names))
        return [*whole] if params.class_ is None else [class_index(params.class_, class_names)]
    except ValueError as error:
        raise ValueError(f"class: {error}") from None


def select(labels: Labels, params: Params, loss: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples with the largest losses."""
    return take_largest(labels, params, loss)


def take_largest(labels: Labels, params: Params, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples with the largest values.

    `params` has the fraction and the class. Examples with equal values are chosen in random order,
    and examples whose value is NaN only if there are no others.
    """
    import numpy as np

    ranked = rank(labels, params, values)
    return np.sort(ranked[: count_part("share", len(ranked), params.share)])


def rank(labels: Labels, params: InClass, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of the class, or of all train examples, from largest to smallest value."""
    import numpy as np

    members = np.flatnonzero(np.isin(labels.train, find_classes(params, labels.class_names)))
    rng = np.random.default_rng(derive_seed("forget", params.split_seed))
    members = rng.permutation(members)
    order = np.argsort(-values[members], kind="stable")  # NaN is sorted last
    return members[order]


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise if it would return none."""
    return count_part("share", count_members(size, params), params.share)


def count_members(size: DatasetSize, params: InClass) -> int:
    """Return the number of train examples of the class, or of all classes."""
    return sum(size.train[index] for index in find_classes(params, size.class_names))


def chosen(labels: Labels, params: InClass) -> dict[str, Any]:
    """Return the parameters to store in split.json; a given class is stored by its name."""
    content = params.model_dump(by_alias=True, exclude_none=True)
    if params.class_ is not None:
        content["class"] = labels.class_names[find_classes(params, labels.class_names)[0]]
    return content
