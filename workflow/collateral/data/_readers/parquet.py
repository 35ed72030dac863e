"""Read parquet files of the Hugging Face hub: encoded images, labels, and metadata columns.

No code of the data set is run. The metadata is used for the names of the classes only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.conventions import FILE, Columns
from collateral.contract.messages import error_in_one_line, looked_for, printable, unknown_name
from collateral.contract.params import UserPath
from collateral.data._readers.examples import Examples
from collateral.data._readers.test_set import ImageFileOptions, draw_test_set
from collateral.data.forget import where

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
TRAIN = ("train",)
# Names of the test part, in order of preference.
TESTS = ("test", "validation", "valid", "val", "dev")
# Usual names of the column of labels, for files without metadata.
LABELS = ("label", "labels", "fine_label", "class", "target", "y")
METADATA = b"huggingface"  # key of the metadata in a parquet schema
BATCH_ROWS = 1024


class ParquetOptions(ImageFileOptions):
    """Options of a data set in parquet files: the files, their columns, and the test set."""

    path: UserPath = Field(description="The folder of the .parquet files, or a single one.")
    image: str | None = Field(None, description="The column of images, if there are several.")
    label: str | None = Field(None, description="The column of labels, if its name does not tell.")


@dataclass(frozen=True)
class ParquetFiles:
    """The files of the train and the test set, and the options for reading them."""

    folder: Path
    train: tuple[Path, ...]
    test: tuple[Path, ...]  # test files; empty if test examples are sampled from `train`
    unused: tuple[Path, ...]  # files of neither set
    options: ParquetOptions

    @cached_property
    def schema(self) -> pa.Schema:
        """Parquet schema of the first file: names and types of its columns."""
        return _read_schema(self.train[0])

    @cached_property
    def image(self) -> str:
        """Name of the column of images: the config's, or the only column with bytes."""
        found = [field.name for field in self.schema if _holds_bytes(field.type)]
        if self.options.image is not None:
            return _check_column("data.image", "column of images", self.options.image, found)
        if len(found) != 1:
            listed = f"{len(found)} columns of images: {_join(found) or 'none'}"
            raise ValueError(f"data.image: {listed}; name the one that is meant")
        return found[0]

    @cached_property
    def label(self) -> str:
        """Name of the column of labels: the config's, the metadata's, or a usual name."""
        names = self.schema.names
        if self.options.label is not None:
            return _check_column("data.label", "column", self.options.label, names)
        with_classes = [name for name in names if _read_class_names(self.schema, name)]
        usual = [name for name in LABELS if name in names]
        if len(with_classes) == 1 or (not with_classes and usual):
            return (with_classes or usual)[0]
        found = f"which column has the labels? {_join(with_classes) or 'none that looks like one'}"
        raise ValueError(f"data.label: {found}; name the one that is meant")

    @cached_property
    def examples(self) -> Examples:
        """The examples: all rows of the train files, then of the test files."""
        train, test = (_read_column(files, self.label) for files in (self.train, self.test))
        names = _read_class_names(self.schema, self.label)
        labels, names = _number_labels([*train, *test], self.label, names)
        is_test = [row >= len(train) for row in range(len(labels))]
        if not self.test:
            is_test = self._draw_test_set(labels, names)

        def read_columns(rows: Sequence[int]) -> Columns:
            if self.test and rows and rows[0] >= len(train):
                return self._read_columns(self.test, [row - len(train) for row in rows])
            return self._read_columns(self.train, rows)

        titles = [f"row {row}" for row in range(len(labels))]
        return Examples(names, labels, is_test, titles, read_columns)

    def read_image_batches(self) -> Iterator[list[bytes]]:
        """Yield the encoded images in batches of rows."""
        for values in _read_batches((*self.train, *self.test), self.image):
            encoded = (one.get("bytes") if isinstance(one, dict) else one for one in values)
            yield [one or b"" for one in encoded]

    def _draw_test_set(self, labels: list[int], names: tuple[str, ...]) -> list[bool]:
        """Draw the test set from the train files; read metadata columns only if needed."""
        rows = range(len(labels))
        reads_columns = self.options.test_by is not None or self.options.train_where
        columns = self._read_columns(self.train, rows) if reads_columns else {}
        stay = where.find_staying(self.options.train_where, columns)
        chosen = draw_test_set(labels, names, rows, columns, self.options, stay)
        return [row in chosen for row in rows]

    def _read_columns(self, files: Sequence[Path], rows: Sequence[int]) -> Columns:
        """Return the metadata columns of some rows; test files may lack some columns.

        A column with empty values is text, and an empty value is the empty text.
        """
        schemas = [self.schema, *(_read_schema(file) for file in files if files != self.train)]
        listed = [_list_further_columns(schema, self.image, self.label) for schema in schemas]
        names = [name for name in listed[0] if all(name in others for others in listed)]
        found = {name: _read_column(files, name) for name in names}
        for name, values in found.items():
            if None in values:
                found[name] = ["" if value is None else str(value) for value in values]
        columns = {name: [values[row] for row in rows] for name, values in found.items()}
        paths = [] if FILE in names else _read_image_paths(files, self.image, rows)
        return columns | ({FILE: paths} if paths else {})


def _check_column(key: str, what: str, wanted: str, known: Sequence[str]) -> str:
    """Return the column that the config names; raise if the files have no such column."""
    if wanted not in known:
        raise ValueError(f"{key}: {unknown_name(what, wanted, known)}")
    return wanted


def _join(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names))


def list_files(folder: Path) -> list[Path]:
    """Return the parquet files below a folder, sorted, without hidden files; or the single file."""
    folder = folder.expanduser()
    if folder.is_file():
        return [folder]
    found = {path: path.relative_to(folder).parts for path in folder.rglob(f"*{SUFFIX}")}
    is_shown = {path: not any(part.startswith(".") for part in found[path]) for path in found}
    return sorted(path for path in found if is_shown[path] and path.is_file())


def find_files(options: ParquetOptions) -> ParquetFiles:
    """Divide the parquet files into train and test files; an error is one line."""
    options.check_test_share("test_by", "train_where")
    folder, test_share = options.path.expanduser(), options.test_share
    files = list_files(folder)
    if not files:
        what = f"no {SUFFIX} file in" if folder.is_dir() else "there is no folder"
        place = "" if folder.is_dir() else looked_for(folder)
        raise ValueError(f"data.path: {what} {str(folder)!r}{place}")
    train = tuple(file for file in files if _find_part(file, folder, TRAIN))
    by_name = {name: [f for f in files if _find_part(f, folder, TESTS) == name] for name in TESTS}
    test = tuple(next(filter(None, by_name.values()), []))
    unused = tuple(file for file in files if file not in (*train, *test)) if train else ()
    if test_share is None and not (train and test):
        raise ValueError(
            f"data.path: {str(folder)!r}: no files called train-... and test-... (or "
            "validation-...) in it; give `test_share`, such as 0.2"
        )
    if test_share is not None and train and test:
        raise ValueError(f"data.test_share: {test_share}: there is a test set; leave it out")
    if test_share is not None:
        train, test = train or tuple(files), ()
    return ParquetFiles(folder, train, test, unused, options)


def _find_part(path: Path, folder: Path, parts: Sequence[str]) -> str | None:
    """Return the part (such as `train`), read from the folders or the start of the file name."""
    *folders, name = path.relative_to(folder).parts if path != folder else (path.name,)
    own = name.removesuffix(SUFFIX).lower().replace("_", "-").split("-")[0].split(".")[0]
    return next((part for part in parts if part in (own, *map(str.lower, folders))), None)


def _read_schema(path: Path) -> pa.Schema:
    pq = _import_parquet()
    with _name_in_errors(path):
        return pq.read_schema(path)


def _import_parquet() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(
            "data.name: parquet needs pyarrow; install it: pip install 'collateral[parquet]'"
        ) from None
    return pq


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    try:
        yield
    # A damaged file raises errors of many types, depending on the position of the damage.
    except Exception as error:
        raise ValueError(
            f"data.path: cannot read {str(path)!r}: {error_in_one_line(error)}"
        ) from None


def _read_class_names(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Return the names of the classes in a column of labels, from the metadata of the schema."""
    try:
        metadata = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        names = metadata["info"]["features"][column]["names"]
        # Older metadata maps each label (as text) to its class name.
        names = [names[str(i)] for i in range(len(names))] if isinstance(names, dict) else names
    except (KeyError, TypeError, ValueError):
        return None
    is_text = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    return tuple(names) if is_text else None


def _number_labels(
    values: list[Any], column: str, names: tuple[str, ...] | None
) -> tuple[list[int], tuple[str, ...]]:
    """Return labels as whole numbers from 0, and the names of the classes."""
    at = f"data.label: column {column!r}"
    if missing := [row for row, value in enumerate(values) if value is None or value == -1]:
        raise ValueError(f"{at}: row {missing[0]} has no label")
    if all(isinstance(value, str) for value in values):
        names = tuple(sorted({*values}))
        index = {name: label for label, name in enumerate(names)}
        values = [index[value] for value in values]
    elif not all(type(value) is int for value in values):
        raise ValueError(f"{at}: {type(values[0]).__name__}; expected whole numbers or text")
    names = names or tuple(f"class_{index}" for index in range(max(values, default=0) + 1))
    if wrong := [value for value in values if not 0 <= value < len(names)]:
        known = f", as there are {len(names)} classes" if wrong[0] >= 0 else ""
        raise ValueError(f"{at}: found label {wrong[0]}; expected 0, 1, ...{known}")
    return values, names


def _holds_bytes(kind: Any) -> bool:
    """Return whether a column has bytes, or a struct with a field `bytes`."""
    from pyarrow import types

    if types.is_struct(kind):
        return any(field.name == "bytes" and _holds_bytes(field.type) for field in kind)
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _list_further_columns(schema: pa.Schema, image: str, label: str) -> list[str]:
    """Return the names of the columns with whole numbers, truth values, or text."""
    from pyarrow import types

    kinds = (types.is_integer, types.is_boolean, types.is_string, types.is_large_string)
    others = {field.name: field.type for field in schema if field.name not in (image, label)}
    # A pandas category counts as the type of its values.
    own = {n: kind.value_type if types.is_dictionary(kind) else kind for n, kind in others.items()}
    return [name for name, kind in own.items() if any(is_kind(kind) for is_kind in kinds)]


def _read_column(files: Sequence[Path], column: str) -> list[Any]:
    """Return one column of all rows."""
    return [value for values in _read_batches(files, column) for value in values]


def _read_image_paths(files: Sequence[Path], column: str, rows: Sequence[int]) -> list[str]:
    """Return the original paths of the images; an empty list if a path is missing or repeated."""
    kind = _read_schema(files[0]).field(column).type
    if not hasattr(kind, "names") or "path" not in kind.names:
        return []
    batches = _read_batches(files, column, ".path")
    found = [(value or {}).get("path") or "" for values in batches for value in values]
    paths = [found[row] for row in rows]
    return paths if all(paths) and len({*paths}) == len(paths) else []


def _read_batches(files: Sequence[Path], column: str, inner: str = "") -> Iterator[list[Any]]:
    """Yield a column, or one of its fields, in batches of rows; every file must have the column."""
    pq = _import_parquet()
    for path in files:
        if column not in _read_schema(path).names:
            missing = f"has no column {printable(column)!r}; add it"
            raise ValueError(f"data.path: {str(path)!r} {missing}")
        with _name_in_errors(path), pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[column + inner]):
                yield batch[column].to_pylist()
