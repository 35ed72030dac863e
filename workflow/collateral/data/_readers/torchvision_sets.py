"""Metadata of torchvision's data sets, stored here to avoid importing torchvision, and a reader.

An error of the reader lists the missing files and where to get them.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.data import DataOptions
from collateral.contract.messages import error_in_one_line
from collateral.contract.params import UserPath

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

DIGITS = tuple(f"digit_{digit}" for digit in range(10))
CIFAR10 = "airplane automobile bird cat deer dog frog horse ship truck"
CIFAR100 = """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus
    butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch
    crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo
    keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain
    mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain
    plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk
    skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone
    television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
STL10 = "airplane bird car cat deer dog horse monkey ship truck"
EUROSAT = (
    "AnnualCrop Forest HerbaceousVegetation Highway Industrial Pasture PermanentCrop Residential "
    "River SeaLake"
)
FASHION = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
KUZUSHIJI = "o ki su tsu na ha ma ya re wo"
Parts = tuple[Mapping[str, Any], ...]  # torchvision's arguments for the train and the test part
BY_FLAG: Parts = ({"train": True}, {"train": False})
BY_SPLIT: Parts = ({"split": "train"}, {"split": "test"})
MERGED = "cijklmopsuvwxyz"  # letters whose upper and lower case are one class in EMNIST
ALL_LETTERS = sorted(string.digits + string.ascii_letters)
FEW_LETTERS = [letter for letter in ALL_LETTERS if letter not in MERGED]


@dataclass(frozen=True)
class SetFacts:
    """Size and classes of a data set, and torchvision's arguments for its train and test part."""

    folder: str  # folder below `root` that exists if the files were downloaded
    train: int  # number of train examples
    test: int  # number of test examples; 0 if the data set has no test part
    classes: int  # number of classes
    names: tuple[str, ...] | None = None  # class names; None if they come with the download
    side: int | None = None  # height and width in pixels; None if images differ in size
    channels: int = 3
    parts: Parts = BY_SPLIT
    padding: int = 0  # pixels of padding before random crops of train images
    flip: bool = False  # whether train images are flipped at random
    first_label: int = 0  # smallest label in the files; it is subtracted from all labels


def _digits(folder: str, train: int, test: int, **more: Any) -> SetFacts:
    given = {"classes": 10, "names": DIGITS, "side": 28, "channels": 1, "parts": BY_FLAG}
    return SetFacts(folder, train, test, **{**given, **more})


def _photographs(folder: str, train: int, test: int, classes: int, **more: Any) -> SetFacts:
    return SetFacts(folder, train, test, classes, **{"flip": True, **more})


def _letters(split: str, train: int, test: int, names: list[str] | tuple[str, ...]) -> SetFacts:
    parts = tuple({"split": split, **part} for part in BY_FLAG)
    first = 1 if split == "letters" else 0
    more = {"names": tuple(names), "classes": len(names), "parts": parts, "first_label": first}
    return _digits("EMNIST/raw", train, test, **more)


EMNIST = {
    "balanced": _letters("balanced", 112_800, 18_800, FEW_LETTERS),
    "byclass": _letters("byclass", 697_932, 116_323, ALL_LETTERS),
    "bymerge": _letters("bymerge", 697_932, 116_323, FEW_LETTERS),
    "digits": _letters("digits", 240_000, 40_000, DIGITS),
    "letters": _letters("letters", 124_800, 20_800, [*string.ascii_lowercase]),
    "mnist": _letters("mnist", 60_000, 10_000, DIGITS),
}
_CIFAR: dict[str, Any] = {"side": 32, "parts": BY_FLAG, "padding": 4}
SETS = {
    "CIFAR10": _photographs(
        "cifar-10-batches-py", 50_000, 10_000, 10, names=tuple(CIFAR10.split()), **_CIFAR
    ),
    "CIFAR100": _photographs(
        "cifar-100-python", 50_000, 10_000, 100, names=tuple(CIFAR100.split()), **_CIFAR
    ),
    "Country211": _photographs("country211", 31_650, 21_100, 211),
    "DTD": _photographs("dtd", 1880, 1880, 47),
    "EMNIST": EMNIST["balanced"],
    "EuroSAT": _photographs("eurosat", 27_000, 0, 10, names=tuple(EUROSAT.split()), side=64),
    "FGVCAircraft": _photographs(
        "fgvc-aircraft-2013b", 6667, 3333, 100, parts=({"split": "trainval"}, {"split": "test"})
    ),
    "FashionMNIST": _digits("FashionMNIST/raw", 60_000, 10_000, names=tuple(FASHION.split(","))),
    "Flowers102": _photographs("flowers-102", 1020, 6149, 102),
    "Food101": _photographs("food-101", 75_750, 25_250, 101),
    "GTSRB": SetFacts("gtsrb", 26_640, 12_630, 43),
    "Imagenette": _photographs(
        "imagenette2", 9469, 3925, 10, parts=({"split": "train"}, {"split": "val"})
    ),
    "KMNIST": _digits("KMNIST/raw", 60_000, 10_000, names=tuple(KUZUSHIJI.split())),
    "MNIST": _digits("MNIST/raw", 60_000, 10_000),
    "OxfordIIITPet": _photographs(
        "oxford-iiit-pet", 3680, 3669, 37, parts=({"split": "trainval"}, {"split": "test"})
    ),
    "QMNIST": _digits("QMNIST/raw", 60_000, 60_000),
    "STL10": _photographs(
        "stl10_binary", 5000, 8000, 10, names=tuple(STL10.split()), side=96, padding=12
    ),
    "SVHN": SetFacts("train_32x32.mat", 73_257, 26_032, 10, DIGITS, 32),
    "USPS": _digits("usps.bz2", 7291, 2007, side=16),
}


class RootOptions(DataOptions):
    """Options of every data set that torchvision reads."""

    root: UserPath = Field(
        Path("data"),
        description="Folder that contains the files of the data set, arranged as torchvision "
        "arranges them.",
    )
    download: bool = Field(
        True, description="Whether the files are downloaded into `root` if they are missing there."
    )


def load_set(
    kind: str, options: RootOptions, how: str, mean: tuple[float, ...], std: tuple[float, ...]
) -> Dataset:
    """Load a data set of torchvision. `how` is the end of the error message if that fails."""
    import numpy as np

    from collateral.results.dataset import Dataset, Labels

    facts = SETS[kind]
    parts = open_parts(kind, facts, options, how)
    train, test = (np.asarray(part.data) for part in parts)
    if train.ndim == 3:  # MNIST has no axis of channels
        train, test = train[..., None], test[..., None]
    elif train.shape[-1] != 3:  # SVHN has channels in axis 1
        train, test = (images.transpose(0, 2, 3, 1) for images in (train, test))
    key = "targets" if hasattr(parts[0], "targets") else "labels"
    numbers = [np.asarray(getattr(part, key), np.int64) for part in parts]
    labels = Labels(numbers[0], numbers[1], facts.names or ())
    train, test = np.ascontiguousarray(train), np.ascontiguousarray(test)
    return Dataset(train, test, labels, mean, std, facts.padding, facts.flip)


def open_parts(
    kind: str, facts: SetFacts, options: RootOptions, how: str = "Put it there, or set `root:`."
) -> list[Any]:
    """Open the train and test part of a torchvision data set; download files if that is allowed."""
    from torchvision import datasets

    root, dataset = options.root.expanduser(), getattr(datasets, kind)
    parts: Parts = facts.parts if facts.test else ({},)
    is_there = (root / facts.folder).exists()
    # Missing and damaged files raise errors of many types, depending on the data set.
    try:
        try:
            return [dataset(root=root, download=False, **part) for part in parts]
        except Exception:
            if not options.download:
                raise
        root.mkdir(parents=True, exist_ok=True)
        return [dataset(root=root, download=True, **part) for part in parts]
    except Exception as error:
        missing = "the download failed" if options.download else "`download` is false"
        found = f"is missing, and {missing}"
        if is_there:  # Another file may be the cause.
            found = "or a file beside it is missing or damaged; delete what is damaged"
        problem = f"{facts.folder} {found} ({error_in_one_line(error)}). {how}"
        raise ValueError(f"data.root: cannot read {kind} from '{root}': {problem}") from None
