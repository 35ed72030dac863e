"""List the image files below a folder of classes, by their suffixes; no file is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# Formats that Pillow opens itself, without starting another program, each with its suffixes.
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
IGNORED = ("__MACOSX", "Thumbs.db", "desktop.ini")


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
    left_out: list[str]  # files without the suffix of an image, or outside of a class folder
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
    """Yield all files below a folder; follow a link to a folder only if it is a class.

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
