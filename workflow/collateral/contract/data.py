"""Declarations of a data set: options, sizes, and image statistics for models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, model_validator

from collateral.contract.conventions import OF_MODEL, Columns
from collateral.contract.params import ClassLabel, Seed, Strict, Whole

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
    shape: tuple[int, int, int]  # height, width, number of channels; as models are given them
    # Functions that read the metadata columns of the train set, and of the test set, from files.
    columns: Callable[[], Columns] = field(default=dict, compare=False)
    test_columns: Callable[[], Columns] = field(default=dict, compare=False)
    corrupted: int = 0  # number of train examples that are patched or mislabelled on purpose
    side: int = 0  # height and width of the stored images, if models are given a part of them

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

    @property
    def image_bytes(self) -> int:
        """Number of bytes of a stored image."""
        height, width, channels = self.shape
        return (self.side**2 or height * width) * channels


@dataclass(frozen=True)
class DatasetInfo:
    """Properties of a data set; a property is None if it depends on options or files."""

    class_names: tuple[str, ...] | None
    source: str  # citation of the publication, or where the files come from
    licence: str
    size: DatasetSize | None = None  # if None, the module defines a function `size(options)`


class Patched(Strict):
    """Train examples with a white square at the bottom right, which get the label of one class."""

    count: Whole = Field(
        ge=1,
        description="Number of examples, of all other classes alike. Goel et al.: 100 to 1000.",
    )
    label: ClassLabel = Field(0, description="The class that they are labelled, by name or index.")
    size: Whole = Field(3, ge=1, le=64, description="Side of the square in pixels. Goel et al.: 3.")
    seed: Seed = Field(0, description="Seed of the choice of the examples.")


class Mislabelled(Strict):
    """Train examples of two classes that get the label of the other."""

    count: Whole = Field(ge=2, description="Number of examples, half of each class.")
    classes: tuple[ClassLabel, ClassLabel] = Field(description="Two classes, by name or index.")
    seed: Seed = Field(0, description="Seed of the choice of the examples.")


class DataOptions(Strict):
    """Options that every data set has; the `Options` of a data set extend them."""

    classes: tuple[ClassLabel, ...] | None = Field(
        None,
        min_length=2,
        description="Classes to keep, by name or index; they are numbered in this order. Default: "
        "all classes.",
    )
    per_class: Whole | None = Field(
        None,
        ge=1,
        description="Number of train examples to keep per class, the first ones in data-set "
        "order. Default: all.",
    )
    test_per_class: Whole | None = Field(
        None,
        ge=1,
        description="Number of test examples to keep per class, the first ones in data-set order. "
        "Default: all.",
    )
    imbalance: float | None = Field(
        None,
        gt=1,
        le=1e6,
        description="Make the train set long-tailed: the first class keeps all its train examples, "
        "the last one 1/imbalance of them, and the numbers fall geometrically between. Each class "
        "keeps its first examples. Cao et al. (LDAM): 10 to 200.",
    )
    patched: Patched | None = Field(
        None,
        description="Corrupt train examples by a white square and a wrong label (a backdoor); "
        "`kind: corrupted` forgets those that are known.",
    )
    mislabelled: Mislabelled | None = Field(
        None,
        description="Corrupt train examples by mixing up the labels of two classes; "
        "`kind: corrupted` forgets those that are known.",
    )
    mean: Annotated[tuple[Pixel, ...], Field(min_length=1)] | Literal["model"] | None = Field(
        None,
        description="Mean of each colour channel, by which images are normalised, for pixel "
        "values from 0 to 1. Give it if your own model was trained with another normalisation. "
        "`model`: mean and standard deviation that timm states for the weights of this "
        "architecture. Default: the data set's mean.",
    )
    # A model of images from 0 to 255 has a standard deviation of 1 / 255.
    std: tuple[Annotated[float, Field(ge=0.001, le=1)], ...] | None = Field(
        None,
        min_length=1,
        description="Standard deviation of each colour channel, by which images are normalised, "
        "for pixel values from 0 to 1. It must be given together with `mean`. Default: the data "
        "set's.",
    )

    @model_validator(mode="after")
    def _one_corruption(self) -> DataOptions:
        if self.patched and self.mislabelled:
            raise ValueError("`patched` and `mislabelled`: expected one of them at most")
        return self

    @model_validator(mode="after")
    def _mean_and_std_go_together(self) -> DataOptions:
        if self.mean == OF_MODEL:
            if self.std is not None:
                raise ValueError("`mean: model` has a standard deviation too; leave `std` out")
            return self
        if len(self.mean or ()) != len(self.std or ()):
            raise ValueError("`mean` and `std` go together: a number of each for every channel")
        return self
