"""Archives of results: write benchmarks to a tar file, and unpack tar files into the local results.

An archive has manifest.json, metadata.json (Snakemake's metadata of the results) and results/: the
folders of the benchmarks, the theory, and the index page if it shows no other benchmark. From
these metadata, Snakemake (9.27) sees whether the parameters or the code of a job have changed.

To join, a new file is taken, and a file that differs from the one here, or in another archive, is
refused. Files that are derived from several runs (metrics, tables, figures, pages) are left out if
they differ, and the next run makes them again. The files here stay as they are.
"""

import filecmp
import os
import shutil
import tarfile
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from collateral.contract.conventions import ALL_PICTURES
from collateral.results import layout
from collateral.results.files import InvalidResultError, atomic, read_json, write_json
from collateral.results.provenance import read_record, read_signed, verify, write_record
from collateral.results.verification import verify_results

VERSION = 1
OWN = MANIFEST, METADATA = "manifest.json", "metadata.json"  # files of an archive
RESULTS = "results"
THEORY = layout.THEORY
INDEX = layout.REPORT  # name of the index page, in the folder of results
STATE = ".snakemake"  # folder where Snakemake stores its metadata, beside the results
KNOWN, INCOMPLETE = "metadata", "incomplete"  # names of two subfolders of .snakemake
TIMESTAMP = ".snakemake_timestamp"  # file that Snakemake writes into each output folder
# Files and folders that an archive without models leaves out.
WITHOUT_MODELS = {layout.MODEL, layout.DATA, layout.EMBEDDINGS, layout.PREPARED}
# Files and folders that contain images: the data set, and results of `prepare` (such as AMUN's).
WITH_IMAGES = {layout.DATA, layout.PREPARED}
# Names of files and folders that are derived from several runs.
# PAGE is in the folder of a benchmark, NEIGHBOURS in the folder of a cell.
PAGE = {*layout.PRESENTED, layout.CHECKED}
PICTURES = {Path(layout.PICTURES).name, Path(layout.PICTURES_RECORD).name}
NEIGHBOURS = {
    *(Path(layout.NEIGHBOURS).name, Path(layout.NEIGHBOURS_RECORD).name),
    *PICTURES,
}
AGAIN = "copy or bundle the archive again"
NOT_WRITTEN = (
    "nothing was written: `collateral verify --fix` deletes damaged results, and a run makes them "
    "again"
)
UNCHANGED = (
    "nothing was changed: `collateral verify --fix` deletes damaged results; "
    f"if an archive is damaged, {AGAIN}"
)

Files = dict[str, Path]  # where each file is now, by its path relative to the results


@dataclass(frozen=True)
class Bundle:
    """Summary of an archive that was written."""

    num_files: int
    unwatched: list[str]  # files without Snakemake's metadata
    withheld: list[str]  # benchmarks whose images are left out of the archive


def write_bundle(
    out: Path, folders: Sequence[Path], *, with_models: bool, seeds: Sequence[int] = ()
) -> Bundle:
    """Write the results of benchmarks to an archive; raise if they are damaged or unfinished.

    With `seeds`, write what these seeds alone have made, and nothing that is derived from several.
    """
    results = _results_folder(folders)
    names = sorted({folder.name for folder in folders})
    if out.resolve().is_relative_to(results.resolve()):
        raise ValueError(f"--out: {out}: lies in the results; choose a place outside of {results}")
    if faults := _find_faults(results, names):
        raise ValueError("\n".join([*(f"{one.path}: {one.reason}" for one in faults), NOT_WRITTEN]))
    withheld = [name for name in names if _withholds_pictures(results / name)]
    files = {
        name: path
        for name, path in _list_files(results, names).items()
        if not _is_left_out(name, withheld, with_models=with_models, seeds=seeds)
    }
    if missing := [seed for seed in seeds if not any(_has_seed(name, seed) for name in files)]:
        raise ValueError(f"--seeds: {missing[0]}: no results of this seed")
    # Snakemake has no metadata of files in folders of other names.
    metadata = _finished_metadata(results.parent, names) if results.name == RESULTS else {}
    if seeds:  # of other seeds, their own archives have the metadata
        metadata = {out: metadata[out] for out in metadata if _is_of_seeds(_below(out), seeds)}
    about = {"version": VERSION, "num_files": len(files), "with_models": with_models}
    _write(out, {**about, "benchmarks": names}, metadata, files)
    unwatched = [name for name in files if not _is_watched(name, metadata)]
    return Bundle(len(files), unwatched, withheld)


def _finished_metadata(project: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return Snakemake's metadata of the results; raise if the job of a result did not end."""
    for output in list_outputs(project, INCOMPLETE, names):
        if (project / output).exists():
            raise ValueError(f"{output}: its job did not end; run again, and bundle then")
    # Snakemake also keeps metadata of deleted files and of failed jobs.
    # Metadata of a missing file are kept only if its record is there: a model may not be copied.
    return {
        output: content
        for output, content in read_metadata(project, names).items()
        if (path := project / output).exists() or layout.record_path(path).exists()
    }


def _below(output: str) -> str:
    """Return the path of an output relative to the results."""
    return PurePosixPath(output).relative_to(RESULTS).as_posix()


def _is_watched(name: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether Snakemake would notice a change in the code or parameters that made a file."""
    path = PurePosixPath(RESULTS, name)
    # Files of `prepare` and timestamps need no metadata, because they are not outputs of a rule.
    if layout.PREPARED in path.parts or path.name == TIMESTAMP:
        return True
    return any(str(above) in metadata for above in (path, *path.parents))


def _results_folder(folders: Sequence[Path]) -> Path:
    """Return the folder of results, which contains the folders of all given benchmarks."""
    # Symbolic links are kept, because the folder of results may be a link to a larger disk.
    paths = [Path.cwd() / os.path.normpath(folder) for folder in folders]
    results = paths[0].parent
    for path in paths:
        if not (path / layout.DATA_RECORD).is_file():
            raise ValueError(f"{path}: no benchmark's folder: there is no {layout.DATA_RECORD}")
        if path.parent != results:
            raise ValueError(f"{path}: not in {results}, as the first benchmark; bundle it apart")
    return results


def _find_faults(results: Path, names: Iterable[str]) -> list[InvalidResultError]:
    """Return the faults of benchmarks and theory."""
    return [f for name in (*names, THEORY) for f in verify_results(results / name).faults]


def _list_files(results: Path, names: Iterable[str]) -> Files:
    """Return the files of benchmarks and theory, and the index page, without hidden files."""
    folders = [results / name for name in (*sorted(names), THEORY)]
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    shows_all = _list_pages(results) <= {*names}
    paths += [results / INDEX] if shows_all and (results / INDEX).is_file() else []
    found = {path.relative_to(results).as_posix(): path for path in paths}
    return {name: path for name, path in found.items() if not _is_hidden(name)}


def _list_pages(results: Path) -> set[str]:
    """Return the names of the benchmarks that the index page shows."""
    return {glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}")}


def _is_hidden(name: str) -> bool:
    """Return whether a file, or a folder above it, is hidden; timestamp files do not count."""
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") and part != TIMESTAMP for part in parts)


def _withholds_pictures(folder: Path) -> bool:
    """Return whether the config forbids to show the images of some examples of a benchmark."""
    records = folder.glob(layout.PICTURES_RECORD.format(cell="*"))
    return any(read_record(record, folder)["keep"] != ALL_PICTURES for record in records)


def _is_left_out(
    name: str, withheld: Sequence[str], *, with_models: bool, seeds: Sequence[int] = ()
) -> bool:
    """Return whether the archive omits a file because of images, models or other seeds."""
    first, *rest = PurePosixPath(name).parts
    if seeds and not _is_of_seeds(name, seeds):
        return True
    if with_models:
        return first in withheld and not WITH_IMAGES.isdisjoint(rest)
    # The near examples follow from the embeddings of all seeds, so each seed brings its own.
    left_out = WITHOUT_MODELS - ({layout.EMBEDDINGS} if seeds else set())
    return not left_out.isdisjoint((first, *rest))


def _is_of_seeds(name: str, seeds: Iterable[int]) -> bool:
    """Return whether a file belongs to one of the seeds, or to the data, a split or tuning."""
    is_of_a_seed = any(part.startswith("seed-") for part in PurePosixPath(name).parts)
    is_of_these = not is_of_a_seed or any(_has_seed(name, seed) for seed in seeds)
    return is_of_these and not _derived_group(name)


def _has_seed(name: str, seed: int) -> bool:
    return f"seed-{seed}" in PurePosixPath(name).parts


def _write(
    out: Path, about: Mapping[str, Any], metadata: Mapping[str, Any], files: Mapping[str, Path]
) -> None:
    with TemporaryDirectory() as name, atomic(out) as temporary:
        own = {part: Path(name) / part for part in OWN}
        write_json(own[METADATA], metadata)
        write_record(own[MANIFEST], about, root=Path(name), files=[own[METADATA]])
        added = own | {f"{RESULTS}/{part}": path for part, path in files.items()}
        with tarfile.open(temporary, "w") as archive:
            for part, path in added.items():
                # Owner and time are not stored, so that equal files give equal archives.
                member = tarfile.TarInfo(part)
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(member, file)


@dataclass(frozen=True)
class Unbundled:
    """Summary of the unpacked files."""

    benchmarks: list[str]
    num_files: int  # number of new files
    left_out: list[str]  # groups of derived files that were not unpacked; the next run makes them


def unbundle(archives: Sequence[Path], results: Path) -> Unbundled:
    """Unpack archives into the folder of results; if files conflict, raise and change nothing."""
    # The temporary folder is on the same disk as the results, so that moving a file is a rename.
    with TemporaryDirectory(prefix=".unbundle-", dir=results.resolve().parent) as name:
        scratch = Path(name)
        folders = {archive: scratch / str(number) for number, archive in enumerate(archives)}
        files = {archive: _unpack(archive, folder) for archive, folder in folders.items()}
        tops = {PurePosixPath(name).parts[0] for found in files.values() for name in found}
        benchmarks = sorted(tops - {THEORY, INDEX})
        here = _list_files(results, benchmarks)
        origin, left_out = _join({results: here, **files})
        # An archive's index page is left out if it would not list all benchmarks in the folder.
        if not _list_pages(results) <= {*benchmarks}:
            left_out.add("index")
        archive_by_name = {
            name: source
            for name, source in origin.items()
            if source in files and _derived_group(name) not in left_out
        }
        new = {name: files[archive][name] for name, archive in archive_by_name.items()}
        # Local files and new files are verified together, as links in one folder.
        for name, path in {**here, **new}.items():
            (scratch / RESULTS / name).parent.mkdir(parents=True, exist_ok=True)
            (scratch / RESULTS / name).symlink_to(path.absolute())
        if faults := _find_faults(scratch / RESULTS, benchmarks):
            raise ValueError(_describe_faults(faults, scratch / RESULTS, results, archive_by_name))
        # Metadata is written before the files.
        # Snakemake does not notice changes of files that have no metadata.
        added = _new_metadata(folders.values(), benchmarks, results, left_out)
        write_metadata(results.parent, added)
        _move(new, results)
    return Unbundled(benchmarks, len(new), sorted(left_out))


def _unpack(archive: Path, folder: Path) -> Files:
    """Extract an archive to an empty folder; raise if it is damaged or not made by `bundle`."""
    if archive.exists() and not archive.is_file():  # reading a pipe may not end
        raise ValueError(f"{archive}: no plain file; {AGAIN}")
    try:
        with tarfile.open(archive, "r:") as file:
            members = file.getmembers()
            if wrong := [member.name for member in members if not _is_plain(member)]:
                found = f"{wrong[0]!r} is no plain file below {RESULTS}/"
                raise ValueError(f"{archive}: {found}; do not trust it")
            # Not by `extractall`: before Python 3.11.4 it has no filter for dangerous members.
            for member in members:
                target, content = folder / member.name, file.extractfile(member)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as unpacked:
                    shutil.copyfileobj(cast("IO[bytes]", content), unpacked)
        manifest = read_signed(folder / MANIFEST)
        verify(folder / METADATA, folder, folder / MANIFEST)
        if not isinstance(read_json(folder / METADATA), dict):
            raise InvalidResultError(folder / METADATA, f"{METADATA} is not a mapping")
    except (OSError, tarfile.TarError, EOFError, InvalidResultError) as error:
        reason = getattr(error, "reason", error)
        raise ValueError(f"{archive}: broken, or no bundle: {reason}; {AGAIN}") from None
    if manifest.get("version") != VERSION:
        versions = f"version {manifest.get('version')}, and this Collateral reads {VERSION}"
        raise ValueError(f"{archive}: {versions}; unpack it with the one that wrote it")
    # The names of benchmarks are not read from the manifest.
    # A forged name could lead to files outside of the folder.
    benchmarks = {path.name for path in folder.glob(f"{RESULTS}/*") if path.is_dir()} - {THEORY}
    files = _list_files(folder / RESULTS, benchmarks)
    is_listed = len(files) == len(members) - len(OWN) == manifest["num_files"]
    if not is_listed or benchmarks != {*manifest["benchmarks"]}:
        counts = f"{len(files)} of its {manifest['num_files']} files are there"
        raise ValueError(f"{archive}: {counts}, or others too; {AGAIN}")
    return files


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Tell whether a member of an archive is a regular file at a place that `bundle` writes to."""
    is_known = member.name in OWN or member.name.startswith(f"{RESULTS}/")
    return is_known and member.isreg() and ".." not in PurePosixPath(member.name).parts


def _join(sources: Mapping[Path, Files]) -> tuple[dict[str, Path], set[str]]:
    """Return the first source that has each file, and the groups of derived files to leave out.

    A source is the folder of results, or an archive. A group is left out, and the index page with
    it, if two sources have different contents of one of its files. Raise if the contents of any
    other file differ, except for cost.json.
    """
    origin, left_out, conflicts = dict[str, Path](), set[str](), []
    for source, files in sources.items():
        for name, path in files.items():
            first = origin.setdefault(name, source)
            # cost.json differs between machines, so it never counts as a conflict.
            # Nor do pictures: of methods made apart, those of the first source are enough.
            is_same = first == source or path.name in (layout.COST, *PICTURES)
            if is_same or filecmp.cmp(sources[first][name], path, shallow=False):
                continue
            if group := _derived_group(name):
                left_out |= {group, "index"}
            else:
                conflicts.append(f"{RESULTS}/{name}: differs: {first} and {source}")
    if conflicts:
        raise ValueError("\n".join([*conflicts, UNCHANGED]))
    return origin, left_out


def _describe_faults(
    faults: Iterable[InvalidResultError],
    joined: Path,
    results: Path,
    archive_by_name: Mapping[str, Path],
) -> str:
    """Return an error text: the archive of each faulty file, and its path below `results`."""
    lines = []
    for fault in faults:
        archive = archive_by_name.get(fault.path.relative_to(joined).as_posix())
        line = f"{fault.path}: {fault.reason}".replace(str(joined), str(results))
        lines.append(f"{archive}: {line}" if archive else line)
    return "\n".join([*lines, UNCHANGED])


def _derived_group(name: str) -> str | None:
    """Return the group of derived files that a file belongs to; None if the file is not derived."""
    first, *rest = PurePosixPath(name).parts
    if first in (THEORY, INDEX):
        return THEORY if first == THEORY else "index"
    is_in_cell = len(rest) == 2
    if rest[0] in PAGE or (is_in_cell and rest[1] in layout.CELL_NUMBERS):
        return f"{first} metrics, tables, figures and page"
    if is_in_cell and rest[1] in NEIGHBOURS:
        return f"{first} {rest[0]} neighbours and pictures"
    return None


def _new_metadata(
    folders: Iterable[Path], names: Iterable[str], results: Path, left_out: set[str]
) -> dict[str, Any]:
    """Return the Snakemake metadata to write: for new files and local files without metadata."""
    given: dict[str, Any] = {}
    # If several archives have metadata of a file, the metadata of the first archive is used.
    for folder in folders:
        given = read_json(folder / METADATA) | given
    here = read_metadata(results.parent, names)
    return {
        output: content
        for output, content in given.items()
        if output.startswith(_prefixes(names))
        if _derived_group(output.removeprefix(f"{RESULTS}/")) not in left_out
        if not (output in here and (results.parent / output).exists())
    }


def _move(files: Files, results: Path) -> None:
    """Move new files to the results, with equal timestamps, so that Snakemake finds none outdated.

    A file whose record is in the folder already gets the time of the record, because the folder may
    have files that were made from it, and these must not be older.
    """
    now = time.time_ns()
    for name, path in files.items():
        target, record = results / name, results / layout.record_path(Path(name))
        made = record.stat().st_mtime_ns if record.exists() else now
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
        os.utime(target, ns=(made, made))


def read_metadata(project: Path, names: Iterable[str]) -> dict[str, Any]:
    """Return Snakemake's metadata of all outputs of benchmarks, theory and index, by path."""
    found = {}
    for output, path in list_outputs(project, KNOWN, names).items():
        with suppress(InvalidResultError):  # Snakemake ignores a damaged file of metadata, too
            found[output] = read_json(path)
    return {output: content for output, content in found.items() if content}


def list_outputs(project: Path, kind: str, names: Iterable[str]) -> Files:
    """Return Snakemake's files of one kind (KNOWN or INCOMPLETE) by the output they describe."""
    folder, found = project / STATE / kind, {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        encoded = "".join(part.removeprefix("@") for part in path.relative_to(folder).parts)
        with suppress(ValueError):  # the name of a file that is not Snakemake's
            output = urlsafe_b64decode(encoded).decode()
            if output.startswith(_prefixes(names)):
                found[output] = path
    return found


def write_metadata(project: Path, metadata: Mapping[str, Any]) -> None:
    """Write Snakemake's files of metadata; a file name that is too long is split into folders."""
    # Both folders are made: if only one exists, Snakemake assumes that an older version made it.
    for kind in (KNOWN, INCOMPLETE):
        (project / STATE / kind).mkdir(parents=True, exist_ok=True)
    # Like Snakemake, count a maximum length of 0 as 255.
    longest = (os.pathconf(project / STATE, "PC_NAME_MAX") if os.name == "posix" else 0) or 255
    length = longest - 1
    for output, content in metadata.items():
        name = urlsafe_b64encode(output.encode()).decode()
        *above, last = (name[start : start + length] for start in range(0, len(name), length))
        path = Path(project / STATE / KNOWN, *(f"@{part}" for part in above), last)
        write_json(path, content, sort_keys=False)


def _prefixes(names: Iterable[str]) -> tuple[str, ...]:
    """Return the prefixes of the paths of all outputs of benchmarks, theory and index page."""
    return (*(f"{RESULTS}/{name}/" for name in (*names, THEORY)), f"{RESULTS}/{INDEX}")
