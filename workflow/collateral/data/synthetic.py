"""Synthetic classes in families, so that tests know which classes are neighbours.

The prototype of a class is sqrt(closeness) * pattern of its family + sqrt(1 - closeness) * its own
pattern, both with standard normal pixels. Prototypes of one family have correlation `closeness`,
those of different families none. An example is the prototype of its class plus noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from collateral.contract.conventions import derive_seed
from collateral.contract.data import DataOptions, DatasetInfo, DatasetSize
from collateral.contract.params import Seed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="computed", licence="none needed")
# Standard deviation of pixel values around 0.5; the few values outside [0, 1] are clipped.
CONTRAST = 0.15


class Options(DataOptions):
    """Numbers of classes and examples, and the similarity of the classes."""

    families: int = Field(
        3,
        ge=2,
        le=1000,
        description="Number of families of classes. Classes of one family look alike.",
    )
    classes_per_family: int = Field(
        3,
        ge=1,
        le=100,
        description="Number of classes in each family. A family is a group of classes with similar "
        "patterns; `closeness` says how similar.",
    )
    size: int = Field(8, ge=8, le=1024, description="Height and width of the images, in pixels.")
    channels: Literal[1, 3] = Field(
        1, description="Number of colour channels: 1 for grey images, 3 for colour."
    )
    num_train: int = Field(
        60, ge=1, le=10**6, description="Number of train examples of each class."
    )
    num_test: int = Field(20, ge=1, le=10**6, description="Number of test examples of each class.")
    noise: float = Field(
        1.0,
        ge=0,
        description="Standard deviation of the noise in each pixel, divided by the standard "
        "deviation of the pixels of the class's pattern.",
    )
    closeness: float = Field(
        0.9,
        ge=0,
        le=1,
        description="Correlation between the patterns of two classes of one family. With 1 they "
        "are identical.",
    )
    seed: Seed = Field(0, description="Random seed of the patterns and the noise.")


def class_names(options: Options) -> tuple[str, ...]:
    """Return the class names family_0_class_0, family_0_class_1, ..."""
    families, members = range(options.families), range(options.classes_per_family)
    return tuple(f"family_{family}_class_{member}" for family in families for member in members)


def size(options: Options) -> DatasetSize:
    """Return the numbers of train and test examples per class."""
    names, shape = class_names(options), (options.size, options.size, options.channels)
    train, test = ((each,) * len(names) for each in (options.num_train, options.num_test))
    return DatasetSize(names, train, test, shape)


def load(options: Options) -> Dataset:
    """Return the examples, whose classes alternate: one of each class, then again one of each."""
    import numpy as np

    from collateral.data._readers.pixels import statistics, to_uint8
    from collateral.results.dataset import Dataset, Labels

    rng = np.random.default_rng(derive_seed("synthetic", options.seed))
    prototypes = _prototypes(options, rng)

    def draw(labels: NDArray[np.int64]) -> NDArray[np.uint8]:
        noise = rng.standard_normal((len(labels), *prototypes.shape[1:]))
        pixels = 0.5 + CONTRAST * (prototypes[labels] + options.noise * noise)
        return to_uint8(pixels.clip(0, 1))

    train = np.tile(np.arange(len(prototypes)), options.num_train)
    test = np.tile(np.arange(len(prototypes)), options.num_test)
    train_images, test_images = draw(train), draw(test)
    mean, std = statistics(train_images)
    labels = Labels(train, test, class_names(options))
    return Dataset(train_images, test_images, labels, mean, std)


def _prototypes(options: Options, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the prototype images of all classes, one image per class."""
    shape = (options.size, options.size, options.channels)
    family = rng.standard_normal((options.families, 1, *shape))
    own = rng.standard_normal((options.families, options.classes_per_family, *shape))
    mixed: NDArray[np.float64] = (
        options.closeness**0.5 * family + (1 - options.closeness) ** 0.5 * own
    )
    return mixed.reshape(-1, *shape)
