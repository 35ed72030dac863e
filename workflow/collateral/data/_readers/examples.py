"""From a list of examples to the arrays of a data set; all readers of files use this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collateral.contract.conventions import Columns
from collateral.contract.data import DatasetSize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.data._readers.decoding import Source
    from collateral.data._readers.test_set import ImageFileOptions
    from collateral.results.dataset import Dataset, Labels


@dataclass(frozen=True)
class Examples:
    """All examples of a data set in a fixed order; no image has been decoded."""

    class_names: tuple[str, ...]
    labels: Sequence[int]
    is_test: Sequence[bool]
    names: Sequence[str]  # names of the examples for error messages
    # Function that returns the metadata columns of given rows: only train rows, or only test rows.
    read_columns: Callable[[list[int]], Columns]

    def rows(self, *, test: bool) -> list[int]:
        """Return the row numbers of the test set if `test` is true, else of the train set."""
        return [row for row, is_test in enumerate(self.is_test) if is_test == test]

    def size(self, shape: tuple[int, int, int]) -> DatasetSize:
        """Return the number of train and test examples per class."""
        return DatasetSize(self.class_names, self.count(test=False), self.count(test=True), shape)

    def count(self, *, test: bool) -> tuple[int, ...]:
        """Return the number of test examples per class if `test` is true, else of train ones."""
        counts = Counter(self.labels[row] for row in self.rows(test=test))
        return tuple(counts[label] for label in range(len(self.class_names)))

    def train_columns(self) -> tuple[list[int], Columns]:
        """Return the labels and the metadata columns of the train set."""
        rows = self.rows(test=False)
        return [self.labels[row] for row in rows], self.read_columns(rows)

    def load(self, sources: Iterable[Source], options: ImageFileOptions) -> Dataset:
        """Decode all images to one size; print which images were skipped or converted."""
        import numpy as np

        from collateral.data._readers.decoding import decode
        from collateral.results.dataset import Dataset

        decoded = decode(sources, self.names, options.size, skip_broken=options.broken == "skip")
        labels = self._labels(decoded.kept)
        train, test = split(decoded.images, np.array(self.is_test)[decoded.kept])
        return Dataset(train, test, labels, *statistics(train), options.padding, options.flip)

    def _labels(self, kept: NDArray[np.int64]) -> Labels:
        """Return the labels and metadata columns of the decoded rows."""
        import numpy as np

        from collateral.results.dataset import Labels

        decoded = {*kept.tolist()}
        parts = [[row for row in self.rows(test=test) if row in decoded] for test in (False, True)]
        self._check_decoded(*parts)
        train, test = (np.array([self.labels[row] for row in rows], np.int64) for rows in parts)
        columns = [
            {name: np.array(values) for name, values in self.read_columns(rows).items()}
            for rows in parts
        ]
        return Labels(train, test, self.class_names, *columns)

    def _check_decoded(self, train: list[int], test: list[int]) -> None:
        """Raise if a class has no train image, or if the test set is empty."""
        labels = {self.labels[row] for row in train}
        if lost := [name for label, name in enumerate(self.class_names) if label not in labels]:
            raise ValueError(f"data.broken: skip: no image of class {lost[0]!r} can be read")
        if not test:
            raise ValueError("data.broken: skip: no image of the test set can be read")


def split(
    images: NDArray[np.uint8], is_test: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the train and the test images; do not copy them if the test images come last."""
    num_train = int((~is_test).sum())
    if is_test[num_train:].all():
        return images[:num_train], images[num_train:]
    return images[~is_test], images[is_test]


def to_uint8(images: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Scale images from [0, 1] to the nearest integers from 0 to 255."""
    import numpy as np

    return np.rint(images.astype(np.float32) * 255).astype(np.uint8)


def statistics(images: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of each channel (last axis), scaled to [0, 1]."""
    import numpy as np

    count = images[..., 0].size
    # Integer sums are exact and need no float64 copy of the images.
    total = images.sum(axis=(0, 1, 2), dtype=np.int64)
    squares = np.square(images, dtype=np.uint16).sum(axis=(0, 1, 2), dtype=np.int64)
    mean = total / count
    std = np.sqrt(squares / count - mean**2) / 255
    # A constant channel gets standard deviation 1 to avoid division by zero.
    return tuple((mean / 255).tolist()), tuple(float(value) or 1.0 for value in std)
