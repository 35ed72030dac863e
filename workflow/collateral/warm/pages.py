"""The pages of its libraries that a process has in memory.

A fork begins without them, and would seem 200 MB smaller than a plain process, which has touched
them by importing torch: so jobs take them at once, and peak memory means the same in both.
"""

import ctypes
import os
import re
from pathlib import Path

Span = tuple[int, int]  # an address and a size
PAGE_BYTES, ENTRY_BYTES = os.sysconf("SC_PAGESIZE"), 8
# The last byte of a page's entry in pagemap: bit 7 says that it is there, bit 5 of a file.
OF_FILES = re.compile(rb"[\xa0-\xbf\xe0-\xff]+")
POPULATE_READ = 22  # MADV_POPULATE_READ of linux/mman.h, since Linux 5.14


def file_pages() -> list[Span]:
    """Return what this process has in memory of the files that are mapped."""
    found = []
    with Path("/proc/self/pagemap").open("rb") as pagemap:
        for start, end in _mapped_files():
            pagemap.seek(start // PAGE_BYTES * ENTRY_BYTES)
            entries = pagemap.read((end - start) // PAGE_BYTES * ENTRY_BYTES)
            for run in OF_FILES.finditer(entries[ENTRY_BYTES - 1 :: ENTRY_BYTES]):
                found.append((start + run.start() * PAGE_BYTES, len(run[0]) * PAGE_BYTES))
    return found


def _mapped_files() -> list[tuple[int, int]]:
    """Return where each mapped file begins and ends."""
    maps = Path("/proc/self/maps").read_bytes().decode(errors="replace")
    lines = [line.split() for line in maps.splitlines()]
    places = [line[0].split("-") for line in lines if line[5:] and line[5].startswith("/")]
    return [(int(start, 16), int(end, 16)) for start, end in places]


def take(pages: list[Span]) -> bool:
    """Have them in memory; tell whether the system can do it."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return not any([madvise(address, size, POPULATE_READ) for address, size in pages])
