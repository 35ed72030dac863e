"""Images and labels from .npz files; errors name the file, the array, its value and the remedy."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.messages import looked_for
from collateral.data._readers.examples import Examples, to_uint8
from collateral.results.dataset import Labels

IMAGE_SHAPES = "(N, H, W), (N, H, W, 1) or (N, H, W, 3)"
# Names of the arrays of images and labels; OWN_FILE_KEYS if train and test set have a file each.
TRAIN_KEYS = [("train_images", "train_labels")]
TEST_KEYS = [("test_images", "test_labels")]
OWN_FILE_KEYS = [("images", "labels"), ("X", "y")]
IMAGE_KEYS, LABEL_KEYS = zip(*TRAIN_KEYS, *TEST_KEYS, *OWN_FILE_KEYS, strict=True)


@dataclass(frozen=True)
class Part:
    """The train or the test set in its file; images are read on demand."""

    key: str  # config key of the file: data.path or data.test_path
    path: Path
    images_key: str
    labels_key: str
    labels: NDArray[np.int64]  # (N,)

    def at(self, array: str) -> str:
        """Return the position of an array for an error message: config key, file and array name."""
        return f"{self.key}: {self.path}: {array}"

    def shape(self) -> tuple[int, int, int]:
        """Return (H, W, C) of the images from the header of the array."""
        with _open(self.key, self.path) as file, file.zip.open(f"{self.images_key}.npy") as array:
            version = np.lib.format.read_magic(array)[0]
            read = getattr(np.lib.format, f"read_array_header_{version}_0")
            height, width, channels = (*read(array)[0][1:], 1)[:3]
        return height, width, channels

    def read_images(self) -> NDArray[np.uint8]:
        """Read the images as uint8, with channels in the last axis."""
        with _open(self.key, self.path) as file:
            array = file[self.images_key]
        images = _images(array, self.at(self.images_key))
        if len(images) != len(self.labels):
            count = f"{len(self.labels)} labels for {len(images)} {self.images_key}"
            raise ValueError(f"{self.at(self.labels_key)}: {count}")
        return images


def read(path: Path, test_path: Path | None) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Labels]:
    """Return train images, test images and labels of one file, or of a train and a test file."""
    train, test = _find_parts(path, test_path)
    train_images, test_images = train.read_images(), test.read_images()
    if train_images.shape[1:] != test_images.shape[1:]:
        shapes = f"{test_images.shape[1:]}, but train images {train_images.shape[1:]}"
        raise ValueError(f"{test.at(test.images_key)}: images have shape (H, W, C) = {shapes}")
    names = _check_labels(train, test)
    _check_all_there(train, names)
    columns = _read_columns(train, "train_"), _read_columns(test, "test_")
    labels = Labels(train.labels, test.labels, names, *columns)
    return train_images, test_images, labels


def read_examples(path: Path, test_path: Path | None) -> tuple[Examples, tuple[int, int, int]]:
    """Return labels and columns of both sets, and the shape of an image; no image is read."""
    train, test = _find_parts(path, test_path)
    names, labels = _check_labels(train, test), [*train.labels.tolist(), *test.labels.tolist()]
    is_test = [row >= len(train.labels) for row in range(len(labels))]

    def read_columns(_rows: list[int]) -> dict[str, list[Any]]:
        return {name: column.tolist() for name, column in _read_columns(train, "train_").items()}

    return Examples(names, labels, is_test, [], read_columns), train.shape()


def _find_parts(path: Path, test_path: Path | None) -> tuple[Part, Part]:
    if test_path is None:
        train, test = (_find_part("data.path", path, keys) for keys in (TRAIN_KEYS, TEST_KEYS))
        return train, test
    train = _find_part("data.path", path, OWN_FILE_KEYS)
    return train, _find_part("data.test_path", test_path, OWN_FILE_KEYS)


def _find_part(key: str, path: Path, pairs: list[tuple[str, str]]) -> Part:
    """Return the images and labels in a file, under the first pair of names that the file has."""
    with _open(key, path) as file:
        names = file.files
    found = next((pair for pair in pairs if {*pair} <= {*names}), None)
    if found is None:
        wanted = " or ".join(f"{images} and {labels}" for images, labels in pairs)
        raise ValueError(f"{key}: {path}: has {', '.join(names) or 'nothing'}; expected {wanted}")
    with _open(key, path) as file:
        labels = file[found[1]]
    return Part(key, path, *found, _labels(labels, f"{key}: {path}: {found[1]}"))


def _check_labels(train: Part, test: Part) -> tuple[str, ...]:
    """Return the names of the classes; raise if a label has no name."""
    with _open(train.key, train.path) as file:
        array = file["class_names"] if "class_names" in file.files else None
    names = _class_names(array, train.at("class_names"), train.labels)
    for part in (train, test):
        wrong = part.labels[(part.labels < 0) | (part.labels >= len(names))]
        if len(wrong):
            allowed = f"0 to {len(names) - 1}, as there are {len(names)} classes"
            found = f"found label {wrong[0]}; expected {allowed}"
            raise ValueError(f"{part.at(part.labels_key)}: {found}")
    return names


def _read_columns(part: Part, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the other arrays that have one whole number, truth value or text per image.

    Arrays of the other set are left out; in a file of both sets, those of the test set have names
    that begin with test_.
    """
    known, other = (*IMAGE_KEYS, *LABEL_KEYS, "class_names"), {"train_": "test_", "test_": "train_"}
    needs_prefix = part.images_key == "test_images"
    with _open(part.key, part.path) as file:
        names = [name for name in file.files if name not in known]
        names = [name for name in names if not name.startswith(other[prefix])]
        names = [name for name in names if name.startswith(prefix) or not needs_prefix]
        arrays = {name.removeprefix(prefix): file[name] for name in names}
    kept = {name: array.shape == part.labels.shape for name, array in arrays.items()}
    return {name: arrays[name] for name in kept if kept[name] and arrays[name].dtype.kind in "iubU"}


@contextmanager
def _open(key: str, path: Path) -> Iterator[Any]:
    """Open an .npz file; every error while it is read names the file."""
    path = path.expanduser()
    if not path.is_file():
        raise ValueError(f"{key}: there is no file {path}{looked_for(path)}")
    if not zipfile.is_zipfile(path):
        problem = "is not an .npz file (as numpy.savez writes it) or is cut off"
        raise ValueError(f"{key}: {path} {problem}")
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    # A damaged file raises errors of many types, depending on the position of the damage.
    except Exception as error:
        raise ValueError(f"{key}: cannot read {path}: {error}") from None


def _images(array: NDArray[Any], at: str) -> NDArray[np.uint8]:
    """Convert `array` to uint8 images, channels in the last axis; raise if that is impossible."""
    images = array[..., None] if array.ndim == 3 else array
    if images.ndim != 4 or images.shape[3] not in (1, 3):
        raise ValueError(f"{at}: shape {array.shape}; expected {IMAGE_SHAPES}")
    if not images.size:
        raise ValueError(f"{at}: shape {array.shape} has no pixel; expected at least one image")
    if images.dtype == np.uint8:
        return images
    if not np.issubdtype(images.dtype, np.floating):
        raise ValueError(f"{at}: dtype {images.dtype}; expected uint8, or floats from 0 to 1")
    low, high = float(images.min()), float(images.max())
    if not np.isfinite([low, high]).all():
        raise ValueError(f"{at}: {_not_finite(images)}; expected floats from 0 to 1")
    if low < 0 or high > 1:
        raise ValueError(f"{at}: floats from {low:g} to {high:g}; expected 0 to 1, not normalised")
    return to_uint8(images)


def _not_finite(images: NDArray[np.floating]) -> str:
    """Describe values that are NaN or infinite: their number, images and first position."""
    places = np.argwhere(~np.isfinite(images))
    pixels = "1 value is" if len(places) == 1 else f"{len(places)} values are"
    where = f"in {len(np.unique(places[:, 0]))} of {len(images)} images"
    first = f"[{', '.join(map(str, places[0]))}]"
    return f"{pixels} NaN or infinite, {where}, the first at {first}"


def _labels(array: NDArray[Any], at: str) -> NDArray[np.int64]:
    """Convert `array` to one int64 label per image; raise if that is impossible."""
    if array.ndim != 1:
        raise ValueError(f"{at}: shape {array.shape}; expected (N,)")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{at}: dtype {array.dtype}; expected integers")
    return array.astype(np.int64)


def _class_names(
    array: NDArray[Any] | None, at: str, train_labels: NDArray[np.int64]
) -> tuple[str, ...]:
    """Return the class names in `array`, or class_0, class_1, ... if it is None."""
    if array is None:
        return tuple(f"class_{index}" for index in range(len(np.unique(train_labels))))
    if array.ndim != 1 or array.dtype.kind != "U":
        raise ValueError(
            f"{at}: dtype {array.dtype}, shape {array.shape}; expected a list of strings"
        )
    names = tuple(str(name) for name in array)
    if len(set(names)) != len(names):
        twice = sorted(name for name in set(names) if names.count(name) > 1)
        raise ValueError(f"{at}: {twice} more than once; expected different names")
    return names


def _check_all_there(train: Part, names: tuple[str, ...]) -> None:
    """Raise if there is only one class, or if a class has no train example."""
    at = train.at(train.labels_key)
    if len(names) < 2:
        raise ValueError(f"{at}: one class only; expected at least two")
    empty = np.flatnonzero(np.bincount(train.labels, minlength=len(names)) == 0)
    if len(empty):
        found = f"no example of class {empty[0]} ('{names[empty[0]]}')"
        raise ValueError(f"{at}: {found}; expected some for all {len(names)} class_names")
