"""CIFAR-100: 60,000 photographs of 32x32 pixels in 100 classes, read by torchvision.

Augmented by random crops after padding by 4 and by flips, as in the paper's public code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.torchvision_sets import BY_FLAG, Files, RootOptions, load_set

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

NAMES = """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus
    butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch
    crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo
    keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain
    mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain
    plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk
    skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone
    television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
CLASS_NAMES = tuple(NAMES.split())
INFO = DatasetInfo(
    class_names=CLASS_NAMES,
    source="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    licence="none stated; research use is customary",
    size=DatasetSize(CLASS_NAMES, (500,) * 100, (100,) * 100, (32, 32, 3)),
)
FILES = Files(
    name="cifar100",
    paths=("cifar-100-python/train", "cifar-100-python/test", "cifar-100-python/meta"),
    how="Get cifar-100-python.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html and "
    "unpack it in that folder, or set `root:` to the folder that holds cifar-100-python/.",
)


class Options(RootOptions):
    """Options of CIFAR-100: the folder of its files."""


def load(options: Options) -> Dataset:
    """Return CIFAR-100 with its fine labels, in the order of its files."""
    normalisation = {"mean": (0.5070, 0.4865, 0.4409), "std": (0.2673, 0.2564, 0.2761)}
    properties = {"class_names": CLASS_NAMES, **normalisation, "padding": 4, "flip": True}
    return load_set("CIFAR100", BY_FLAG, options, FILES, **properties)
