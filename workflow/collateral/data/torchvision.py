"""Any classification data set of torchvision by its name, such as `dataset: CIFAR10`.

Images are as in torchvision; they are scaled and cropped if `size` is given or if they differ in
size. Train and test set are torchvision's; if there is no test set, a fraction is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.contract.messages import unknown_name
from collateral.contract.params import Seed
from collateral.data._readers.examples import Crop, check_crop, draw_groups
from collateral.data._readers.torchvision_sets import (
    EMNIST,
    SETS,
    RootOptions,
    SetFacts,
    open_parts,
)

if TYPE_CHECKING:
    from PIL import Image

    from collateral.data._readers.decoding import Source
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="torchvision", licence="the data set's own")
# Key of each data set's entry in torchvision.bib.
ENTRIES = {
    "CIFAR10": "krizhevsky2009learning",
    "CIFAR100": "krizhevsky2009learning",
    "Country211": "radford2021learning",
    "DTD": "cimpoi2014describing",
    "EMNIST": "cohen2017emnist",
    "EuroSAT": "helber2019eurosat",
    "FGVCAircraft": "maji2013fine",
    "FashionMNIST": "xiao2017fashion",
    "Flowers102": "nilsback2008automated",
    "Food101": "bossard2014food",
    "GTSRB": "stallkamp2012man",
    "Imagenette": "howard-imagenette",
    "KMNIST": "clanuwat2018deep",
    "MNIST": "lecun1998gradient",
    "OxfordIIITPet": "parkhi2012cats",
    "QMNIST": "yadav2019cold",
    "STL10": "coates2011analysis",
    "SVHN": "netzer2011reading",
    "USPS": "hull1994database",
}
# Memory of torch, and of all images at their own size, which torchvision keeps for some data sets;
# measured: 1,102 MB for CIFAR-100, of which the largest (EMNIST) has four times the pixels.
MEMORY_MB = 2000
SIZE = 64  # default height and width for data sets whose images differ in size


class Options(RootOptions):
    """The data set, the folder of its files, and the size of the images."""

    dataset: str = Field(description=f"Name of the data set in torchvision: {', '.join(SETS)}.")
    split: Literal["balanced", "byclass", "bymerge", "digits", "letters", "mnist"] = Field(
        "balanced",
        description="Which variant of EMNIST is used with `dataset: EMNIST`, such as only letters "
        "or only digits. Leave it out for all other data sets.",
    )
    size: int | None = Field(
        None,
        ge=4,
        le=1024,
        description="Height and width to which images are scaled, in pixels. Default: the data "
        f"set's own size, or {SIZE} if its images differ in size.",
    )
    test_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="Share of the examples of each class that is drawn at random as the test set, "
        "for data sets that have no test set of their own.",
    )
    test_seed: Seed = Field(
        0,
        description="Seed of the random choice of test examples, for data sets that have no test "
        "set of their own.",
    )
    flip: bool | None = Field(
        None,
        description="Whether training images are flipped horizontally at random. Default: as usual "
        "for the data set, e.g. yes for CIFAR10, no for MNIST.",
    )
    padding: int | None = Field(
        None,
        ge=0,
        le=256,
        description="Number of black pixels added on each side of a training image before it is "
        "cropped at random to its size. Default: as usual for the data set, e.g. 4 for CIFAR10, 0 "
        "for MNIST.",
    )
    crop: Crop = None

    @field_validator("dataset")
    @classmethod
    def _check_known(cls, value: str) -> str:
        if value not in SETS:
            raise ValueError(unknown_name("data set of torchvision", value, SETS))
        return value

    @model_validator(mode="after")
    def _check_applicable(self) -> Options:
        if "split" in self.model_fields_set and self.dataset != "EMNIST":
            raise ValueError(f"`split` is of EMNIST alone, not of {self.dataset}; leave it out")
        check_crop(self.crop, _side(_facts(self), self), self.padding)
        for key in ("test_share", "test_seed"):
            if key in self.model_fields_set and _facts(self).test:
                raise ValueError(f"`{key}`: {self.dataset} has a test part; leave it out")
        return self


def class_names(options: Options) -> tuple[str, ...] | None:
    """Return the class names; None if they are known only after the download."""
    return _facts(options).names


def cited(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the entries in torchvision.bib that `collateral cite` prints."""
    return "torchvision2016", ENTRIES[options["dataset"]]


def draws_test(options: Options) -> bool:
    """Tell whether the data set comes without a test set, so that a test set is drawn at random."""
    return not _facts(options).test


def size(options: Options) -> DatasetSize:
    """Return the numbers of examples per class, assuming that all classes are equally large."""
    facts = _facts(options)
    names = class_names(options) or tuple(f"class_{index}" for index in range(facts.classes))
    tested = facts.test or round(facts.train * options.test_share)
    train = facts.train if facts.test else facts.train - tested
    side = _side(facts, options)
    shown = options.crop or side
    shape = (shown, shown, facts.channels)
    return DatasetSize(names, _even(train, names), _even(tested, names), shape, side=side)


def open_pieces(options: Options) -> DatasetInPieces:
    """Open the images in the order of torchvision; the labels are read with all images once."""
    import numpy as np

    from collateral.data._readers.decoding import DecodedPieces, inspect
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Labels

    facts = _facts(options)
    parts = open_parts(options.dataset, facts, options)
    total = sum(map(len, parts))
    found = np.full(total, -1, np.int64)

    def read_image(part: Any, index: int, row: int) -> Image.Image:
        image, label = part[index]
        found[row] = int(label)
        return image

    def read_sources() -> Iterator[Source]:
        examples = ((part, index) for part in parts for index in range(len(part)))
        return (partial(read_image, *one, row) for row, one in enumerate(examples))

    names = [f"{options.dataset} {row}" for row in range(total)]
    channels, _ = inspect(read_sources, names, skip_broken=False)
    labels = found - facts.first_label
    is_test = np.arange(total) >= len(parts[0])
    if not facts.test:
        rows = [*map(str, range(total))]
        drawn = draw_groups(labels.tolist(), rows, options.test_share, options.test_seed, set())
        is_test = np.isin(np.arange(total), [*drawn])
    side = _side(facts, options)
    train, test = (
        DecodedPieces(read_sources, names, np.flatnonzero(chosen), side, channels)
        for chosen in (~is_test, is_test)
    )
    known = class_names(options) or _own_names(parts[0], facts)
    return DatasetInPieces(
        train,
        test,
        Labels(labels[~is_test], labels[is_test], known),
        padding=_padding(facts, options),
        flip=facts.flip if options.flip is None else options.flip,
        crop=options.crop or 0,
    )


def load(options: Options) -> Dataset:
    """Load all images into memory."""
    return open_pieces(options).read()


def _facts(options: Options) -> SetFacts:
    return EMNIST[options.split] if options.dataset == "EMNIST" else SETS[options.dataset]


def _side(facts: SetFacts, options: Options) -> int:
    return options.size or facts.side or SIZE


def _padding(facts: SetFacts, options: Options) -> int:
    """Return the padding; the usual one of the data set goes without random-size crops."""
    if options.padding is None:
        return 0 if options.crop else facts.padding
    return options.padding


def _even(total: int, names: tuple[str, ...]) -> tuple[int, ...]:
    each, more = divmod(total, len(names))
    return tuple(each + (place < more) for place in range(len(names)))


def _own_names(part: Any, facts: SetFacts) -> tuple[str, ...]:
    """Return the class names in the files; if names are missing or repeated, class_0, class_1..."""
    found = tuple(
        str(name if isinstance(name, str) else name[0]) for name in getattr(part, "classes", ())
    )
    is_good = len(found) == facts.classes == len({*found})
    return found if is_good else tuple(f"class_{index}" for index in range(facts.classes))
