"""Data of the plain flow: images with and without augmentation, and the forget set."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from collateral.results.dataset import Dataset
from collateral.results.split import Split
from plain.images import PlainImages, loader

EVALUATION_BATCH = 256


@dataclass(frozen=True)
class PlainTask:
    """A data set and its forget set, in the style of torchvision."""

    data: Dataset
    augmented: PlainImages
    clean: PlainImages
    test: PlainImages
    retain: NDArray[np.int64]
    forget: NDArray[np.int64]
    affected: tuple[int, ...]

    @staticmethod
    def of(data: Dataset, split: Split) -> "PlainTask":
        """Return the task of a data set and a split."""
        train, test = data.labels.train.tolist(), data.labels.test.tolist()
        return PlainTask(
            data=data,
            augmented=PlainImages(data.train_images, train, data.padding, data.flip),
            clean=PlainImages(data.train_images, train),
            test=PlainImages(data.test_images, test),
            retain=split.retain,
            forget=split.forget,
            affected=split.affected,
        )

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.data.labels.class_names)

    def training(self, index: NDArray[np.int64], size: int) -> DataLoader[tuple[Tensor, int]]:
        """Return shuffled, augmented batches of a part of the train set."""
        return loader(self.augmented, index.tolist(), size, shuffle=True)

    def looking(self, index: NDArray[np.int64] | None) -> DataLoader[tuple[Tensor, int]]:
        """Return clean batches of a part of the train set, or of the test set for None."""
        if index is None:
            return loader(self.test, None, EVALUATION_BATCH)
        return loader(self.clean, index.tolist(), EVALUATION_BATCH)

    def looking_at_test(self, index: NDArray[np.int64]) -> DataLoader[tuple[Tensor, int]]:
        """Return clean batches of a part of the test set."""
        return loader(self.test, index.tolist(), EVALUATION_BATCH)
