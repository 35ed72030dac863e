"""Read an archive of results: nothing but what `bundle` writes, whole, and sound by its chain."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from collateral.results.bundle import (
    INDEX,
    MANIFEST,
    METADATA,
    RESULTS,
    SECOND,
    THEORY,
    VERSION,
    is_hidden,
    results_files,
)
from collateral.results.chain import checked, read_sealed
from collateral.results.files import Unsound, read_json
from collateral.results.verification import walk

AGAIN = "copy or bundle it again"


@dataclass(frozen=True)
class Source:
    """Results in a folder or from an archive."""

    label: str  # as messages call it
    files: Mapping[str, Path]  # by name below the folder of results
    metadata: Mapping[str, Any]  # Snakemake's, by path as rules know it


def unpack(archive: Path, folder: Path) -> tuple[list[str], Source]:
    """Extract an archive into an empty folder; return its benchmarks and what it has of them."""
    with _damage_named(archive), tarfile.open(archive, "r:") as file:
        members = file.getmembers()
        _check_names(archive, members)
        file.extractall(folder, members, filter="data")
        for member in members:
            _set_time(folder / member.name, member)
    manifest = _manifest(archive, folder)
    benchmarks = manifest["benchmarks"]
    _check_whole(archive, members, manifest)
    _check_sound(archive, folder, [*benchmarks, THEORY])
    metadata = read_json(checked(folder / METADATA, folder, folder / MANIFEST))
    known = tuple(f"{RESULTS}/{name}/" for name in (*benchmarks, THEORY))
    own = {
        output: content
        for output, content in metadata.items()
        if output.startswith(known) or output == f"{RESULTS}/{INDEX}"
    }
    files = results_files(folder / RESULTS, benchmarks)
    return benchmarks, Source(str(archive), files, own)


@contextmanager
def _damage_named(archive: Path) -> Iterator[None]:
    if not archive.is_file():
        raise ValueError(f"{archive}: there is no such file")
    try:
        yield
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{archive}: broken, or no bundle: {error}; {AGAIN}") from None


def _check_names(archive: Path, members: Sequence[tarfile.TarInfo]) -> None:
    """Refuse all that `bundle` does not write, before anything is extracted."""
    names = [member.name for member in members]
    if MANIFEST not in names or METADATA not in names:
        raise ValueError(f"{archive}: no bundle: there is no {MANIFEST} in it; {AGAIN}")
    if len(names) != len({*names}):
        raise ValueError(f"{archive}: has several files of one name; {AGAIN}")
    for member in members:
        if not member.isreg():
            raise ValueError(f"{archive}: {member.name!r} is not a plain file; do not trust it")
        if member.name not in (MANIFEST, METADATA) and not _is_ours(member.name):
            raise ValueError(f"{archive}: {member.name!r} is not below {RESULTS}/; do not trust it")


def _is_ours(name: str) -> bool:
    path = PurePosixPath(name)
    is_below = path.parts[:1] == (RESULTS,) and len(path.parts) > 1
    return is_below and str(path) == name and "\\" not in name and not is_hidden(name)


def _set_time(path: Path, member: tarfile.TarInfo) -> None:
    """Set a file's time to the nanosecond, which tarfile does not."""
    seconds, _, rest = member.pax_headers.get("mtime", str(member.mtime)).partition(".")
    time = int(seconds) * SECOND + int(rest.ljust(9, "0")[:9])
    os.utime(path, ns=(time, time))


def _manifest(archive: Path, folder: Path) -> dict[str, Any]:
    try:
        manifest = read_sealed(folder / MANIFEST)
        checked(folder / METADATA, folder, folder / MANIFEST)
    except Unsound as fault:
        raise ValueError(f"{archive}: {fault.path.name}: {fault.reason}; {AGAIN}") from None
    if manifest.get("version") != VERSION:
        said = f"version {manifest.get('version')}, and this Collateral reads {VERSION}"
        raise ValueError(f"{archive}: {said}; unpack it with the one that wrote it")
    for name in manifest["benchmarks"]:
        if PurePosixPath(name).parts != (name,) or is_hidden(name):
            raise ValueError(f"{archive}: {name!r} is no benchmark's name; do not trust it")
    return manifest


def _check_whole(
    archive: Path, members: Sequence[tarfile.TarInfo], manifest: Mapping[str, Any]
) -> None:
    names = [PurePosixPath(member.name).parts[1:] for member in members]
    names = [name for name in names if name]
    if len(names) != manifest["num_files"]:
        said = f"{len(names)} of its {manifest['num_files']} files are there"
        raise ValueError(f"{archive}: {said}; {AGAIN}")
    known = {*manifest["benchmarks"], THEORY}
    for first, *rest in names:
        if first not in known and (rest or first != INDEX):
            raise ValueError(f"{archive}: {first!r} is no benchmark that it names; {AGAIN}")


def _check_sound(archive: Path, folder: Path, names: Iterable[str]) -> None:
    """Walk the chain, with every hash recomputed."""
    faults = [fault for name in names for fault in walk(folder / RESULTS / name).faults]
    if faults:
        lines = [f"{archive}: {fault.path}: {fault.reason}" for fault in faults]
        said = "\n".join(lines).replace(f"{folder}{os.sep}", "")
        raise ValueError(f"{said}\nnothing was changed; {AGAIN}")
