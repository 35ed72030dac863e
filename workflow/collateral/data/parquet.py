"""Parquet files as on the Hugging Face hub: a folder of train-*.parquet and test-*.parquet.

Images are bytes, or a struct {bytes, path}. Labels are text, or whole numbers; the metadata of the
schema may have the names of the classes. Other columns are metadata (`kind: where`). No code of the
data set is run. Needs pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.conventions import FILE, Columns
from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.contract.messages import error_in_one_line, listed, looked_for, unknown_name
from collateral.contract.params import UserPath
from collateral.data._readers.examples import Examples, ImageFileOptions, join_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")
SUFFIX = ".parquet"
TRAIN = ("train",)
# Possible names of the test part, in order of preference.
TESTS = ("test", "validation", "valid", "val", "dev")
# Usual names of the column of labels, for files without metadata.
LABELS = ("label", "labels", "fine_label", "class", "target", "y")
METADATA = b"huggingface"  # key of the metadata in a parquet schema
BATCH_ROWS = 1024


class Options(ImageFileOptions):
    """Options of a data set in parquet files: the files, their columns, and the test set."""

    path: UserPath = Field(
        description="Folder that contains the .parquet files, or a single .parquet file."
    )
    image: str | None = Field(
        None,
        description="Name of the column with the images. Needed only if several columns contain "
        "images.",
    )
    label: str | None = Field(
        None,
        description="Name of the column with the labels. Needed only if the column has no usual "
        "name, such as `label`, and the file's metadata do not identify it.",
    )


@dataclass(frozen=True)
class ParquetSet:
    """The examples in parquet files, and the files and the column that contain their images."""

    examples: Examples
    files: list[Path]  # files of the train set, then of the test set
    image: str  # name of the column of images


def inputs(options: Options) -> list[Path]:
    """Return the sorted parquet files below `path`, or `path` itself; skip hidden files."""
    folder = options.path.expanduser()
    if folder.is_file():
        return [folder]
    found = sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    return [path for path in found if "/." not in f"/{path.relative_to(folder).as_posix()}"]


def size(options: Options) -> DatasetSize:
    """Return the numbers of images per class, and their shape; a sample tells if they are grey."""
    from collateral.data._readers.decoding import num_channels

    found = _read_set(options)
    channels = num_channels(next(_read_images(found), []))
    return found.examples.size((*options.shape, channels), options.size)


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the metadata columns of the train set."""
    return _read_set(options).examples.read_part(test=False)


def test_columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the metadata columns of the test set."""
    return _read_set(options).examples.read_part(test=True)


def open_pieces(options: Options) -> DatasetInPieces:
    """Open the images in the order of files and rows; print how many were skipped or converted."""
    found = _read_set(options)
    if unused := [path.name for path in inputs(options) if path not in found.files]:
        print(listed("left out, as neither train nor test set", unused))
    found.examples.check("data.label")

    def read_sources() -> Iterator[bytes]:
        return (image for batch in _read_images(found) for image in batch)

    return found.examples.open_pieces(read_sources, options)


def load(options: Options) -> Dataset:
    """Load all images into memory."""
    return open_pieces(options).read()


@cache  # because the plan needs the same set several times
def _read_set(options: Options) -> ParquetSet:
    """Read labels and metadata columns of the train files, and then of the test files."""
    train_files, test_files = _find_files(options)
    with _open(train_files[0]) as file:
        schema = file.schema_arrow
    image, label = _find_image(schema, options), _find_label(schema, options)
    train, test = (_read_column(files, label) for files in (train_files, test_files))
    labels, names = _number_labels([*train, *test], label, _read_class_names(schema, label))
    further = _list_further(schema, image, label)
    columns = _read_further(train_files, further, image)
    for path in test_files:  # Files of the test set may lack columns, or have them as floats.
        with _open(path) as file:
            own = _list_further(file.schema_arrow, image, label)
        further = [name for name in further if name in own]
    test_columns = _read_further(test_files, further, image) if test_files else {}
    examples = Examples(
        names,
        labels,
        [row >= len(train) for row in range(len(labels))],
        [f"row {row}" for row in range(len(labels))],
        join_columns(columns, len(train), test_columns, len(test)),
    )
    if not test_files:
        examples = examples.draw_test_set(range(len(labels)), options)
    return ParquetSet(examples, [*train_files, *test_files], image)


def _find_files(options: Options) -> tuple[list[Path], list[Path]]:
    """Return the train files and the test files; no test files if the test set is random."""
    folder, share, files = options.path.expanduser(), options.test_share, inputs(options)
    if not files:
        problem = f"no {SUFFIX} file at {str(folder)!r}{looked_for(folder)}"
        raise ValueError(f"data.path: {problem}")
    train = [file for file in files if _find_part(file, folder, TRAIN)]
    by_name = {name: [f for f in files if _find_part(f, folder, TESTS) == name] for name in TESTS}
    test = next(filter(None, by_name.values()), [])
    if bool(train and test) == (share is not None):
        raise ValueError(
            f"data.test_share: {share}: {len(train)} files are called train-... and {len(test)} "
            "test-... (or validation-...); give a share, such as 0.2, only if one of them is "
            f"missing in {str(folder)!r}"
        )
    return (train, test) if share is None else (train or files, [])


def _find_part(path: Path, folder: Path, parts: Sequence[str]) -> str | None:
    """Return which of `parts` (such as `train`) is a folder of the file or begins its name."""
    *folders, name = path.relative_to(folder).parts if path != folder else (path.name,)
    own = name.removesuffix(SUFFIX).lower().replace("_", "-").split("-")[0].split(".")[0]
    return next((part for part in parts if part in (own, *map(str.lower, folders))), None)


def _find_image(schema: pa.Schema, options: Options) -> str:
    """Return the name of the image column: from the config, or else the only column with bytes."""
    found = [field.name for field in schema if _holds_bytes(field.type)]
    return _choose_column("image", options.image, found, found)


def _find_label(schema: pa.Schema, options: Options) -> str:
    """Return the name of the label column: from the config, the metadata, or usual names."""
    with_classes = [name for name in schema.names if _read_class_names(schema, name)]
    usual = [name for name in LABELS if name in schema.names]
    return _choose_column("label", options.label, with_classes or usual[:1], schema.names)


def _choose_column(key: str, wanted: str | None, found: Sequence[str], known: Sequence[str]) -> str:
    """Return the column that the config names, or else the only column in `found`."""
    if wanted is not None and wanted not in known:
        raise ValueError(f"data.{key}: {unknown_name('column', wanted, known)}")
    if wanted is None and len(found) != 1:
        raise ValueError(
            f"data.{key}: {listed('columns that may be meant', found)}; name the one that is"
        )
    return found[0] if wanted is None else wanted


def _read_class_names(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Return the class names of a label column from the schema's metadata; None if it has none."""
    try:
        metadata = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        names = metadata["info"]["features"][column]["names"]
        # Older metadata maps each label (as text) to its class name.
        names = [names[str(i)] for i in range(len(names))] if isinstance(names, dict) else names
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    is_text = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    return tuple(names) if is_text else None


def _number_labels(
    values: list[Any], column: str, names: tuple[str, ...] | None
) -> tuple[list[int], tuple[str, ...]]:
    """Return labels as whole numbers from 0, and the names of the classes."""
    if None in values:
        raise ValueError(f"data.label: column {column!r}: row {values.index(None)} has no label")
    if values and all(isinstance(value, str) for value in values):
        names = tuple(sorted({*values}))
        index = {name: label for label, name in enumerate(names)}
        return [index[value] for value in values], names
    numbers = [value for value in values if type(value) is int]
    names = names or tuple(f"class_{label}" for label in range(max(numbers, default=0) + 1))
    for row, value in enumerate(values):
        if type(value) is not int or not 0 <= value < len(names):
            expected = f"text everywhere, or whole numbers from 0 to {len(names) - 1}"
            raise ValueError(
                f"data.label: column {column!r}: row {row}: {value!r}; expected {expected}"
            )
    return values, names


def _holds_bytes(kind: Any) -> bool:
    """Return whether the type of a column is bytes, or a struct with a field `bytes`."""
    from pyarrow import types

    if types.is_struct(kind):
        return any(field.name == "bytes" and _holds_bytes(field.type) for field in kind)
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _list_further(schema: pa.Schema, image: str, label: str) -> list[str]:
    """Return the names of the metadata columns: integers, booleans or text, but not the labels."""
    from pyarrow import types

    kinds = (types.is_integer, types.is_boolean, types.is_string, types.is_large_string)
    others = {field.name: field.type for field in schema if field.name not in (image, label)}
    # A column of pandas categories has the type of the values of its categories.
    own = {n: kind.value_type if types.is_dictionary(kind) else kind for n, kind in others.items()}
    return [name for name, kind in own.items() if any(is_kind(kind) for is_kind in kinds)]


def _read_further(files: Sequence[Path], names: Sequence[str], image: str) -> Columns:
    """Return the metadata columns `names` of all rows, and the original paths of the images.

    A column with empty values is text, and an empty value is the empty text. Paths are left out if
    one is missing or repeated.
    """
    found = {name: _read_column(files, name) for name in names}
    for name, values in found.items():
        if None in values:
            found[name] = ["" if value is None else str(value) for value in values]
    if FILE not in found and all(_has_paths(file, image) for file in files):
        values = _read_column(files, image, ".path")
        paths = [(value or {}).get("path") for value in values]
        if all(paths) and len({*paths}) == len(paths):
            found[FILE] = paths
    return found


def _has_paths(path: Path, image: str) -> bool:
    """Return whether the images of a file are structs with a field `path`."""
    with _open(path) as file:
        _check_column(file.schema_arrow, image)
        return "path" in getattr(file.schema_arrow.field(image).type, "names", ())


def _check_column(schema: pa.Schema, column: str) -> None:
    if column not in schema.names:
        raise ValueError(unknown_name("column", column, schema.names))


def _read_images(found: ParquetSet) -> Iterator[list[bytes]]:
    """Yield the encoded images in batches of rows."""
    for values in _read_batches(found.files, found.image):
        encoded = (one.get("bytes") if isinstance(one, dict) else one for one in values)
        yield [one or b"" for one in encoded]


def _read_column(files: Sequence[Path], column: str, inner: str = "") -> list[Any]:
    """Return the values of a column, or of its field `inner`, for all rows."""
    return [value for values in _read_batches(files, column, inner) for value in values]


def _read_batches(files: Sequence[Path], column: str, inner: str = "") -> Iterator[list[Any]]:
    """Yield the values of a column, or of its field `inner`, by batch; raise if a file lacks it."""
    for path in files:
        with _open(path) as file:
            _check_column(file.schema_arrow, column)
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[column + inner]):
                yield batch[column].to_pylist()


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a parquet file; errors that occur while the file is read name the file."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(
            "data.name: parquet needs pyarrow; install it: pip install 'collateral[parquet]'"
        ) from None
    try:
        with pq.ParquetFile(path) as file:
            yield file
    # A damaged file raises errors of many types, depending on the position of the damage.
    except Exception as error:
        raise ValueError(
            f"data.path: cannot read {str(path)!r}: {error_in_one_line(error)}"
        ) from None
