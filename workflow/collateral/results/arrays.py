"""Read and write .npz files without pickle; errors name the damaged file."""

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from collateral.results.files import atomic, report_broken_file

# Format of the header before each file in a zip archive.
# This header ends with two lengths: of the file name, and of zip's extra field.
LOCAL_HEADER = struct.Struct("<26sHH")
# Errors that numpy and zipfile raise for a damaged file (RuntimeError if it looks encrypted).
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, KeyError, OSError, RuntimeError, ValueError),
)


class ArrayFile:
    """Mixin for a dataclass of arrays that is stored as an .npz file, one array per field.

    A field whose default is None is optional: it is left out of the file if it is None. A class
    whose fields are not all arrays overrides `to_arrays` and `from_arrays`.
    """

    is_compressed: ClassVar[bool] = False

    def to_arrays(self) -> Mapping[str, Any]:
        """Return the arrays by name, in the order in which the file stores them."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild an object from the arrays that its `to_arrays` returned."""
        own = fields(cls)  # type: ignore[arg-type]
        names = [field.name for field in own if field.default is not None or field.name in arrays]
        return cls(**{name: arrays[name] for name in names})

    def save(self, path: Path) -> None:
        """Write an .npz file."""
        write_arrays(path, self.to_arrays(), compress=self.is_compressed)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote."""
        with open_arrays(path) as arrays:
            return cls.from_arrays(arrays)


def write_arrays(path: Path, arrays: Mapping[str, Any], *, compress: bool) -> None:
    """Write an .npz file."""
    write = np.savez_compressed if compress else np.savez
    with atomic(path) as temporary:
        write(temporary, allow_pickle=False, **arrays)


class InPieces(Protocol):
    """An array that is read a piece at a time, along its first axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the pieces in order."""


def write_in_pieces(path: Path, arrays: Iterable[tuple[str, Any]]) -> None:
    """Write the same uncompressed .npz file as `write_arrays`; arrays may be `InPieces`.

    An array is asked for when the one before it is written.
    """
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, array in arrays:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                if isinstance(array, np.ndarray) or not hasattr(array, "shape"):
                    npy.write_array(file, np.asanyarray(array), allow_pickle=False)
                else:
                    _write_pieces(file, array)


def _write_pieces(file: IO[bytes], array: InPieces) -> None:
    """Write an array of version 1.0 of numpy's format; raise if its pieces do not make it up."""
    descr = npy.dtype_to_descr(array.dtype)
    header = {"descr": descr, "fortran_order": False, "shape": array.shape}
    npy.write_array_header_1_0(file, header)
    count = 0
    for piece in array:
        assert piece.dtype == array.dtype, "a piece of another type"
        assert piece.shape[1:] == array.shape[1:], "a piece of another shape"
        file.write(np.ascontiguousarray(piece).data)
        count += len(piece)
    assert count == array.shape[0], f"{count} rows in the pieces of {array.shape[0]}"


@contextmanager
def open_arrays(path: Path) -> Iterator[NpzFile]:
    """Open an .npz file; each array is read when it is accessed."""
    with report_broken_file(path, *BROKEN), np.load(path, allow_pickle=False) as file:
        yield file


def map_array(path: Path, name: str) -> NDArray[Any]:
    """Memory-map an array of an .npz file; processes that map the same array share its memory.

    Changes to the array stay in this process.
    """
    with report_broken_file(path, *BROKEN), zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed")
        with archive.open(entry) as member:
            if npy.read_magic(member) != (1, 0):
                raise ValueError(f"{name} is not of version 1.0")
            shape, by_columns, dtype = npy.read_array_header_1_0(member)
            start = _content(path, entry) + member.tell()
        order: Literal["C", "F"] = "F" if by_columns else "C"
        pages: NDArray[Any] = np.memmap(path, dtype, "c", start, shape, order)
        return pages


def _content(path: Path, entry: zipfile.ZipInfo) -> int:
    """Return the offset of a member's content within its zip archive."""
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        *_, name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return entry.header_offset + LOCAL_HEADER.size + int(name) + int(extra)
