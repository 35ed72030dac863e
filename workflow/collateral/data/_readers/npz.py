"""Read images and labels from .npz files; errors name the file, the array and what is expected."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from collateral.contract.messages import listed, looked_for, quoted
from collateral.data._readers import pieces
from collateral.data._readers.examples import Examples, join_columns
from collateral.data._readers.pieces import Images, Pieces
from collateral.data._readers.pixels import to_uint8

READ_BYTES = 2**18  # bytes that are read at a time

IMAGES = "uint8, or floats from 0 to 1, of shape (N, H, W), (N, H, W, 1) or (N, H, W, 3)"
CLASS_NAMES = "class_names"
# Names of the arrays of images and labels.
# OWN_FILE_KEYS are used if the train set and the test set are in separate files.
TRAIN_KEYS = [("train_images", "train_labels")]
TEST_KEYS = [("test_images", "test_labels")]
OWN_FILE_KEYS = [("images", "labels"), ("X", "y")]
KNOWN = {key for pair in (*TRAIN_KEYS, *TEST_KEYS, *OWN_FILE_KEYS) for key in pair} | {CLASS_NAMES}


@dataclass(frozen=True)
class Part:
    """The train set or the test set in an .npz file; `open_images` reads the images later."""

    key: str  # config key of the file: data.path or data.test_path
    path: Path
    images_key: str
    labels_key: str
    shape: tuple[int, ...]  # shape of the array of images
    labels: NDArray[Any]
    columns: dict[str, list[Any]]
    class_names: NDArray[Any] | None

    def wrong(self, array: str, found: Any, expected: str) -> ValueError:
        """Return an error that names the file, the array, what was found and what is expected."""
        return ValueError(f"{self.key}: {self.path}: {array}: {found}; expected {expected}")

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Height, width and number of channels."""
        return (*self.shape[1:], 1)[:3]

    def read_pieces(self) -> Iterator[NDArray[Any]]:
        """Yield the images as stored, in order, in arrays of about PIECE_BYTES.

        An array is overwritten when the next one is asked for.
        """
        with _open(self.key, self.path) as file, file.zip.open(f"{self.images_key}.npy") as array:
            shape, by_columns, dtype = _read_header(array)
            if by_columns:  # The values of an image are all over the file.
                yield file[self.images_key]
                return
            each = dtype.itemsize * int(np.prod(shape[1:]))
            images = np.empty((max(1, pieces.PIECE_BYTES // each), *shape[1:]), dtype)
            for start in range(0, shape[0], len(images)):
                piece = images[: shape[0] - start]
                _read_into(piece, array)
                yield piece
            array.read(1)  # At the end, zipfile compares the checksum.

    def check_range(self) -> None:
        """Raise if the images are floats that are not from 0 to 1; this reads all of them."""
        found = [(piece.dtype, piece.min(), piece.max()) for piece in self._read_floats()]
        if not found:
            return
        dtypes, lows, highs = zip(*found, strict=True)
        low, high = np.min(lows), np.max(highs)
        # Floats up to 1 / 255 were divided by 255 twice, or are of another range.
        if not (low >= 0 and 1 / 255 < high <= 1):
            found_text = f"{dtypes[0]} of shape {self.shape}, from {low:g} to {high:g}"
            raise self.wrong(self.images_key, found_text, IMAGES)

    def _read_floats(self) -> Iterator[NDArray[Any]]:
        """Yield the images as stored if they are floats; yield nothing if they are uint8."""
        for piece in self.read_pieces():
            if piece.dtype == np.uint8:
                return
            yield piece

    def check(self, dtype: np.dtype[Any]) -> None:
        """Raise if the array of images has a wrong shape or type, or if labels do not fit it."""
        shape, labels = self.shape, self.labels
        is_shape = len(shape) in (3, 4) and (*shape, 1)[3] in (1, 3) and 0 not in shape
        if not is_shape or not (dtype == np.uint8 or dtype.kind == "f"):
            expected = f"{IMAGES}, and at least one image"
            raise self.wrong(self.images_key, f"{dtype} of shape {shape}", expected)
        if not np.issubdtype(labels.dtype, np.integer) or labels.shape != shape[:1]:
            expected = f"integers of shape {shape[:1]}, one per image"
            raise self.wrong(self.labels_key, f"{labels.dtype} of shape {labels.shape}", expected)


def read_parts(path: Path, test_path: Path | None) -> tuple[Part, Part]:
    """Read the train set and the test set from one file, or from two separate files."""
    if test_path is None:
        train = _read_part("data.path", path, TRAIN_KEYS, "train_")
        return train, _read_part("data.path", path, TEST_KEYS, "test_")
    train = _read_part("data.path", path, OWN_FILE_KEYS, "train_")
    return train, _read_part("data.test_path", test_path, OWN_FILE_KEYS, "test_")


def _read_part(key: str, path: Path, pairs: list[tuple[str, str]], prefix: str) -> Part:
    """Read labels and metadata of one set; `pairs` are the possible names of images and labels."""
    with _open(key, path) as file:
        pair = next((pair for pair in pairs if {*pair} <= {*file.files}), None)
        if pair is None:
            wanted = " or ".join(f"{images} and {labels}" for images, labels in pairs)
            raise ValueError(f"{listed('arrays', file.files)}; expected {wanted}")
        with file.zip.open(f"{pair[0]}.npy") as array:
            shape, _, dtype = _read_header(array)
        labels, names = file[pair[1]], file[CLASS_NAMES] if CLASS_NAMES in file.files else None
        columns = _read_columns(file, prefix, labels.shape, is_shared=pairs == TEST_KEYS)
    part = Part(key, path, *pair, shape, labels, columns, names)
    part.check(dtype)
    return part


def _read_columns(
    file: Any, prefix: str, shape: tuple[int, ...], *, is_shared: bool
) -> dict[str, list[Any]]:
    """Return the metadata columns: further arrays with one integer, boolean or text per image.

    Arrays of the other set are left out; in a file that is shared by both sets, those of the test
    set have names that begin with test_.
    """
    names = [name for name in file.files if name.startswith(prefix) or not is_shared]
    other = "test_" if prefix == "train_" else "train_"
    arrays = {n: file[n] for n in names if n not in KNOWN and not n.startswith(other)}
    return {
        name.removeprefix(prefix): array.tolist()
        for name, array in arrays.items()
        if array.shape == shape and array.dtype.kind in "iubU"
    }


def read_examples(train: Part, test: Part) -> Examples:
    """Return class names, labels and metadata of both sets; raise if a label has no class name."""
    numbers = [part.labels.astype(np.int64).tolist() for part in (train, test)]
    names = tuple(f"class_{index}" for index in range(len({*numbers[0]})))
    if (given := train.class_names) is not None:
        if given.ndim != 1 or given.dtype.kind != "U" or len({*given.tolist()}) != len(given):
            raise train.wrong(CLASS_NAMES, quoted(given.tolist()), "a list of different strings")
        names = tuple(given.tolist())
    for part, labels in zip((train, test), numbers, strict=True):
        if wrong := [label for label in labels if not 0 <= label < len(names)]:
            expected = f"0 to {len(names) - 1}, as there are {len(names)} classes"
            raise part.wrong(part.labels_key, wrong[0], expected)
    labels = [*numbers[0], *numbers[1]]
    is_test = [row >= len(numbers[0]) for row in range(len(labels))]
    columns = join_columns(train.columns, len(numbers[0]), test.columns, len(numbers[1]))
    return Examples(names, labels, is_test, [""] * len(labels), columns)


@dataclass(frozen=True)
class StoredPieces(Pieces):
    """Selected images of a part, which are read from its file, and converted, piece by piece."""

    part: Part
    rows: NDArray[np.int64]  # ascending

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of images, height, width and number of channels."""
        return (len(self.rows), *self.part.image_shape)

    def __iter__(self) -> Iterator[Images]:
        """Yield the images as uint8, with channels in the last axis."""
        start = 0
        for piece in self.part.read_pieces():
            first, last = np.searchsorted(self.rows, [start, start + len(piece)])
            images = piece[self.rows[first:last] - start]
            if len(images):
                images = images if images.dtype == np.uint8 else to_uint8(images)
                yield images.reshape(-1, *self.part.image_shape)
            start += len(piece)

    def __getitem__(self, rows: NDArray[np.int64]) -> StoredPieces:
        """Return the images in these rows."""
        return replace(self, rows=self.rows[rows])


def open_images(part: Part) -> StoredPieces:
    """Return all images of a part, which are read later; floats are read once to check them."""
    part.check_range()
    return StoredPieces(part, np.arange(part.shape[0]))


def _read_header(array: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and type of an array in a file of numpy."""
    version = npy.read_magic(array)[0]
    found: tuple[tuple[int, ...], bool, np.dtype[Any]]
    found = getattr(npy, f"read_array_header_{version}_0")(array)
    return found


def _read_into(piece: NDArray[Any], array: IO[bytes]) -> None:
    """Fill an array with the next bytes of a file."""
    content = piece.reshape(-1).view(np.uint8)
    # A member of a zip archive is read in parts, since zipfile joins what it decompresses.
    for start in range(0, len(content), READ_BYTES):
        part = content[start : start + READ_BYTES]
        part[:] = np.frombuffer(array.read(len(part)), np.uint8)


@contextmanager
def _open(key: str, path: Path) -> Iterator[Any]:
    """Open an .npz file; errors that occur while the file is read name the file."""
    path = path.expanduser()
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{key}: {path}: no .npz file of numpy.savez there{looked_for(path)}")
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    # A damaged file raises errors of many types, depending on the position of the damage.
    except Exception as error:
        raise ValueError(f"{key}: cannot read {path}: {error}") from None
