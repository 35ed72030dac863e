"""Unpack archives of `collateral bundle`; either all of their files join the results, or none.

A new file is taken. A file that differs from the one in the folder, or in another archive, is
refused. Files that are derived from several runs (metrics, tables, figures, pages) are left out if
they differ, and the next run makes them again. The files in the folder stay as they are.
"""

import filecmp
import os
import shutil
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from collateral.results import bundle, layout
from collateral.results.bundle import INDEX, MANIFEST, METADATA, RESULTS, THEORY, is_hidden
from collateral.results.files import InvalidResultError, read_json
from collateral.results.provenance import read_signed, verify
from collateral.results.verification import verify_results

AGAIN = "copy or bundle it again"
# Names of derived files and folders: PAGE in a benchmark's folder, NEIGHBOURS in a cell's.
PAGE = {*layout.PRESENTED, layout.CHECKED}
NEIGHBOURS = {
    *(Path(layout.NEIGHBOURS).name, Path(layout.NEIGHBOURS_RECORD).name),
    *(Path(layout.PICTURES).name, Path(layout.PICTURES_RECORD).name),
}


@dataclass(frozen=True)
class Source:
    """Results in a folder or from an archive."""

    label: str  # name of the source in messages
    benchmarks: Sequence[str]
    files: Mapping[str, Path]  # dict from path below the folder of results to file
    metadata: Mapping[str, Any]  # Snakemake's metadata by output path


@dataclass(frozen=True)
class Unbundled:
    """Summary of the unpacked files."""

    benchmarks: list[str]
    num_files: int  # number of new files
    left_out: list[str]  # groups of derived files that were not unpacked; the next run makes them


def unbundle(archives: Sequence[Path], results: Path) -> Unbundled:
    """Unpack archives into the folder of results; change nothing if files conflict."""
    # The temporary folder is on the same disk as the results, so that moving a file is a rename.
    beside = results.resolve().parent
    with TemporaryDirectory(prefix=".unbundle-", dir=beside) as name:
        scratch = Path(name)
        sources = [
            _unpack(archive, scratch / str(number)) for number, archive in enumerate(archives)
        ]
        benchmarks = sorted({name for source in sources for name in source.benchmarks})
        here = Source(str(results), benchmarks, bundle.results_files(results, benchmarks), {})
        origin, left_out = _join(here, sources)
        # An archive's index page is left out if it would not list all benchmarks in the folder.
        if not bundle.pages(results) <= {*benchmarks}:
            left_out.add("index")
        origin = {
            name: source
            for name, source in origin.items()
            if source is here or _derived_group(name) not in left_out
        }
        _check_sound(here, origin, scratch / "joined")
        # Metadata is written before files, because Snakemake ignores changes of files without it.
        bundle.write_metadata(results.parent, _new_metadata(sources, results, left_out))
        new = [name for name, source in origin.items() if source is not here]
        _move({name: origin[name].files[name] for name in new}, results)
    return Unbundled(benchmarks, len(new), sorted(left_out))


def _unpack(archive: Path, folder: Path) -> Source:
    """Extract an archive into an empty folder; raise if it is damaged or not from `bundle`."""
    if not archive.is_file():
        raise ValueError(f"{archive}: there is no such file")
    try:
        with tarfile.open(archive, "r:") as file:
            members = file.getmembers()
            _check_names(archive, members)
            file.extractall(folder, members, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{archive}: broken, or no bundle: {error}; {AGAIN}") from None
    manifest = _read_manifest(archive, folder)
    _check_complete(archive, members, manifest)
    benchmarks = manifest["benchmarks"]
    known = tuple(f"{RESULTS}/{name}/" for name in (*benchmarks, THEORY))
    metadata = {
        output: content
        for output, content in read_json(folder / METADATA).items()
        if output.startswith(known) or output == f"{RESULTS}/{INDEX}"
    }
    files = bundle.results_files(folder / RESULTS, benchmarks)
    return Source(str(archive), benchmarks, files, metadata)


def _check_names(archive: Path, members: Sequence[tarfile.TarInfo]) -> None:
    """Raise for links and for names outside results/ before anything is extracted."""
    names = [member.name for member in members]
    if MANIFEST not in names or METADATA not in names:
        raise ValueError(f"{archive}: no bundle: there is no {MANIFEST} in it; {AGAIN}")
    if len(names) != len({*names}):
        raise ValueError(f"{archive}: has several files of one name; {AGAIN}")
    for member in members:
        if not member.isreg():
            raise ValueError(f"{archive}: {member.name!r} is not a plain file; do not trust it")
        if member.name not in (MANIFEST, METADATA) and not _is_below_results(member.name):
            raise ValueError(f"{archive}: {member.name!r} is not below {RESULTS}/; do not trust it")


def _is_below_results(name: str) -> bool:
    path = PurePosixPath(name)
    is_below = path.parts[:1] == (RESULTS,) and len(path.parts) > 1
    return is_below and str(path) == name and "\\" not in name and not is_hidden(name)


def _read_manifest(archive: Path, folder: Path) -> dict[str, Any]:
    try:
        manifest = read_signed(folder / MANIFEST)
        verify(folder / METADATA, folder, folder / MANIFEST)
    except InvalidResultError as fault:
        raise ValueError(f"{archive}: {fault.path.name}: {fault.reason}; {AGAIN}") from None
    if manifest.get("version") != bundle.VERSION:
        versions = f"version {manifest.get('version')}, and this Collateral reads {bundle.VERSION}"
        raise ValueError(f"{archive}: {versions}; unpack it with the one that wrote it")
    for name in manifest["benchmarks"]:
        if PurePosixPath(name).parts != (name,) or is_hidden(name):
            raise ValueError(f"{archive}: {name!r} is no benchmark's name; do not trust it")
    return manifest


def _check_complete(
    archive: Path, members: Sequence[tarfile.TarInfo], manifest: Mapping[str, Any]
) -> None:
    """Raise if the number of files or a benchmark's name differs from the archive's manifest."""
    names = [*filter(None, (PurePosixPath(member.name).parts[1:] for member in members))]
    if len(names) != manifest["num_files"]:
        counts = f"{len(names)} of its {manifest['num_files']} files are there"
        raise ValueError(f"{archive}: {counts}; {AGAIN}")
    known = {*manifest["benchmarks"], THEORY}
    for first, *rest in names:
        if first not in known and (rest or first != INDEX):
            raise ValueError(f"{archive}: {first!r} is no benchmark that it names; {AGAIN}")


def _join(here: Source, archives: Sequence[Source]) -> tuple[dict[str, Source], set[str]]:
    """Return the first source that has each file, and the groups of derived files to leave out.

    A group is left out, and the index page with it, if two sources have different contents of one
    of its files. Raise if the contents of any other file differ, except for cost.json.
    """
    origin, left_out, conflicts = dict[str, Source](), set[str](), []
    for source in (here, *archives):
        for name, path in source.files.items():
            first = origin.setdefault(name, source)
            # cost.json differs between machines, so it never counts as a conflict.
            is_cost = PurePosixPath(name).name == layout.COST
            if is_cost or filecmp.cmp(first.files[name], path, shallow=False):
                continue
            if group := _derived_group(name):
                left_out |= {group, "index"}
            else:
                conflicts.append(f"{RESULTS}/{name}: differs: {first.label} and {source.label}")
    if conflicts:
        remedy = "nothing was changed; `collateral verify` checks the results here"
        raise ValueError("\n".join([*conflicts, remedy]))
    return origin, left_out


def _derived_group(name: str) -> str | None:
    """Return the name of the group of derived files that a file is in; None if it is in none."""
    first, *rest = PurePosixPath(name).parts
    if first == THEORY or name == INDEX:
        return THEORY if first == THEORY else "index"
    if rest and (rest[0] in PAGE or (len(rest) == 2 and rest[1] in layout.CELL_NUMBERS)):
        return f"{first} metrics, tables, figures and page"
    if len(rest) == 2 and rest[1] in NEIGHBOURS:
        return f"{first} {rest[0]} neighbours and pictures"
    return None


def _check_sound(here: Source, origin: Mapping[str, Source], joined: Path) -> None:
    """Verify the files of all sources together, as links in one folder, before any is moved."""
    for name, source in origin.items():
        (joined / name).parent.mkdir(parents=True, exist_ok=True)
        (joined / name).symlink_to(source.files[name].absolute())
    faults = [
        fault
        for name in (*here.benchmarks, THEORY)
        for fault in verify_results(joined / name).faults
    ]
    if not faults:
        return
    lines = []
    for fault in faults:
        name = fault.path.relative_to(joined).as_posix()
        reason = fault.reason.replace(f"{joined}{os.sep}", f"{RESULTS}/")
        lines.append(f"{origin.get(name, here).label}: {RESULTS}/{name}: {reason}")
    remedy = f"{AGAIN} if an archive is damaged; `collateral verify --fix` deletes damaged results"
    raise ValueError("\n".join([*lines, f"nothing was changed: {remedy}"]))


def _new_metadata(sources: Sequence[Source], results: Path, left_out: set[str]) -> dict[str, Any]:
    """Return the Snakemake metadata to write: of new files, and of present files that have none."""
    given: dict[str, Any] = {}
    # If several archives have metadata of a file, that of the first archive is used.
    for source in reversed(sources):
        given |= source.metadata
    here = bundle.read_metadata(results.parent, given)
    names = {output: output.removeprefix(f"{RESULTS}/") for output in given}
    return {
        output: content
        for output, content in given.items()
        if _derived_group(names[output]) not in left_out
        if not (output in here and (results / names[output]).exists())
    }


def _move(files: Mapping[str, Path], results: Path) -> None:
    """Move new files; give them one timestamp, so that Snakemake considers none of them outdated.

    A file whose record is in the folder already gets the time of the record, because the folder may
    have files that were made from it, and these must not be older.
    """
    records = {name: results / layout.record_path(Path(name)) for name in files}
    known = {name: path.stat().st_mtime_ns for name, path in records.items() if path.exists()}
    now = time.time_ns()
    for name, path in files.items():
        target = results / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
        os.utime(target, ns=(known.get(name, now),) * 2)
