"""CIFAR-100: 60,000 photographs of 32x32 pixels in 100 classes, read by torchvision.

Augmented by random crops after padding by 4 and by flips, as in the paper's public code. With
`label: coarse` it is CIFAR-20: the classes are the 20 superclasses, each with five of the classes,
which are then the column `fine` (`kind: where`). With fine labels, the superclasses are the column
`coarse`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from collateral.contract.conventions import Columns
from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.torchvision_sets import SETS, RootOptions, load_set

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

CLASS_NAMES = SETS["CIFAR100"].names or ()
NUM_TRAIN, NUM_TEST = 500, 100  # numbers of examples of each class
SHAPE = (32, 32, 3)
INFO = DatasetInfo(
    class_names=CLASS_NAMES,
    source="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    licence="none stated; research use is customary",
    size=DatasetSize(CLASS_NAMES, (NUM_TRAIN,) * 100, (NUM_TEST,) * 100, SHAPE),
)
FOLDER = SETS["CIFAR100"].folder
HOW = (
    "Get cifar-100-python.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it in "
    "that folder, or set `root:` to the folder that holds cifar-100-python/."
)
SUPERCLASSES = """
    aquatic_mammals fish flowers food_containers fruit_and_vegetables
    household_electrical_devices household_furniture insects large_carnivores
    large_man-made_outdoor_things large_natural_outdoor_scenes large_omnivores_and_herbivores
    medium_mammals non-insect_invertebrates people reptiles small_mammals trees vehicles_1
    vehicles_2
"""
# Superclass of each class; torchvision reads the labels of the classes alone. The same as
# `coarse_labels` in the official files, for all 60,000 images.
SUPERCLASS_OF = """
    4 1 14 8 0 6 7 7 18 3 3 14 9 18 7 11 3 9 7 11 6 11 5 10 7 6 13 15 3 15 0 11 1 10 12 14 16 9 11
    5 5 19 8 8 15 13 14 17 18 10 16 4 17 4 2 0 17 4 18 17 10 3 2 12 12 16 12 1 9 19 2 10 0 1 16 12
    9 13 15 13 16 19 2 4 6 19 5 5 8 19 18 1 2 15 6 0 17 8 14 13
"""
COARSE_NAMES = tuple(SUPERCLASSES.split())  # in the order of `coarse_label_names` in the files
COARSE = tuple(map(int, SUPERCLASS_OF.split()))


class Options(RootOptions):
    """Options of CIFAR-100: the folder of its files, and which labels are its classes."""

    label: Literal["fine", "coarse"] = Field(
        "fine",
        description="fine: 100 classes. coarse: CIFAR-20, the 20 superclasses; the 100 classes are "
        "the column `fine`.",
    )


def class_names(options: Options) -> tuple[str, ...]:
    """Return the names of the classes, or of the superclasses."""
    return COARSE_NAMES if options.label == "coarse" else CLASS_NAMES


def size(options: Options) -> DatasetSize:
    """Return the numbers of examples per class."""
    names = class_names(options)
    times = len(CLASS_NAMES) // len(names)
    train, test = ((times * each,) * len(names) for each in (NUM_TRAIN, NUM_TEST))
    return DatasetSize(names, train, test, SHAPE)


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the other labels of the train set, sorted by class."""
    return _sorted_columns(options, NUM_TRAIN, options.per_class)


def test_columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the other labels of the test set, sorted by class."""
    return _sorted_columns(options, NUM_TEST, options.test_per_class)


def _sorted_columns(
    options: Options, each: int, limit: int | None
) -> tuple[list[int], dict[str, list[str]]]:
    """Return labels and columns of a part: as in the files, but sorted, since none is read."""
    is_cut = limit is not None or options.imbalance is not None
    if options.label == "coarse" and is_cut:
        raise ValueError("which classes the first examples of a superclass have is in the files")
    fine = [*chain.from_iterable([label] * each for label in range(len(CLASS_NAMES)))]
    if options.label == "fine":
        return fine, {"coarse": [COARSE_NAMES[COARSE[label]] for label in fine]}
    return [COARSE[label] for label in fine], {"fine": [CLASS_NAMES[label] for label in fine]}


def load(options: Options) -> Dataset:
    """Return CIFAR-100 in the order of its files."""
    from dataclasses import replace

    import numpy as np

    from collateral.results.dataset import Labels

    mean, std = (0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)
    data = load_set("CIFAR100", options, HOW, mean, std)
    train, test = data.labels.train, data.labels.test
    coarse = np.array(COARSE, np.int64)
    if options.label == "fine":
        names = np.array(COARSE_NAMES)
        superclasses = [{"coarse": names[coarse[labels]]} for labels in (train, test)]
        return replace(data, labels=Labels(train, test, CLASS_NAMES, *superclasses))
    classes = [{"fine": np.array(CLASS_NAMES)[labels]} for labels in (train, test)]
    return replace(data, labels=Labels(coarse[train], coarse[test], COARSE_NAMES, *classes))
