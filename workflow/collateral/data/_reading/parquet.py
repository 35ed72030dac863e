"""Parquet files as the hub serves them: images as bytes, labels, and the classes' names beside.

No code of the data set is run; of the files' notes only the names of the classes are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collateral.contract.columns import FILE
from collateral.contract.spelling import looked_for, plain, unknown

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
TRAIN = ("train",)
TESTS = ("test", "validation", "valid", "val", "dev")  # the first that is there
LABELS = ("label", "labels", "fine_label", "class", "target", "y")  # where nothing else tells
NOTES = b"huggingface"  # in the schema
ROWS = 1024  # that are decoded at a time


def files_of(folder: Path) -> list[Path]:
    """Return the parquet files of a folder, or the one file, in a fixed order."""
    folder = folder.expanduser()
    if folder.is_file():
        return [folder]
    found = [path for path in folder.rglob(f"*{SUFFIX}") if path.is_file()]
    return sorted(path for path in found if not _is_hidden(path, folder))


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def part_of(path: Path, folder: Path, parts: Sequence[str]) -> str | None:
    """Return which of `parts` a file is of: by a folder's name, or how its own begins."""
    *folders, name = path.relative_to(folder).parts if path != folder else (path.name,)
    own = name.removesuffix(SUFFIX).lower().replace("_", "-").split("-")[0].split(".")[0]
    return next((part for part in parts if part in (own, *map(str.lower, folders))), None)


@dataclass(frozen=True)
class Parts:
    """The files of the train and the test set; the same ones where a share is to test on."""

    folder: Path
    train: tuple[Path, ...]
    test: tuple[Path, ...]
    unused: tuple[Path, ...] = ()  # of neither

    @cached_property
    def schema(self) -> pa.Schema:
        """What columns there are."""
        return _schema(self.train[0])


def parts_of(folder: Path, test_share: float | None) -> Parts:
    """Find out which file is of which set; whatever is wrong is one line."""
    folder = folder.expanduser()
    files = files_of(folder)
    if not files:
        what = f"no {SUFFIX} file in" if folder.is_dir() else "there is no folder"
        where = "" if folder.is_dir() else looked_for(folder)
        raise ValueError(f"data.path: {what} {str(folder)!r}{where}")
    train = tuple(file for file in files if part_of(file, folder, TRAIN))
    by_name = {name: [f for f in files if part_of(f, folder, TESTS) == name] for name in TESTS}
    test = tuple(next(filter(None, by_name.values()), []))
    unused = tuple(file for file in files if file not in (*train, *test)) if train else ()
    if train and test and test_share is None:
        return Parts(folder, train, test, unused)
    if test_share is None:
        raise ValueError(
            f"data.path: {str(folder)!r}: no files called train-... and test-... (or "
            "validation-...) in it; give `test_share`, such as 0.2"
        )
    if train and test:
        raise ValueError(f"data.test_share: {test_share}: there is a test set; leave it out")
    return Parts(folder, train or tuple(files), (), unused)


def _schema(path: Path) -> pa.Schema:
    pq = _library()
    try:
        return pq.read_schema(path)
    # Damage has as many names as there are places for it.
    except Exception as error:
        raise ValueError(f"data.path: cannot read {str(path)!r}: {_said(error)}") from None


def _library() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError(
            "data.name: parquet needs pyarrow; install it: pip install 'collateral[parquet]'"
        ) from None
    return pq


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def image_column(schema: pa.Schema, wanted: str | None) -> str:
    """Return the column of images: the one that is asked for, or the only one of bytes."""
    having = [field.name for field in schema if _holds_bytes(field.type)]
    if wanted is not None:
        if wanted not in having:
            raise ValueError(f"data.image: {unknown('column of images', wanted, having)}")
        return wanted
    if len(having) != 1:
        found = f"{len(having)} columns of images: {', '.join(map(plain, having)) or 'none'}"
        raise ValueError(f"data.image: {found}; name the one that is meant")
    return having[0]


def label_column(schema: pa.Schema, wanted: str | None) -> str:
    """Return the column of labels: asked for, told by the notes, or by what it is called."""
    if wanted is not None:
        if wanted not in schema.names:
            raise ValueError(f"data.label: {unknown('column', wanted, schema.names)}")
        return wanted
    noted = [name for name in schema.names if names_of(schema, name)]
    usual = [name for name in LABELS if name in schema.names]
    if len(noted) == 1 or (not noted and usual):
        return (noted or usual)[0]
    found = ", ".join(map(plain, noted)) if noted else "none that looks like one"
    raise ValueError(
        f"data.label: which column has the labels? {found}; name the one that is meant"
    )


def names_of(schema: pa.Schema, column: str) -> tuple[str, ...] | None:
    """Return the names of a column's classes by the notes in the schema."""
    try:
        notes = json.loads((schema.metadata or {}).get(NOTES, b"{}"))
        names = notes["info"]["features"][column]["names"]
        # A mapping from text where the notes are of an old kind.
        names = [names[str(i)] for i in range(len(names))] if isinstance(names, dict) else names
    except (KeyError, TypeError, ValueError):
        return None
    is_text = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    return tuple(names) if is_text else None


def _holds_bytes(kind: Any) -> bool:
    from pyarrow import types

    def is_bytes(kind: Any) -> bool:
        return bool(types.is_binary(kind) or types.is_large_binary(kind))

    if types.is_struct(kind):
        return any(field.name == "bytes" and is_bytes(field.type) for field in kind)
    return is_bytes(kind)


def further_columns(schema: pa.Schema, image: str, label: str) -> list[str]:
    """Return the columns of whole numbers, yes and no, or text."""
    from pyarrow import types

    kinds = (types.is_integer, types.is_boolean, types.is_string, types.is_large_string)
    others = {field.name: field.type for field in schema if field.name not in (image, label)}
    # Of pandas' categories, what they are of.
    own = {n: kind.value_type if types.is_dictionary(kind) else kind for n, kind in others.items()}
    return [name for name, kind in own.items() if any(is_kind(kind) for is_kind in kinds)]


def kept_in_all(files: Sequence[Path], columns: Sequence[str], image: str, label: str) -> list[str]:
    """Return those of some further columns that every file has."""
    theirs = [further_columns(_schema(path), image, label) for path in files]
    return [name for name in columns if all(name in names for names in theirs)]


def column_values(files: Sequence[Path], column: str) -> list[Any]:
    """Return one column of all rows."""
    return [value for batch in _batches(files, column) for value in batch.to_pylist()]


def image_batches(files: Sequence[Path], column: str) -> Iterator[list[bytes]]:
    """Yield the encoded images of some rows at a time."""
    for batch in _batches(files, column):
        yield [_encoded(value) for value in batch.to_pylist()]


def _encoded(value: Any) -> bytes:
    found: bytes | None = value.get("bytes") if isinstance(value, dict) else value
    return found or b""


def image_paths(files: Sequence[Path], column: str) -> list[str]:
    """Return the path that each image had; nothing is read of the images themselves."""
    kind = _schema(files[0]).field(column).type
    if not hasattr(kind, "names") or "path" not in kind.names:
        return []
    batches = _batches(files, column, ".path")
    found = (value for batch in batches for value in batch.to_pylist())
    return [(value or {}).get("path") or "" for value in found]


def _batches(files: Sequence[Path], column: str, inner: str = "") -> Iterator[Any]:
    """Yield a column, or a part of it, some rows at a time; every file must have it."""
    pq = _library()
    for path in files:
        if column not in _schema(path).names:
            raise ValueError(f"data.path: {str(path)!r} has no column {plain(column)!r}; add it")
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=ROWS, columns=[column + inner]):
                    yield batch[column]
        except Exception as error:
            raise ValueError(f"data.path: cannot read {str(path)!r}: {_said(error)}") from None


def file_column(paths: Sequence[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the images' own paths as a column, where they tell the images apart."""
    is_good = bool(paths) and all(paths) and len({*paths}) == len(paths) and FILE not in columns
    return {FILE: list(paths)} if is_good else {}
