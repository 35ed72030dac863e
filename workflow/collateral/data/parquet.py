"""Parquet files as on the Hugging Face hub: a folder of train-*.parquet and test-*.parquet.

Images are bytes, or a struct {bytes, path}. Labels are text, or whole numbers; the metadata of the
schema may have the names of the classes. Other columns are metadata (`kind: where`). Needs pyarrow.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from collateral.contract.conventions import Columns
from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.examples import Examples
from collateral.data._readers.parquet import ParquetOptions as Options
from collateral.data._readers.parquet import find_files, list_files

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


def inputs(options: Options) -> list[Path]:
    """Return all parquet files, the inputs of the rule."""
    return list_files(options.path)


def size(options: Options) -> DatasetSize:
    """Return numbers of images per class, and the image shape; a sample decides grey or RGB."""
    from collateral.data._readers.decoding import num_channels

    files = find_files(options)
    channels = num_channels(next(files.read_image_batches(), []))
    return files.examples.size((options.size, options.size, channels))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the metadata columns of the train set."""
    return find_files(options).examples.train_columns()


def load(options: Options) -> Dataset:
    """Return the images in the order of files and rows; print which were skipped or converted."""
    files = find_files(options)
    if files.unused:
        listed = ", ".join(str(path.relative_to(files.folder)) for path in files.unused)
        print(f"left out, as neither train nor test set: {listed}")
    _check_all_there(files.examples)
    encoded = (image for batch in files.read_image_batches() for image in batch)
    return files.examples.load(encoded, options)


def _check_all_there(examples: Examples) -> None:
    """Raise if there is one class only, a class without train examples, or an empty test set."""
    names = examples.class_names
    if len(names) < 2:
        raise ValueError("data.label: one class only; expected at least two")
    train = {examples.labels[row] for row in examples.rows(test=False)}
    if empty := [label for label in range(len(names)) if label not in train]:
        found = f"no train example of class {empty[0]} ({names[empty[0]]!r})"
        raise ValueError(f"data.label: {found}; expected some for each label from 0 on")
    if not any(examples.is_test):
        raise ValueError("data.path: no test example")
