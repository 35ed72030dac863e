"""Lists of files: the images below a folder, a list with one path per line, a table in CSV.

In a list, empty lines and lines that start with # are skipped. A table has the column `file` with
the path of every image below the folder, and metadata columns, whose values are text: `017` keeps
its zero.
"""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from collateral.contract.conventions import FILE
from collateral.contract.messages import did_you_mean, looked_for, quoted, unknown_name

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
# A file without a suffix may be an image as well.
SUFFIXES = frozenset(suffix for suffixes in SUFFIXES_OF.values() for suffix in suffixes) | {""}
# Files and folders that operating systems create.
IGNORED = ("__MACOSX", "Thumbs.db", "desktop.ini")
# Maximum number of paths among which the correct form of a misspelled path is searched.
MOST_COMPARED = 20_000
DELIMITERS = ",;\t"  # characters that may separate the columns of a table
SUFFIX = ".csv"
MOST_NAMED = 3  # maximum number of files named in an error message


@dataclass(frozen=True)
class ListedFile:
    """A file with the suffix of an image in the folder of a class."""

    path: str  # path relative to the folder, separated by /
    class_name: str
    num_bytes: int
    changed: int  # modification time in nanoseconds
    values: tuple[str, ...] = ()  # metadata values of the file's row in the table


@dataclass(frozen=True)
class Listing:
    """The files below a folder, sorted by path."""

    images: list[ListedFile]
    # Paths of ignored files: their suffix is not of an image, or they are in no class folder.
    left_out: list[str]
    hidden: list[str]  # hidden files, and hidden folders with / at the end


def list_files(folder: Path, top: str) -> Listing:
    """List the images of all classes below `folder/top`, and the paths that are left out."""
    found = Listing([], [], [])
    for path, entry in _files(folder / top, PurePosixPath(top), found.hidden, is_top=True):
        _check_name(folder, path)
        parts = PurePosixPath(path).parts[1 if top else 0 :]
        if len(parts) < 2 or Path(parts[-1]).suffix.lower() not in SUFFIXES:
            found.left_out.append(path)
            continue
        state = entry.stat()
        found.images.append(ListedFile(path, parts[0], state.st_size, state.st_mtime_ns))
    images = sorted(found.images, key=lambda file: file.path)
    return Listing(images, sorted(found.left_out), sorted(found.hidden))


def list_class_folders(top: Path) -> list[str]:
    """Return the names of the class folders in a folder, without hidden folders."""
    with os.scandir(top) as entries:
        return [entry.name for entry in entries if entry.is_dir() and not _is_ignored(entry.name)]


def _files(
    top: Path, below: PurePosixPath, hidden: list[str], *, is_top: bool
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all files below a folder; follow links to folders only for the folders of classes.

    Hidden files and folders are appended to `hidden`.
    """
    with os.scandir(top) as entries:
        for entry in entries:
            path = below / entry.name
            if _is_ignored(entry.name):
                hidden.append(f"{path}/" if entry.is_dir() else str(path))
            elif entry.is_dir(follow_symlinks=is_top):
                yield from _files(Path(entry.path), path, hidden, is_top=False)
            elif entry.is_file():
                yield str(path), entry


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name in IGNORED


def _check_name(folder: Path, path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        problem = f"the name of the file {path!a} is no UTF-8; rename it"
        raise ValueError(f"data.path: {str(folder)!r}: {problem}") from None


def read_file_list(path: Path) -> dict[int, str]:
    """Return the paths in the list by line number."""
    if not path.exists():
        raise ValueError(f"path: {str(path)!r}: there is no such file{looked_for(path)}")
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"path: {str(path)!r}: {error}") from None
    listed = {
        number: line.removesuffix("\r")
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    }
    if not listed:
        raise ValueError(f"path: {str(path)!r}: no file in it; expected at least one")
    return listed


def find_listed(
    path: Path, files: Sequence[str], tested: Sequence[str] = (), what: str = "train images"
) -> list[int]:
    """Return the sorted indices, in `files`, of the paths in a list; raise if one is not there."""
    known = index_paths(files)
    listed = read_file_list(path)
    found = {number: find_path(line, known) for number, line in listed.items()}
    if lost := [number for number, place in found.items() if place is None]:
        reason = _explain_missing(listed[lost[0]], files, tested, what)
        first = f"line {lost[0]}: {quoted(listed[lost[0]])}: {reason}"
        more = f"; nor are {len(lost) - 1} more of {len(listed)} lines" if len(lost) > 1 else ""
        raise ValueError(f"path: {str(path)!r}: {first}{more}")
    return sorted({place for place in found.values() if place is not None})


def index_paths(files: Sequence[str]) -> dict[str, int]:
    """Map every path to its index, as it is written and with composed accents (Unicode NFC)."""
    composed = {unicodedata.normalize("NFC", file): place for place, file in enumerate(files)}
    return composed | {file: place for place, file in enumerate(files)}


def find_path(line: str, known: Mapping[str, int]) -> int | None:
    """Return the index of the file that a line names; None if no spelling of the path is known."""
    return next((known[name] for name in list_spellings(line) if name in known), None)


def list_spellings(line: str) -> tuple[str, ...]:
    """Return spellings of a path: without outer spaces, without ./, with composed accents (NFC)."""
    names = [spelled.removeprefix("./") for spelled in (line, line.strip())]
    return (*names, *(unicodedata.normalize("NFC", name) for name in names))


def _explain_missing(line: str, files: Sequence[str], tested: Sequence[str], what: str) -> str:
    if line.strip().removeprefix("./") in tested:
        return "is a test image, on which no model is trained"
    hint = did_you_mean(line.strip(), _similar_files(line, files))
    return f"is not among the {len(files)} {what}{hint}"


def _similar_files(line: str, files: Sequence[str]) -> Sequence[str]:
    """Return files to suggest for a wrong path: same name, else same folder, else the first."""
    folder, _, name = line.strip().rpartition("/")
    same_name = [file for file in files if file.rpartition("/")[2] == name]
    same_folder = [file for file in files if file.rpartition("/")[0] == folder]
    return same_name or same_folder[:MOST_COMPARED] or files[:MOST_COMPARED]


def read_table(path: Path, files: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Read a CSV file that is separated by commas, semicolons or tabs.

    Return the names of its metadata columns, and their values for each of `files`; raise unless
    every file has exactly one row.
    """
    path = path.expanduser()
    if not path.is_file():
        raise ValueError(f"data.table: there is no file {str(path)!r}{looked_for(path)}")
    (_, columns), *rows = _lines(path) or [(1, [])]
    _check_columns(path, columns)
    column, known = columns.index(FILE), index_paths(files)
    lines: dict[int, int] = {}  # line of the table that names a file, by the index of the file
    values: dict[int, tuple[str, ...]] = {}
    unknown = []
    for line, row in rows:
        if len(row) != len(columns):
            raise _wrong(path, f"line {line}: {len(row)} values for {len(columns)} columns")
        place = find_path(row[column], known)
        if place is None:
            unknown.append(f"{quoted(row[column])} (line {line})")
        elif place in lines:
            twice = f"lines {lines[place]} and {line} are both of {quoted(files[place])}"
            raise _wrong(path, f"{twice}; remove one")
        else:
            lines[place], values[place] = line, (*row[:column], *row[column + 1 :])
    lacking = [quoted(file) for place, file in enumerate(files) if place not in lines]
    counts = {
        f"it lacks {len(lacking)} of {len(files)} images": lacking,
        f"it names {len(unknown)} files that are no images there": unknown,
    }
    if lacking or unknown:
        problems = "; ".join(f"{what}: {_first(names)}" for what, names in counts.items() if names)
        expected = f"expected one row per image, with its path such as {quoted(files[0])}"
        raise _wrong(path, f"{problems}; {expected}")
    names = tuple(name for name in columns if name != FILE)
    return names, [values[place] for place in range(len(files))]


def find_tables(folder: Path, column: str) -> list[Path]:
    """Return CSV files, in a folder or its parent, that have the columns `file` and `column`.

    If none has `column`, return the files with a column `file`.
    """
    near = [file for place in (folder, folder.parent) for file in sorted(place.iterdir())]
    tables = {file: _header(file) for file in near if file.suffix.lower() == SUFFIX}
    named = [file for file, names in tables.items() if FILE in names]
    return [file for file in named if column in tables[file]] or named


def _header(path: Path) -> list[str]:
    """Return the column names of a CSV file; empty if the file cannot be read."""
    try:
        return _lines(path)[0][1]
    except (ValueError, IndexError, OSError):
        return []


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows, each with the number of its last line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(DELIMITERS, key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num, [value.strip() for value in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _wrong(path, f"no CSV in UTF-8: {error}") from None
    return [(line, row) for line, row in rows if any(row)]


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    if FILE not in columns:
        raise _wrong(
            path, f"{unknown_name('column', FILE, columns)}; it has the paths of the images"
        )
    for place, name in enumerate(columns):
        if not name or name in columns[:place]:
            found = f"column {place + 1} is called {quoted(name)}"
            raise _wrong(path, f"{found}; expected names that differ")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)


def _wrong(path: Path, problem: str) -> ValueError:
    return ValueError(f"data.table: {str(path)!r}: {problem}")
