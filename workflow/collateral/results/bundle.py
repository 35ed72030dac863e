"""Results in one archive: all that tables, figures and page need, or everything.

In it: manifest.json; metadata.json, which is Snakemake's own of these files; and results/, with the
folders of the benchmarks, the theory, and the index if it shows no other page.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from collateral.contract.showing import ALL_PICTURES
from collateral.results import layout
from collateral.results.chain import read_sealed, write_record
from collateral.results.files import atomic, write_json
from collateral.results.metadata import TIMESTAMP, incomplete, read_metadata
from collateral.results.verification import walk

VERSION = 1
MANIFEST = "manifest.json"
METADATA = "metadata.json"
RESULTS = "results"
THEORY = "theory"
INDEX = layout.REPORT  # beside the benchmarks' folders
LEFT_BEHIND = {layout.MODEL, layout.DATA, layout.EMBEDDINGS, layout.PREPARED}
WITH_IMAGES = {layout.DATA, layout.PREPARED}  # AMUN prepares images much like the forgotten ones
SECOND = 10**9  # nanoseconds


@dataclass(frozen=True)
class Bundle:
    """What was written."""

    num_files: int
    unwatched: list[str]  # of which Snakemake has no metadata
    withheld: list[str]  # benchmarks whose images stay behind


def write_bundle(out: Path, folders: Sequence[Path], *, with_models: bool) -> Bundle:
    """Write the results of benchmarks; refuse what is not sound, or not complete."""
    results = _results_of(folders)
    names = sorted({folder.name for folder in folders})
    if out.resolve().is_relative_to(results.resolve()):
        raise ValueError(f"--out: {out}: lies in the results; choose a place outside of {results}")
    absent = _check_sound(results, names)
    files = results_files(results, names)
    outputs = _with_folders([*files, *(_name(path, results) for path in absent)])
    metadata = _metadata_of(results, outputs)
    withheld = [name for name in names if _withholds_pictures(results / name)]
    taken = {
        name: path
        for name, path in files.items()
        if not (_shows_images(name, withheld) if with_models else _stays(name))
    }
    about = {
        "version": VERSION,
        "benchmarks": names,
        "num_files": len(taken),
        "with_models": with_models,
    }
    _write(out, about, metadata, taken)
    unwatched = [name for name in taken if not _is_watched(name, metadata)]
    return Bundle(len(taken), unwatched, withheld)


def results_files(results: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return all files of benchmarks and of what goes with them, by name below `results`."""
    folders = [results / name for name in (*sorted(names), THEORY)]
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    is_whole = pages(results) <= {*names}
    paths += [results / INDEX] if is_whole and (results / INDEX).is_file() else []
    found = {_name(path, results): path for path in paths}
    return {name: path for name, path in found.items() if not is_hidden(name)}


def pages(results: Path) -> set[str]:
    """Return the benchmarks that the index shows."""
    return {glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}")}


def is_hidden(name: str) -> bool:
    """Tell whether a file is nobody else's business; the time of a folder is."""
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") and part != TIMESTAMP for part in parts)


def _results_of(folders: Sequence[Path]) -> Path:
    """Return the folder of results, in which all these are."""
    for folder in folders:
        if not (folder / layout.DATA_RECORD).is_file():
            raise ValueError(f"{folder}: no benchmark's folder: there is no {layout.DATA_RECORD}")
    # Not resolved: a folder of results may be a link to a larger disk.
    found = {(Path.cwd() / os.path.normpath(folder)).parent for folder in folders}
    if len(found) > 1:
        raise ValueError(f"benchmarks of several folders: {', '.join(map(str, sorted(found)))}")
    return found.pop()


def _check_sound(results: Path, names: Iterable[str]) -> list[Path]:
    """Walk the chain; return what is not here, and need not be."""
    walks = [walk(results / name) for name in (*names, THEORY)]
    faults = [fault for found in walks for fault in found.faults]
    if faults:
        lines = [f"{fault.path}: {fault.reason}" for fault in faults]
        remedy = "`collateral verify --fix` deletes it, and a run makes it again"
        raise ValueError("\n".join([*lines, f"nothing was written: {remedy}"]))
    return [path for found in walks for path in found.absent]


def _metadata_of(results: Path, outputs: Sequence[str]) -> dict[str, Any]:
    if results.name != RESULTS:  # a copy, of which Snakemake knows nothing
        return {}
    paths = [f"{RESULTS}/{output}" for output in outputs]
    if unfinished := incomplete(results.parent, paths):
        raise ValueError(f"{unfinished[0]}: its job did not end; run again, and bundle then")
    return read_metadata(results.parent, paths)


def _with_folders(names: Sequence[str]) -> list[str]:
    """Return all that may be the output of a rule."""
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    return [*names, *sorted(folders - {"."})]


def _is_watched(name: str, metadata: dict[str, Any]) -> bool:
    """Tell whether Snakemake would notice that a file was made otherwise."""
    path = PurePosixPath(RESULTS, name)
    if layout.PREPARED in path.parts or path.name == TIMESTAMP:  # not the output of a rule
        return True
    return any(str(above) in metadata for above in (path, *path.parents))


def _withholds_pictures(folder: Path) -> bool:
    """Tell whether a cell of a benchmark may not show all pictures of its examples."""
    records = folder.glob(layout.PICTURES_RECORD.format(cell="*"))
    return any(read_sealed(record, folder)["keep"] != ALL_PICTURES for record in records)


def _stays(name: str) -> bool:
    return not LEFT_BEHIND.isdisjoint(PurePosixPath(name).parts)


def _shows_images(name: str, withheld: Sequence[str]) -> bool:
    """Tell whether a file has images that its benchmark withholds."""
    first, *rest = PurePosixPath(name).parts
    return first in withheld and not WITH_IMAGES.isdisjoint(rest)


def _name(path: Path, results: Path) -> str:
    return path.relative_to(results).as_posix()


def _write(
    out: Path, about: dict[str, Any], metadata: dict[str, Any], files: dict[str, Path]
) -> None:
    with TemporaryDirectory() as name, atomic(out) as temporary:
        own = {part: Path(name) / part for part in (MANIFEST, METADATA)}
        write_json(own[METADATA], metadata)
        write_record(own[MANIFEST], about, root=Path(name), files=[own[METADATA]])
        with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as archive:
            for part, path in own.items():
                _add(archive, part, path, time=0)
            for part, path in files.items():
                _add(archive, f"{RESULTS}/{part}", path, path.stat().st_mtime_ns)


def _add(archive: tarfile.TarFile, name: str, path: Path, time: int) -> None:
    """Add a file, also where a link stands for it, without owner and with its exact time."""
    member = tarfile.TarInfo(name)
    member.size = path.stat().st_size
    member.mtime = time // SECOND
    member.pax_headers = {"mtime": f"{time // SECOND}.{time % SECOND:09}"}
    with path.open("rb") as file:
        archive.addfile(member, file)
