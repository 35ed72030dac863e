"""A folder of parquet files as the hub serves them: train-*.parquet and test-*.parquet.

Images are bytes, or a struct {bytes, path}; labels whole numbers, with the classes' names in the
schema's notes where it has some, or text. Other columns are kept for `kind: where`. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from collateral.contract.spelling import unknown
from collateral.data._reading.share import GroupDraw, drawn
from collateral.data.forget import where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.data._reading.parquet import Parts
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


class Options(DataOptions):
    """Where the files are, and what is in their columns."""

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
    """Return how many rows there are of every class; of colours the first ones tell."""
    import numpy as np

    from collateral.data._reading.decoding import num_channels
    from collateral.data._reading.parquet import image_batches, image_column

    parts = _parts(options)
    labels, is_test, names = _labels(parts, options)
    train, test = (
        tuple(np.bincount(labels[which], minlength=len(names)).tolist())
        for which in (~is_test, is_test)
    )
    first = next(image_batches(parts.train, image_column(parts.schema, options.image)), [])
    return DatasetSize(names, train, test, (options.size, options.size, num_channels(first)))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the train labels, and the further columns of the train examples."""
    parts = _parts(options)
    labels, is_test, _ = _labels(parts, options)
    rows = [place for place, yes in enumerate(is_test) if not yes]
    return labels[rows].tolist(), _further(parts, parts.train, rows, options)


def load(options: Options) -> Dataset:
    """Return the images in the order of files and rows, and say what was left out or changed."""
    import numpy as np

    from collateral.data._reading.decoding import decode
    from collateral.data._reading.parquet import image_batches, image_column
    from collateral.data._reading.pixels import statistics
    from collateral.results.dataset import Dataset, Labels

    parts = _parts(options)
    if parts.unused:
        listed = ", ".join(str(path.relative_to(parts.folder)) for path in parts.unused)
        print(f"left out, as neither train nor test set: {listed}")
    labels, is_test, names = _labels(parts, options)
    image = image_column(parts.schema, options.image)
    batches = image_batches((*parts.train, *parts.test), image)
    rows = [f"row {place}" for place in range(len(labels))]
    encoded = (one for batch in batches for one in batch)
    decoded = decode(encoded, rows, options.size, skip_broken=options.broken == "skip")
    train, test = (np.flatnonzero(which[decoded.kept]) for which in (~is_test, is_test))
    of_train, of_test = decoded.kept[train], decoded.kept[test]
    _check_all_there(labels[of_train], labels[of_test], names)
    before = int((~is_test).sum()) if parts.test else 0  # rows of other files
    by_part = [
        _further(parts, parts.train, of_train.tolist(), options),
        _further(parts, parts.test or parts.train, (of_test - before).tolist(), options),
    ]
    further = [{name: np.array(found) for name, found in one.items()} for one in by_part]
    images = decoded.images[train]
    return Dataset(
        images,
        decoded.images[test],
        Labels(labels[of_train], labels[of_test], names, *further),
        *statistics(images),
        options.padding,
        options.flip,
    )


def _parts(options: Options) -> Parts:
    from collateral.data._reading.parquet import parts_of

    for key in ("test_by", "train_where"):
        if getattr(options, key) is not None and options.test_share is None:
            raise ValueError(f"data.{key}: goes with `test_share`, which is not given")
    return parts_of(options.path, options.test_share)


def _labels(
    parts: Parts, options: Options
) -> tuple[NDArray[np.int64], NDArray[np.bool_], tuple[str, ...]]:
    """Return the labels of all rows, which of them are to test on, and the classes' names."""
    import numpy as np

    from collateral.data._reading.parquet import column_values, label_column, names_of

    column = label_column(parts.schema, options.label)
    train, test = (column_values(files, column) for files in (parts.train, parts.test))
    labels, names = _numbered([*train, *test], column, names_of(parts.schema, column))
    is_test = np.arange(len(labels)) >= len(train)
    if not parts.test:
        is_test = _drawn(parts, labels, names, options)
    return labels, is_test, names


def _drawn(
    parts: Parts, labels: NDArray[np.int64], names: tuple[str, ...], options: Options
) -> NDArray[np.bool_]:
    """Draw the share that is tested on, by rows or, where a column is named, by its values."""
    import numpy as np

    share, rows = options.test_share or 0.0, range(len(labels))
    reads_columns = options.test_by is not None or options.train_where is not None
    further = _further(parts, parts.train, rows, options) if reads_columns else {}
    stay = where.staying([*(options.train_where or {}).items()], further)
    if options.test_by is None:
        return drawn(labels, share, options.test_seed, stay)
    if options.test_by not in further:
        raise ValueError(f"data.test_by: {unknown('column', options.test_by, further)}")
    draw = GroupDraw(labels.tolist(), [*map(str, further[options.test_by])], share)
    chosen = draw.draw(names, options.test_by, options.test_seed, stay)
    return np.isin(np.arange(len(labels)), [*chosen])


def _numbered(
    values: list[Any], column: str, names: tuple[str, ...] | None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return labels as whole numbers from 0, and the classes' names."""
    import numpy as np

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
    return np.array(values, np.int64), names


def _further(
    parts: Parts, files: Sequence[Path], rows: Sequence[int], options: Options
) -> dict[str, list[Any]]:
    """Return the further columns of some rows; the test files may lack some of them.

    A column with a gap is text in which that is empty.
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


def _check_all_there(
    train: NDArray[np.int64], test: NDArray[np.int64], names: tuple[str, ...]
) -> None:
    import numpy as np

    if len(names) < 2:
        raise ValueError("data.label: one class only; expected at least two")
    empty = np.flatnonzero(np.bincount(train, minlength=len(names)) == 0)
    if len(empty):
        found = f"no train example of class {empty[0]} ({names[empty[0]]!r})"
        raise ValueError(f"data.label: {found}; expected some for each label from 0 on")
    if not len(test):
        raise ValueError("data.path: no test example")
