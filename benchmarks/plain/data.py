"""Data of the plain flow in the style of torchvision, and random images for both flows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms

from collateral.contract.data import ImageInfo
from collateral.results import dataset
from collateral.results.split import Split
from collateral.training.examples import Examples, Images

EVALUATION_BATCH = 256
# Random images have the shape of CIFAR-100, for benchmarks that do not depend on their content.
INFO = ImageInfo(num_classes=100, shape=(32, 32, 3), mean=(0.5,) * 3, std=(0.25,) * 3)
PADDING = 4
BATCH_SIZE = 128


class PlainImages(Dataset[tuple[Tensor, int]]):
    """An array of images; each image is transformed when it is accessed."""

    def __init__(
        self, pixels: NDArray[np.uint8], labels: Sequence[int], padding: int = 0, flip: bool = False
    ) -> None:
        """Set up random crops after padding and random flips, or no augmentation."""
        steps: list[object] = []
        if padding:
            steps.append(transforms.RandomCrop(pixels.shape[1], padding=padding))
        if flip:
            steps.append(transforms.RandomHorizontalFlip())
        self._transform = transforms.Compose([*steps, transforms.ToTensor()])
        self._pixels = pixels.squeeze(3) if pixels.shape[3] == 1 else pixels
        self._labels = [int(label) for label in labels]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """Return one image in [0, 1] and its label."""
        return self._transform(Image.fromarray(self._pixels[index])), self._labels[index]


def loader(
    images: Dataset[tuple[Tensor, int]],
    index: Sequence[int] | None,
    batch_size: int,
    *,
    shuffle: bool = False,
    workers: int = 0,
) -> DataLoader[tuple[Tensor, int]]:
    """Return a loader of the images at `index`, or of all images."""
    part = images if index is None else Subset(images, index)
    return DataLoader(part, batch_size, shuffle=shuffle, num_workers=workers)


@dataclass(frozen=True)
class PlainTask:
    """A data set and its forget set, in the style of torchvision."""

    data: dataset.Dataset
    augmented: PlainImages
    clean: PlainImages
    test: PlainImages
    retain: NDArray[np.int64]
    forget: NDArray[np.int64]
    affected: tuple[int, ...]

    @staticmethod
    def of(data: dataset.Dataset, split: Split) -> "PlainTask":
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


def random_pixels(count: int) -> Tensor:
    """Draw random images."""
    return torch.randint(256, (count, *INFO.shape), dtype=torch.uint8)


def random_examples(count: int) -> Examples:
    """Draw random images and labels."""
    labels = torch.randint(INFO.num_classes, (count,))
    images = Images(random_pixels(count), PADDING, flip=True)
    return Examples(images, torch.arange(count), labels)


def plain_images(examples: Examples) -> PlainImages:
    """Return the same images in the form of the plain flow."""
    pixels = examples.images.pixels.numpy()
    return PlainImages(pixels, examples.labels.tolist(), PADDING, flip=True)
