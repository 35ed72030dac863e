"""A folder of parquet files as the Hugging Face hub has them: train-*.parquet, test-*.parquet.

Images are bytes, or a struct {bytes, path}. Labels are text, or whole numbers; the metadata of the
schema may have the names of the classes. Other columns are for `kind: where`. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.columns import Columns
from collateral.contract.data import (
    Broken,
    DataOptions,
    DatasetInfo,
    DatasetSize,
    Flip,
    Padding,
    Side,
    TestBy,
    TestSeed,
    TestShare,
)
from collateral.contract.params import UserPath
from collateral.data._reading.examples import Examples
from collateral.data._reading.test_set import Source, draw_test_set
from collateral.data.forget import where

if TYPE_CHECKING:
    from collateral.data._reading.parquet import Parts
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


class Options(DataOptions):
    """The files, their columns, and the test set."""

    path: UserPath = Field(description="The folder of the .parquet files, or a single one.")
    size: Side = 64
    image: str | None = Field(None, description="The column of images, if there are several.")
    label: str | None = Field(None, description="The column of labels, if its name does not tell.")
    test_share: TestShare = None
    test_seed: TestSeed = 0
    test_by: TestBy = None
    train_where: where.TrainWhere = None
    broken: Broken = "refuse"
    flip: Flip = False
    padding: Padding = 0


def inputs(options: Options) -> list[Path]:
    """Return all files."""
    from collateral.data._reading.parquet import files_of

    return files_of(options.path)


def size(options: Options) -> DatasetSize:
    """Return the number of rows per class; the first rows show whether images have colours."""
    from collateral.data._reading.decoding import num_channels

    parts = _parts(options)
    first = next(_image_batches(parts, options), [])
    shape = (options.size, options.size, num_channels(first))
    return _examples(parts, options).size(shape)


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the further columns of the train set."""
    return _examples(_parts(options), options).train_columns()


def load(options: Options) -> Dataset:
    """Return the images in the order of files and rows; print what was left out or converted."""
    parts = _parts(options)
    if parts.unused:
        listed = ", ".join(str(path.relative_to(parts.folder)) for path in parts.unused)
        print(f"left out, as neither train nor test set: {listed}")
    examples = _examples(parts, options)
    _check_all_there(examples)
    encoded = (image for batch in _image_batches(parts, options) for image in batch)
    image_options = options.size, options.broken, options.padding, options.flip
    return examples.load(encoded, *image_options)


def _image_batches(parts: Parts, options: Options) -> Iterator[list[bytes]]:
    from collateral.data._reading.parquet import image_batches, image_column

    return image_batches((*parts.train, *parts.test), image_column(parts.schema, options.image))


def _parts(options: Options) -> Parts:
    from collateral.data._reading.parquet import parts_of

    _source(options).check_test_share("test_by", "train_where")
    return parts_of(options.path, options.test_share)


def _source(options: Options) -> Source:
    return Source(
        options.path,
        test_share=options.test_share,
        test_seed=options.test_seed,
        test_by=options.test_by,
        train_where=tuple((options.train_where or {}).items()),
    )


def _examples(parts: Parts, options: Options) -> Examples:
    """Return all rows of the train files, then of the test files."""
    from collateral.data._reading.parquet import column_values, label_column, names_of

    column = label_column(parts.schema, options.label)
    train, test = (column_values(files, column) for files in (parts.train, parts.test))
    labels, names = _numbered([*train, *test], column, names_of(parts.schema, column))
    is_test = [row >= len(train) for row in range(len(labels))]
    if not parts.test:
        is_test = _draw_test_set(parts, labels, names, options)

    def read_columns(rows: list[int]) -> Columns:
        if parts.test and rows and rows[0] >= len(train):
            return _further(parts, parts.test, [row - len(train) for row in rows], options)
        return _further(parts, parts.train, rows, options)

    return Examples(names, labels, is_test, [f"row {n}" for n in range(len(labels))], read_columns)


def _draw_test_set(
    parts: Parts, labels: list[int], names: tuple[str, ...], options: Options
) -> list[bool]:
    """Draw the test set from the train files."""
    source, rows = _source(options), range(len(labels))
    reads_columns = source.test_by is not None or source.train_where
    further = _further(parts, parts.train, rows, options) if reads_columns else {}
    stay = where.staying(source.train_where, further)
    chosen = draw_test_set(labels, names, rows, further, source, stay)
    return [row in chosen for row in rows]


def _numbered(
    values: list[Any], column: str, names: tuple[str, ...] | None
) -> tuple[list[int], tuple[str, ...]]:
    """Return labels as whole numbers from 0, and the names of the classes."""
    where = f"data.label: column {column!r}"
    if any(value is None or value == -1 for value in values):
        place = next(i for i, value in enumerate(values) if value is None or value == -1)
        raise ValueError(f"{where}: row {place} has no label")
    if all(isinstance(value, str) for value in values):
        names = tuple(sorted({*values}))
        index = {name: place for place, name in enumerate(names)}
        values = [index[value] for value in values]
    elif not all(type(value) is int for value in values):
        raise ValueError(f"{where}: {type(values[0]).__name__}; expected whole numbers or text")
    names = names or tuple(f"class_{index}" for index in range(max(values, default=0) + 1))
    if wrong := [value for value in values if not 0 <= value < len(names)]:
        named = f", as there are {len(names)} classes" if wrong[0] >= 0 else ""
        raise ValueError(f"{where}: found label {wrong[0]}; expected 0, 1, ...{named}")
    return values, names


def _further(
    parts: Parts, files: Sequence[Path], rows: Sequence[int], options: Options
) -> dict[str, list[Any]]:
    """Return the further columns of some rows; the test files may lack some of them.

    A column with empty values is text, and an empty value is the empty text.
    """
    from collateral.data._reading import parquet

    image = parquet.image_column(parts.schema, options.image)
    label = parquet.label_column(parts.schema, options.label)
    names = parquet.further_columns(parts.schema, image, label)
    if files != parts.train:
        names = parquet.kept_in_all(files, names, image, label)
    found = {name: parquet.column_values(files, name) for name in names}
    for name, values in found.items():
        if None in values:
            found[name] = ["" if value is None else str(value) for value in values]
    paths = parquet.image_paths(files, image)
    own = parquet.file_column([paths[row] for row in rows] if paths else [], names)
    return {name: [values[row] for row in rows] for name, values in found.items()} | own


def _check_all_there(examples: Examples) -> None:
    """Refuse a single class, a class without a train example, and an empty test set."""
    names = examples.class_names
    if len(names) < 2:
        raise ValueError("data.label: one class only; expected at least two")
    train = {examples.labels[row] for row in examples.rows(test=False)}
    if empty := [label for label in range(len(names)) if label not in train]:
        found = f"no train example of class {empty[0]} ({names[empty[0]]!r})"
        raise ValueError(f"data.label: {found}; expected some for each label from 0 on")
    if not any(examples.is_test):
        raise ValueError("data.path: no test example")
