"""Files of arrays, .npz: read without pickle; what is broken is named."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from collateral.results.files import MISSING, Unsound

LOCAL_HEADER = struct.Struct("<26sHH")  # of a member: it ends with the sizes of what follows
# What single bits turned make of a file; RuntimeError: it says that it is encrypted.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError),
)


@contextmanager
def reading(path: Path) -> Iterator[NpzFile]:
    """Yield the arrays of a file."""
    with _naming(path), np.load(path, allow_pickle=False) as file:
        yield file


def mapped(path: Path, name: str) -> NDArray[Any]:
    """Return an array of a file without reading it: its pages come from disk, shared by all jobs.

    What is written to it stays in this process.
    """
    with _naming(path), zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed")
        with archive.open(entry) as member:
            if npy.read_magic(member) != (1, 0):
                raise ValueError(f"{name} is not of version 1.0")
            shape, in_columns, dtype = npy.read_array_header_1_0(member)
            start = _content(path, entry) + member.tell()
        if in_columns:
            raise ValueError(f"{name} is stored by columns")
        pages: NDArray[Any] = np.memmap(path, dtype, mode="c", offset=start, shape=shape)
        return pages


def _content(path: Path, entry: zipfile.ZipInfo) -> int:
    """Return where the bytes of an archive's member begin."""
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        *_, name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return entry.header_offset + LOCAL_HEADER.size + int(name) + int(extra)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say of what is wrong in which file it is."""
    try:
        yield
    except Unsound:
        raise  # named already
    except FileNotFoundError:
        raise Unsound(path, MISSING) from None
    except KeyError as error:
        raise Unsound(path, f"broken: {error.args[0]}") from None
    except BROKEN as error:
        raise Unsound(path, f"broken: {str(error) or 'it ends too early'}") from None
