"""Declarations of a data set: options, sizes, and image statistics for models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, model_validator

from collateral.contract.conventions import OF_MODEL, Columns
from collateral.contract.params import ClassLabel, Strict, Whole

Pixel = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class ImageInfo:
    """Properties of images that a model needs: classes, shape, mean and standard deviation."""

    num_classes: int
    shape: tuple[int, int, int]  # height, width, number of channels
    mean: tuple[float, ...]  # mean per channel, for pixel values in [0, 1]
    std: tuple[float, ...]  # standard deviation per channel, for pixel values in [0, 1]


class NoColumnsError(ValueError):
    """The data set of a plug-in does not define its metadata columns."""


@dataclass(frozen=True)
class DatasetSize:
    """Numbers of examples and shape of the images."""

    class_names: tuple[str, ...]
    train: tuple[int, ...]  # number of train examples of each class
    test: tuple[int, ...]  # number of test examples of each class
    shape: tuple[int, int, int]  # height, width, number of channels
    # Functions that read the metadata columns of the train set, and of the test set, from files.
    columns: Callable[[], Columns] = field(default=dict, compare=False)
    test_columns: Callable[[], Columns] = field(default=dict, compare=False)

    @property
    def num_train(self) -> int:
        """Number of train examples."""
        return sum(self.train)

    @property
    def num_examples(self) -> int:
        """Number of train and test examples."""
        return sum(self.train) + sum(self.test)

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


@dataclass(frozen=True)
class DatasetInfo:
    """Properties of a data set; a property is None if it depends on options or files."""

    class_names: tuple[str, ...] | None
    source: str  # citation of the publication, or where the files come from
    licence: str
    size: DatasetSize | None = None  # if None, the module defines a function `size(options)`


class DataOptions(Strict):
    """Options that every data set has; the `Options` of a data set extend them."""

    classes: tuple[ClassLabel, ...] | None = Field(
        None, min_length=2, description="Keep these classes only, by name or index, in this order."
    )
    per_class: Whole | None = Field(
        None, ge=1, description="Keep the first so many train examples of each class."
    )
    test_per_class: Whole | None = Field(
        None, ge=1, description="Keep the first so many test examples of each class."
    )
    mean: Annotated[tuple[Pixel, ...], Field(min_length=1)] | Literal["model"] | None = Field(
        None,
        description="Mean of each channel, for images in [0, 1], where a model of your own was "
        "trained with another normalisation than the data set's. `model`: mean and standard "
        "deviation that timm states for the weights of this architecture.",
    )
    # A model of images from 0 to 255 has a standard deviation of 1 / 255.
    std: tuple[Annotated[float, Field(ge=0.001, le=1)], ...] | None = Field(
        None, min_length=1, description="Of each channel, for images in [0, 1]; goes with `mean`."
    )

    @model_validator(mode="after")
    def _mean_and_std_go_together(self) -> DataOptions:
        if self.mean == OF_MODEL:
            if self.std is not None:
                raise ValueError("`mean: model` has a standard deviation too; leave `std` out")
            return self
        if len(self.mean or ()) != len(self.std or ()):
            raise ValueError("`mean` and `std` go together: a number of each for every channel")
        return self
