"""A data set as the stages pass it on: images and labels in a fixed order, and what models need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.data import ImageInfo
from collateral.results.arrays import mapped, reading
from collateral.results.files import atomic

COLUMN = "column_"  # before the name of a train column in labels.npz
TEST_COLUMN = "test_column_"

Columns = Mapping[str, NDArray[Any]]  # integers, booleans or text, one for each example


@dataclass(frozen=True)
class Labels:
    """The true labels in data-set order, without the images, and what else is known of them."""

    train: NDArray[np.int64]  # (N,)
    test: NDArray[np.int64]  # (M,)
    class_names: tuple[str, ...]
    columns: Columns = field(default_factory=dict)  # of the train examples: files, subjects
    test_columns: Columns = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write `path`, a small .npz."""
        content: dict[str, Any] = {
            "train": self.train,
            "test": self.test,
            "class_names": self.class_names,
        }
        content |= {f"{COLUMN}{name}": _packed(found) for name, found in self.columns.items()}
        content |= {f"{TEST_COLUMN}{n}": _packed(found) for n, found in self.test_columns.items()}
        with atomic(path) as temporary:
            np.savez(temporary, **content)

    @staticmethod
    def load(path: Path) -> Labels:
        """Read what `save` wrote."""
        with reading(path) as file:
            names = tuple(str(name) for name in file["class_names"])
            columns = [_columns(file, prefix) for prefix in (COLUMN, TEST_COLUMN)]
            return Labels(file["train"], file["test"], names, *columns)


def _packed(column: NDArray[Any]) -> NDArray[Any]:
    """Return text as UTF-8, which takes a quarter of the bytes."""
    return np.char.encode(column, "utf-8") if column.dtype.kind == "U" else column


def _columns(file: Mapping[str, NDArray[Any]], prefix: str) -> Columns:
    found = {name.removeprefix(prefix): file[name] for name in file if name.startswith(prefix)}
    return {
        name: np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column
        for name, column in found.items()
    }


@dataclass(frozen=True)
class Dataset:
    """Images and labels of the train and the test set, and how they may be augmented.

    In its file the labels are without their columns, which labels.npz has.
    """

    train_images: NDArray[np.uint8]  # (N, H, W, C)
    test_images: NDArray[np.uint8]  # (M, H, W, C)
    labels: Labels
    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int = 0  # random crops after padding by so many pixels; 0: none
    flip: bool = False  # random horizontal flips

    @property
    def info(self) -> ImageInfo:
        """What a model must know of this data set."""
        height, width, channels = self.train_images.shape[1:]
        num_classes = len(self.labels.class_names)
        return ImageInfo(num_classes, (height, width, channels), self.mean, self.std)

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        with atomic(path) as temporary:
            np.savez(
                temporary,
                train_images=self.train_images,
                test_images=self.test_images,
                train_labels=self.labels.train,
                test_labels=self.labels.test,
                class_names=self.labels.class_names,
                mean=self.mean,
                std=self.std,
                padding=self.padding,
                flip=self.flip,
            )

    @staticmethod
    def load(path: Path) -> Dataset:
        """Read what `save` wrote; images stay on disk until they are looked at."""
        with reading(path) as file:
            names = tuple(str(name) for name in file["class_names"])
            return Dataset(
                train_images=mapped(path, "train_images"),
                test_images=mapped(path, "test_images"),
                labels=Labels(file["train_labels"], file["test_labels"], names),
                mean=tuple(file["mean"].tolist()),
                std=tuple(file["std"].tolist()),
                padding=int(file["padding"]),
                flip=bool(file["flip"]),
            )
