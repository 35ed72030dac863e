"""Files with data of examples: dataset.npz, labels.npz, neighbours.npz and pictures.npz."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import Showing
from collateral.contract.data import ImageInfo
from collateral.results.arrays import ArrayFile, map_array, open_arrays

COLUMN = "column_"  # prefix of the names of metadata columns in labels.npz
TEST_COLUMN = "test_column_"

Columns = Mapping[str, NDArray[Any]]  # by column name: an integer, boolean or text per example


@dataclass(frozen=True)
class Labels(ArrayFile):
    """True labels in data-set order, class names, and metadata of the examples; no images."""

    train: NDArray[np.int64]  # (N,)
    test: NDArray[np.int64]  # (M,)
    class_names: tuple[str, ...]
    columns: Columns = field(default_factory=dict)  # metadata of train examples, by column name
    test_columns: Columns = field(default_factory=dict)

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that the file stores, by name."""
        labels = {"train": self.train, "test": self.test, "class_names": self.class_names}
        columns = {f"{COLUMN}{name}": _encode(c) for name, c in self.columns.items()}
        test_columns = {f"{TEST_COLUMN}{name}": _encode(c) for name, c in self.test_columns.items()}
        return {**labels, **columns, **test_columns}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild the labels from the arrays that `to_arrays` returned."""
        names = tuple(str(name) for name in arrays["class_names"])
        columns = [_decode_columns(arrays, prefix) for prefix in (COLUMN, TEST_COLUMN)]
        return cls(arrays["train"], arrays["test"], names, *columns)


def _encode(column: NDArray[Any]) -> NDArray[Any]:
    """Encode a text column as UTF-8 to save memory; return any other column unchanged."""
    return np.char.encode(column, "utf-8") if column.dtype.kind == "U" else column


def _decode_columns(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Columns:
    columns = {n.removeprefix(prefix): arrays[n] for n in arrays if n.startswith(prefix)}
    return {
        name: np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column
        for name, column in columns.items()
    }


@dataclass(frozen=True)
class Dataset(ArrayFile):
    """Images and labels of the train and the test set, and how images may be augmented.

    The file does not contain the columns of the labels; they are in labels.npz.
    """

    train_images: NDArray[np.uint8]  # (N, H, W, C)
    test_images: NDArray[np.uint8]  # (M, H, W, C)
    labels: Labels
    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int = 0  # number of pixels of padding before random crops; 0 means no crops
    flip: bool = False  # whether training flips images at random
    # Side of the images that models are given: random-size crops of it in training, the centre in
    # evaluation. 0: images are given as they are stored.
    crop: int = 0
    # Train images on which a white square is drawn at the bottom right (bool, one per image), and
    # its side. The stored images are without it.
    patched: NDArray[np.bool_] | None = None
    patch: int = 0

    @property
    def info(self) -> ImageInfo:
        """Number of classes, normalisation and shape of the images that models are given."""
        height, width, channels = self.train_images.shape[1:]
        if self.crop:
            height = width = self.crop
        num_classes = len(self.labels.class_names)
        return ImageInfo(num_classes, (height, width, channels), self.mean, self.std)

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that the file stores, by name."""
        return {
            "train_images": self.train_images,
            "test_images": self.test_images,
            "train_labels": self.labels.train,
            "test_labels": self.labels.test,
            "class_names": self.labels.class_names,
            "mean": self.mean,
            "std": self.std,
            "padding": self.padding,
            "flip": self.flip,
            **({"crop": self.crop} if self.crop else {}),
            **({} if self.patched is None else {"patched": self.patched, "patch": self.patch}),
        }

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote; images stay on disk until they are accessed."""
        with open_arrays(path) as file:
            names = tuple(str(name) for name in file["class_names"])
            return cls(
                train_images=map_array(path, "train_images"),
                test_images=map_array(path, "test_images"),
                labels=Labels(file["train_labels"], file["test_labels"], names),
                mean=tuple(file["mean"].tolist()),
                std=tuple(file["std"].tolist()),
                padding=int(file["padding"]),
                flip=bool(file["flip"]),
                crop=int(file["crop"]) if "crop" in file else 0,
                patched=file.get("patched"),
                patch=int(file["patch"]) if "patch" in file else 0,
            )


@dataclass(frozen=True)
class Neighbours(ArrayFile):
    """Similarity of each example to the forget set, per seed, and a list of the most similar."""

    seeds: NDArray[np.int64]  # seed of each row of the next three arrays
    train_similarity: NDArray[np.float32]  # (seeds, train examples), similarity to forget set
    test_similarity: NDArray[np.float32]  # (seeds, test examples), similarity to forget set
    # (seeds, classes), similarity of each class's mean features to the forget set.
    class_similarity: NDArray[np.float32]
    shown_set: NDArray[np.str_]  # set of each listed example: train (retained), test, forget
    shown_index: NDArray[np.int64]  # index of each listed example in the test or the train set
    # The next five arrays are None in files of older versions.

    # For each listed example: the forget example nearest to it, as a position in this list.
    shown_nearest: NDArray[np.int64] | None = None
    # One row per retained copy of a forgotten image: train indices of both images,
    # and the number of bits in which their hashes differ (-1 for an exact copy).
    copies: NDArray[np.int64] | None = None
    # Height and width of the listed images in pixels.
    image_size: NDArray[np.int64] | None = None
    # One row per test image that is equal to a train image: their indices in both sets. The train
    # image is a forgotten one if there is such a copy.
    test_copies: NDArray[np.int64] | None = None
    # Smallest and largest pixel value of the data set, and number of images with one value only.
    pixels: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Pictures(ArrayFile):
    """Images that the report page may show.

    Their examples are listed in neighbours.npz. The examples that a method hurts most and that are
    not in that list follow it: their subsets (train or test) and indices are stored here.
    """

    keep: Showing  # which images the config allows to show: "none", "retained" or "all"
    place: NDArray[np.int64]  # position of each image in the list of examples, ascending
    images: NDArray[np.uint8]  # (P, H, W, C)
    # Subset and index of the examples that follow the list; None in files of older versions.
    hurt_set: NDArray[np.str_] | None = None
    hurt_index: NDArray[np.int64] | None = None

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild the pictures from the arrays that `to_arrays` returned."""
        found = super().from_arrays(arrays)
        return replace(found, keep=cast(Showing, str(arrays["keep"])))
