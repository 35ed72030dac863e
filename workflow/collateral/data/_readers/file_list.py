"""Find and read lists of images: folders, text files with one path per line, and CSV tables.

In a list, empty lines and lines that start with # are skipped. A table has the column `file` with
the path of every image below the folder, and metadata columns, whose values are text: `017` keeps
its zero.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from collateral.contract.conventions import FILE
from collateral.contract.messages import did_you_mean, listed, looked_for, quoted, unknown_name

# Image formats that Pillow opens without starting another program, each with its suffixes.
FORMATS = """
    AVIF avif avifs; BMP bmp; CUR cur; DCX dcx; DDS dds; DIB dib; FLI fli flc; GIF gif; ICNS icns;
    ICO ico; IM im; JPEG jpg jpeg jpe jfif mpo; JPEG2000 jp2 j2k jpc jpf jpx j2c; MSP msp; PCD
    pcd; PCX pcx; PIXAR pxr; PNG png apng; PPM pbm pgm ppm pnm pfm; PSD psd; QOI qoi; SGI bw rgb
    rgba sgi; SUN ras; TGA tga icb vda vst; TIFF tif tiff; WEBP webp; XBM xbm; XPM xpm
"""
SUFFIXES_OF = {
    name: tuple(f".{suffix}" for suffix in suffixes)
    for name, *suffixes in map(str.split, FORMATS.split(";"))
}
# The empty suffix is included, because a file without a suffix may be an image.
SUFFIXES = frozenset(suffix for suffixes in SUFFIXES_OF.values() for suffix in suffixes) | {""}
# Files and folders that operating systems create; they are ignored.
IGNORED = ("__MACOSX", "Thumbs.db", "desktop.ini")
# Maximum number of paths with which a misspelled path is compared to suggest a correction.
MOST_COMPARED = 20_000
DELIMITERS = ",;\t"  # characters that may separate the columns of a table
SUFFIX = ".csv"


@dataclass(frozen=True)
class ListedFile:
    """A file in the folder of a class whose suffix is that of an image."""

    path: str  # path relative to the listed folder, with / as separator
    location: Path
    class_name: str
    state: str  # size in bytes, and modification time in nanoseconds


def list_files(
    folder: Path, top: str, *, by_class: bool = True
) -> tuple[list[ListedFile], list[str]]:
    """Return the image files of all classes below `folder/top`, and other paths, both sorted.

    Other paths are hidden, lack the suffix of an image, or are in no folder of a class; they may be
    in none if `by_class` is false.
    """
    depth = 2 if by_class else 1
    images, others = [], list[str]()
    for path, entry in _files(folder / top, PurePosixPath(top), others, is_top=True):
        parts = PurePosixPath(path).parts[1 if top else 0 :]
        if len(parts) < depth or Path(parts[-1]).suffix.lower() not in SUFFIXES:
            others.append(path)
            continue
        state = entry.stat()
        times = f"{state.st_size}\0{state.st_mtime_ns}"
        images.append(ListedFile(path, Path(entry.path), parts[0], times))
    return sorted(images, key=lambda file: file.path), sorted(others)


def list_class_folders(top: Path) -> list[str]:
    """Return the sorted names of the folders in `top`, one per class, without hidden folders."""
    with os.scandir(top) as entries:
        folders = [entry.name for entry in entries if entry.is_dir() and not leads_up(entry)]
    return sorted(name for name in folders if not _is_ignored(name))


def _files(
    top: Path, below: PurePosixPath, hidden: list[str], *, is_top: bool
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all files below a folder. Only class folders may be symbolic links to folders.

    Hidden files and folders are appended to `hidden`.
    """
    with os.scandir(top) as entries:
        for entry in entries:
            path = below / entry.name
            if _is_ignored(entry.name) or leads_up(entry):
                hidden.append(f"{path}/" if entry.is_dir() else str(path))
            elif entry.is_dir(follow_symlinks=is_top):
                yield from _files(Path(entry.path), path, hidden, is_top=False)
            elif entry.is_file():
                _check_name(entry.path)
                yield str(path), entry


def leads_up(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry of a folder is a link to this folder, or to a folder above it."""
    if not entry.is_symlink():
        return False
    folder = Path(os.path.realpath(Path(entry.path).parent))
    return folder.is_relative_to(os.path.realpath(entry.path))


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name in IGNORED


def _check_name(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ValueError(f"data.path: the file name {path!a} is no UTF-8; rename it") from None


def find_listed(
    key: str, path: Path, files: Sequence[str], tested: Sequence[str] = ()
) -> list[int]:
    """Return the sorted indices in `files` of the paths that a text file lists. Raise if `files`
    lacks a listed path.

    `key` is the config key of the list, and `tested` has the paths of test images, for errors.
    """
    path = path.expanduser()
    try:
        lines = read_text(path).split("\n")
    except (OSError, ValueError) as error:
        raise ValueError(f"{key}: {str(path)!r}: {error}{looked_for(path)}") from None
    wanted = {
        number: line.removesuffix("\r")
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    }
    if not wanted:
        raise ValueError(f"{key}: {str(path)!r}: no file in it; expected at least one")
    found = _find_places([*wanted.values()], files)
    if None in found:
        number, line = [*wanted.items()][found.index(None)]
        reason = f"is not among the {len(files)} images"
        reason += _hint(line, files) or did_you_mean(line, _similar_files(line, files))
        if line.strip().removeprefix("./") in tested:
            reason = "is a test image, on which no model is trained"
        count = f"{found.count(None)} of {len(found)} paths cannot be used"
        raise ValueError(f"{key}: {str(path)!r}: {count}: line {number}: {quoted(line)} {reason}")
    return sorted({place for place in found if place is not None})


def read_text(path: Path) -> str:
    """Return the text of a list or table: UTF-8, or UTF-16 if it begins with a byte-order mark."""
    content = path.read_bytes()
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return path.read_text(encoding="utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        advice = "it may be Latin-1; save it as UTF-8 (in Excel: CSV UTF-8)"
        raise ValueError(f"line {line} is not UTF-8 text; {advice}") from None


def _hint(path: str, files: Sequence[str]) -> str:
    """Return how to change a path so that it is one of `files`; empty if that is unknown."""
    known = {*map(_normalise, files)}
    parts = _normalise(path.replace("\\", "/")).split("/")
    for start in range(len(parts)):
        if "/".join(parts[start:]) in known:
            above = [f"leave out {'/'.join([*parts[:start], ''])!r} before it"] if start else []
            slashes = ["write / in place of \\"] if "\\" in path else []
            return f"; {' and '.join([*slashes, *above])}" if slashes or above else ""
    return ""


def _find_places(wanted: Sequence[str], files: Sequence[str]) -> list[int | None]:
    """Return the index of each wanted path in `files`, or None if `files` lacks the path.

    Spaces around the path, ./ before it and another Unicode form of accents are allowed.
    """
    known = {_normalise(file): place for place, file in enumerate(files)}
    known |= {file: place for place, file in enumerate(files)}
    return [known.get(path, known.get(_normalise(path))) for path in wanted]


def _normalise(path: str) -> str:
    """Return a path without outer spaces and initial ./, with composed accents (Unicode NFC)."""
    return unicodedata.normalize("NFC", path.strip().removeprefix("./"))


def _similar_files(line: str, files: Sequence[str]) -> Sequence[str]:
    """Return files to suggest for a wrong path: those of the same name but for its suffix.

    Other names are not suggested, however similar: they may belong to another person.
    """
    stem = _stem(line.strip().replace("\\", "/"))
    return [file for file in files if _stem(file) == stem][:MOST_COMPARED]


def _stem(path: str) -> str:
    return PurePosixPath(path).stem.lower()


def read_table(path: Path, files: Sequence[str]) -> dict[str, list[str]]:
    """Return the metadata columns of a CSV file, with one value for each of `files`.

    Columns are separated by commas, semicolons or tabs. Raise unless every file has one row.
    """
    path = path.expanduser()
    try:
        (_, columns), *rows = read_rows(path) or [(1, [])]
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"data.table: {str(path)!r}: {error}{looked_for(path)}") from None
    at = f"data.table: {str(path)!r}"
    if FILE not in columns:
        raise ValueError(f"{at}: {unknown_name('column', FILE, columns)}")
    if "" in columns:
        raise ValueError(f"{at}: columns {columns}; expected columns with different names")
    check_rows(at, columns, rows)
    named = {line: row[columns.index(FILE)] for line, row in rows}
    row_of = dict(zip(_match(at, named, files), (row for _, row in rows), strict=True))
    return {
        name: [row_of[place][column] for place in range(len(files))]
        for column, name in enumerate(columns)
        if name != FILE
    }


def check_rows(at: str, columns: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> None:
    """Raise if two columns of a table have one name, or a row has another number of values."""
    named = [name for name in columns if name]
    if len({*named}) < len(named):
        raise ValueError(f"{at}: columns {columns}; expected columns with different names")
    for line, row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{at}: line {line}: {len(row)} values for {len(columns)} columns")


def _match(at: str, named: Mapping[int, str], files: Sequence[str]) -> list[int | None]:
    """Return the index in `files` of each path of a table, by line; raise unless each has one."""
    places = _find_places([*named.values()], files)
    counts = Counter(places)
    lacking = [file for place, file in enumerate(files) if place not in counts]
    wrong = {
        line: name
        for (line, name), place in zip(named.items(), places, strict=True)
        if place is None or counts[place] > 1
    }
    for line, name in wrong.items():
        if hint := _hint(name, files):
            raise ValueError(f"{at}: line {line}: {quoted(name)} is not among the images{hint}")
    if lacking or wrong:
        rows = [f"{name} (line {line})" for line, name in wrong.items()]
        raise ValueError(
            f"{at}: expected one row per image, with its path below the folder; "
            f"{listed('images without a row', lacking)}; "
            f"{listed('rows of no image, or of one that has another row', rows)}"
        )
    return places


def find_tables(folder: Path, column: str) -> list[Path]:
    """Return CSV files in a folder or its parent that have a column `file` and the given column.

    If none has `column`, return the files with a column `file`.
    """
    near = [file for place in (folder, folder.parent) for file in sorted(place.iterdir())]
    tables = {
        file: _header(file) for file in near if file.suffix.lower() == SUFFIX and file.is_file()
    }
    named = [file for file, names in tables.items() if FILE in names]
    return [file for file in named if column in tables[file]] or named


def _header(path: Path) -> list[str]:
    """Return the column names of a CSV file; an empty list if the file cannot be read."""
    try:
        return read_rows(path)[0][1]
    except (OSError, ValueError, IndexError, csv.Error):
        return []


def read_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows of a CSV file, each with the number of its last line."""
    text = read_text(path)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [(reader.line_num, [value.strip() for value in row]) for row in reader]
    return [(line, row) for line, row in rows if any(row)]
