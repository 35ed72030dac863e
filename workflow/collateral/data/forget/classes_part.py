"""Fractions of several classes: the first examples of each in data-set order, or random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from collateral.contract.conventions import class_indices
from collateral.contract.params import ClassLabel, Seed, Share, Strict
from collateral.data.forget import class_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


class Params(Strict):
    """Parameters: the classes, the fraction of each to forget, and the choice of examples."""

    classes: dict[ClassLabel, Share] = Field(
        min_length=2,
        description="Share of the train examples to forget, for each class by name or index, e.g. "
        "{cat: 0.5, dog: 0.2}. Numbers of examples are rounded down.",
    )
    order: Literal["first", "random"] = Field(
        "first",
        description="Which examples are forgotten. `first`: the first ones in data-set order. "
        "`random`: a random choice.",
    )
    split_seed: Seed = Field(0, description="Seed of the random choice with `order: random`.")


def find_classes(params: Params, class_names: Sequence[str]) -> list[int]:
    """Return the indices of the classes; text may be an index, because keys are text in JSON."""
    try:
        return class_indices([read_key(key, class_names) for key in params.classes], class_names)
    except ValueError as error:
        raise ValueError(f"classes: {error}") from None


def read_key(key: str | int, class_names: Sequence[str]) -> str | int:
    """Return a number for text that is a number, unless it is the name of a class."""
    is_index = isinstance(key, str) and key.isdecimal() and key not in class_names
    return int(key) if is_index else key


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the sorted indices of the train examples that `class_part` selects in each class."""
    import numpy as np

    parts = _parts(params, labels.class_names)
    return np.sort(np.concatenate([class_part.select(labels, part) for part in parts]))


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise if a class would have none."""
    try:
        return sum(class_part.count(size, part) for part in _parts(params, size.class_names))
    except ValueError as error:
        raise ValueError(str(error).replace("fraction: ", "classes: ", 1)) from None


def chosen(labels: Labels, params: Params) -> dict[str, Any]:
    """Return the parameters to store in split.json: classes by name, the seed only if used."""
    parts = _parts(params, labels.class_names)
    content = params.model_dump() | {"classes": {part.class_: part.fraction for part in parts}}
    if params.order == "first":
        del content["split_seed"]
    return content


def _parts(params: Params, names: Sequence[str]) -> list[class_part.Params]:
    """Return one `class_part.Params` per class, with the name of the class."""
    shared = params.model_dump(exclude={"classes"})
    return [
        class_part.Params.model_validate({"class": names[index], "fraction": fraction, **shared})
        for index, fraction in zip(
            find_classes(params, names), params.classes.values(), strict=True
        )
    ]
