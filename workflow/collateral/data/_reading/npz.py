"""Images and labels from .npz files; errors name file and key, what is there and should be."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.data import DatasetSize
from collateral.contract.spelling import looked_for
from collateral.data._reading.pixels import to_uint8
from collateral.results.dataset import Labels

IMAGE_SHAPES = "(N, H, W), (N, H, W, 1) or (N, H, W, 3)"
TRAIN_KEYS = [("train_images", "train_labels")]
TEST_KEYS = [("test_images", "test_labels")]
OWN_FILE_KEYS = [("images", "labels"), ("X", "y")]
IMAGE_KEYS, LABEL_KEYS = zip(*TRAIN_KEYS, *TEST_KEYS, *OWN_FILE_KEYS, strict=True)


@dataclass(frozen=True)
class Part:
    """The train or the test set, and how errors call its arrays."""

    images: NDArray[np.uint8]  # (N, H, W, C)
    labels: NDArray[np.int64]  # (N,)
    images_at: str
    labels_at: str


@dataclass(frozen=True)
class Head:
    """The shape of the images, the labels, and the classes' names where there are some."""

    shape: tuple[int, ...]
    labels: NDArray[np.int64]
    labels_at: str
    class_names: NDArray[Any] | None


def read(path: Path, test_path: Path | None) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Labels]:
    """Return train images, test images and labels of one file, or of a train and a test file."""
    file = _open("data.path", path)
    if test_path is None:
        train = _part(file, f"data.path: {path}", TRAIN_KEYS)
        test = _part(file, f"data.path: {path}", TEST_KEYS)
    else:
        train = _part(file, f"data.path: {path}", OWN_FILE_KEYS)
        test_file = _open("data.test_path", test_path)
        test = _part(test_file, f"data.test_path: {test_path}", OWN_FILE_KEYS)
    if train.images.shape[1:] != test.images.shape[1:]:
        shapes = f"{test.images.shape[1:]}, but train images {train.images.shape[1:]}"
        raise ValueError(f"{test.images_at}: images have shape (H, W, C) = {shapes}")
    names = _class_names(file.get("class_names"), f"data.path: {path}: class_names", train.labels)
    for part in (train, test):
        _check_range(part.labels, part.labels_at, len(names))
    _check_all_there(train, names)
    columns = _columns(file, len(train.labels))
    return train.images, test.images, Labels(train.labels, test.labels, names, columns)


def read_size(path: Path, test_path: Path | None) -> DatasetSize:
    """Return how much data one file holds, or a train and a test file; no image is read."""
    own = test_path is not None
    train = _head("data.path", path, OWN_FILE_KEYS if own else TRAIN_KEYS)
    test = _head(
        "data.test_path" if own else "data.path",
        test_path or path,
        OWN_FILE_KEYS if own else TEST_KEYS,
    )
    names = _class_names(train.class_names, f"data.path: {path}: class_names", train.labels)
    height, width, channels = (*train.shape[1:], 1)[:3]
    counts = _counts(train, len(names)), _counts(test, len(names))
    return DatasetSize(names, *counts, (height, width, channels))


def _counts(part: Head, num_classes: int) -> tuple[int, ...]:
    """Return how many examples there are of each class."""
    _check_range(part.labels, part.labels_at, num_classes)
    return tuple(np.bincount(part.labels, minlength=num_classes).tolist())


def read_columns(path: Path, test_path: Path | None) -> tuple[list[int], dict[str, list[Any]]]:
    """Return the train labels, and the further columns of the train set; no image is read."""
    pairs = TRAIN_KEYS if test_path is None else OWN_FILE_KEYS
    with _opened("data.path", path) as file:
        arrays = {name: file[name] for name in file.files if name not in IMAGE_KEYS}
        _, labels_key = _keys(file.files, f"data.path: {path}", pairs)
    labels = arrays[labels_key]
    found = _columns(arrays, len(labels))
    return labels.tolist(), {name: column.tolist() for name, column in found.items()}


def _columns(file: Mapping[str, NDArray[Any]], num_train: int) -> dict[str, NDArray[Any]]:
    """Return what is neither images nor labels, and has a number or a text for each train image."""
    return {
        name.removeprefix("train_"): array
        for name, array in file.items()
        if name not in (*IMAGE_KEYS, *LABEL_KEYS, "class_names")
        and not name.startswith("test_")
        and array.shape == (num_train,)
        and array.dtype.kind in "iubU"
    }


def _head(key: str, path: Path, pairs: list[tuple[str, str]]) -> Head:
    """Return what a file says of its images without reading them."""
    at = f"{key}: {path}"
    with _opened(key, path) as file:
        names = file.files
    images_key, labels_key = _keys(names, at, pairs)
    with _opened(key, path) as file:
        shape, labels = _shape(file.zip, images_key), file[labels_key]
        class_names = file["class_names"] if "class_names" in names else None
    labels_at = f"{at}: {labels_key}"
    return Head(shape, _labels(labels, labels_at), labels_at, class_names)


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    """Return an array's shape from the head of its file."""
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        return read(file)[0]


def _open(key: str, path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz file; nothing is unpickled."""
    with _opened(key, path) as file:
        return {name: file[name] for name in file.files}


@contextmanager
def _opened(key: str, path: Path) -> Iterator[Any]:
    """Yield an .npz file; whatever is wrong with it while it is read, the error names it."""
    path = _checked(key, path)
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    # Damage has as many names as there are places for it.
    except Exception as error:
        raise ValueError(f"{key}: cannot read {path}: {error}") from None


def _checked(key: str, path: Path) -> Path:
    """Return the path of an .npz file that is there."""
    path = path.expanduser()
    if not path.is_file():
        raise ValueError(f"{key}: there is no file {path}{looked_for(path)}")
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{key}: {path} is not an .npz file (as numpy.savez writes it) or is cut off"
        )
    return path


def _part(file: dict[str, NDArray[Any]], at: str, pairs: list[tuple[str, str]]) -> Part:
    """Return the first of `pairs` that `file` has, checked."""
    images_key, labels_key = _keys(list(file), at, pairs)
    images_at, labels_at = f"{at}: {images_key}", f"{at}: {labels_key}"
    images, labels = _images(file[images_key], images_at), _labels(file[labels_key], labels_at)
    if len(images) != len(labels):
        raise ValueError(f"{labels_at}: {len(labels)} labels for {len(images)} {images_key}")
    return Part(images, labels, images_at, labels_at)


def _keys(names: list[str], at: str, pairs: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the first of `pairs` that are both among `names`."""
    for pair in pairs:
        if set(pair) <= set(names):
            return pair
    wanted = " or ".join(f"{images} and {labels}" for images, labels in pairs)
    raise ValueError(f"{at}: has {', '.join(names) or 'nothing'}; expected {wanted}")


def _images(array: NDArray[Any], at: str) -> NDArray[np.uint8]:
    """Return `array` as uint8 (N, H, W, C)."""
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
    """Say how many values are NaN or infinite, in how many images, and where the first is."""
    places = np.argwhere(~np.isfinite(images))
    pixels = "1 value is" if len(places) == 1 else f"{len(places)} values are"
    where = f"in {len(np.unique(places[:, 0]))} of {len(images)} images"
    first = f"[{', '.join(map(str, places[0]))}]"
    return f"{pixels} NaN or infinite, {where}, the first at {first}"


def _labels(array: NDArray[Any], at: str) -> NDArray[np.int64]:
    """Return `array` as int64 (N,)."""
    if array.ndim != 1:
        raise ValueError(f"{at}: shape {array.shape}; expected (N,)")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{at}: dtype {array.dtype}; expected integers")
    return array.astype(np.int64)


def _class_names(
    array: NDArray[Any] | None, at: str, train_labels: NDArray[np.int64]
) -> tuple[str, ...]:
    """Return the names in `array`, or class_0, class_1, ... for the different train labels."""
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


def _check_range(labels: NDArray[np.int64], at: str, num_classes: int) -> None:
    wrong = labels[(labels < 0) | (labels >= num_classes)]
    if len(wrong):
        allowed = f"0 to {num_classes - 1}, as there are {num_classes} classes"
        raise ValueError(f"{at}: found label {wrong[0]}; expected {allowed}")


def _check_all_there(train: Part, names: tuple[str, ...]) -> None:
    """Refuse a single class, and names without a train example."""
    if len(names) < 2:
        raise ValueError(f"{train.labels_at}: one class only; expected at least two")
    empty = np.flatnonzero(np.bincount(train.labels, minlength=len(names)) == 0)
    if len(empty):
        found = f"no example of class {empty[0]} ('{names[empty[0]]}')"
        raise ValueError(
            f"{train.labels_at}: {found}; expected some for all {len(names)} class_names"
        )
