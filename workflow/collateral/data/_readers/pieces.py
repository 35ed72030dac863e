"""Data sets whose images are read a piece at a time, so that they need not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from collateral.data._readers.pixels import ChannelSums
from collateral.results.arrays import write_in_pieces
from collateral.results.dataset import Dataset, Labels

PIECE_BYTES = 2**25  # bytes of the images in one piece: 32 MB, 222 images of 224 x 224 x 3

Images = NDArray[np.uint8]  # (N, H, W, C)


class Pieces(ABC):
    """The images of a train or test set in a fixed order, as uint8 with channels last."""

    shape: tuple[int, ...]  # (N, H, W, C)
    dtype = np.dtype(np.uint8)

    @abstractmethod
    def __iter__(self) -> Iterator[Images]:
        """Yield the images in order, in arrays of about PIECE_BYTES.

        An array may be overwritten when the next one is asked for.
        """

    @abstractmethod
    def __getitem__(self, rows: NDArray[np.int64]) -> Self:
        """Return the images in these rows, which are ascending; nothing is read yet."""

    def read(self) -> Images:
        """Return all images in memory."""
        images = np.empty(self.shape, self.dtype)
        start = 0
        for piece in self:
            images[start : start + len(piece)] = piece
            start += len(piece)
        return images


@dataclass(frozen=True)
class ArrayPieces(Pieces):
    """Selected rows of an array of images."""

    images: Images
    rows: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of images, height, width and number of channels."""
        return (len(self.rows), *self.images.shape[1:])

    def __iter__(self) -> Iterator[Images]:
        """Yield copies of the rows."""
        count = images_per_piece(self.shape)
        for start in range(0, len(self.rows), count):
            yield self.images[self.rows[start : start + count]]

    def __getitem__(self, rows: NDArray[np.int64]) -> ArrayPieces:
        """Return the images in these rows."""
        return replace(self, rows=self.rows[rows])


def images_per_piece(shape: tuple[int, ...]) -> int:
    """Return the number of images of this shape in a piece."""
    return max(1, PIECE_BYTES // max(1, int(np.prod(shape[1:]))))


@dataclass(frozen=True)
class DatasetInPieces:
    """A data set that is not read yet; fields are those of `Dataset`."""

    train_images: Pieces
    test_images: Pieces
    labels: Labels
    # If mean and std are None, they are those of the train images.
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    padding: int = 0
    flip: bool = False
    crop: int = 0
    patched: NDArray[np.bool_] | None = None
    patch: int = 0

    @classmethod
    def wrap(cls, data: Dataset) -> Self:
        """Return a data set that is in memory already."""
        train, test = (
            ArrayPieces(images, np.arange(len(images)))
            for images in (data.train_images, data.test_images)
        )
        own = {field.name: getattr(data, field.name) for field in fields(data)}
        return cls(**{**own, "train_images": train, "test_images": test})

    def read(self) -> Dataset:
        """Return the data set in memory."""
        sums = ChannelSums()
        train, test = self.train_images.read(), self.test_images.read()
        if self.mean is None:
            sums.add(train)
        return self._with_images(train, test, sums)

    def save(self, path: Path) -> None:
        """Write the same file as `Dataset.save`; only one piece of the images is in memory."""
        write_in_pieces(path, self._arrays())

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        """Yield the arrays of the file by name; mean and std are known after the train images."""
        sums = ChannelSums()
        watched = Watched(self.train_images, sums) if self.mean is None else self.train_images
        yield "train_images", watched
        yield "test_images", self.test_images
        nothing = np.empty((0, *self.train_images.shape[1:]), np.uint8)
        further = self._with_images(nothing, nothing, sums).to_arrays()
        yield from ((name, array) for name, array in further.items() if "_images" not in name)

    def _with_images(self, train: Images, test: Images, sums: ChannelSums) -> Dataset:
        mean, std = (self.mean, self.std) if self.mean and self.std else sums.statistics()
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        images = {"train_images": train, "test_images": test}
        return Dataset(**{**own, **images, "mean": mean, "std": std})


@dataclass(frozen=True)
class Watched:
    """Pieces of images that are added to sums while they are read."""

    pieces: Pieces
    sums: ChannelSums
    dtype = np.dtype(np.uint8)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of images, height, width and number of channels."""
        return self.pieces.shape

    def __iter__(self) -> Iterator[Images]:
        """Yield the images."""
        for piece in self.pieces:
            self.sums.add(piece)
            yield piece


def open_data(module: Any, options: Any) -> DatasetInPieces:
    """Open a data set by its own `open_pieces`, or by `load`, which reads all of it at once."""
    if hasattr(module, "open_pieces"):
        opened: DatasetInPieces = module.open_pieces(options)
        return opened
    return DatasetInPieces.wrap(module.load(options))
