"""A data set of single images in the style of torchvision, and loaders over parts of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms


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
