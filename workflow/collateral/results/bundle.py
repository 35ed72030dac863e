"""Write results of benchmarks into one tar archive, with or without models and data sets.

The archive has manifest.json, metadata.json (Snakemake's metadata of these files) and results/: the
folders of the benchmarks, the theory, and the index page if it shows no other benchmark. From
these metadata, Snakemake (9.27) sees whether the parameters or the code of a job have changed.
"""

import os
import tarfile
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from collateral.contract.conventions import ALL_PICTURES
from collateral.results import layout
from collateral.results.files import InvalidResultError, atomic, read_json, write_json
from collateral.results.provenance import read_signed, write_record
from collateral.results.verification import verify_results

VERSION = 1
MANIFEST = "manifest.json"
METADATA = "metadata.json"
RESULTS = "results"
THEORY = "theory"
INDEX = layout.REPORT  # name of the index page, in the folder of results
STATE = ".snakemake"  # folder where Snakemake stores its metadata, beside the results
KNOWN, INCOMPLETE = "metadata", "incomplete"  # names of two subfolders of .snakemake
TIMESTAMP = ".snakemake_timestamp"  # file that Snakemake writes into each output folder
# Files and folders that an archive without models leaves out.
WITHOUT_MODELS = {layout.MODEL, layout.DATA, layout.EMBEDDINGS, layout.PREPARED}
# Files and folders with images: the data set, and what `prepare` writes (AMUN: similar images).
WITH_IMAGES = {layout.DATA, layout.PREPARED}


@dataclass(frozen=True)
class Bundle:
    """Summary of an archive that was written."""

    num_files: int
    unwatched: list[str]  # files without Snakemake metadata
    withheld: list[str]  # benchmarks whose images are left out of the archive


def write_bundle(out: Path, folders: Sequence[Path], *, with_models: bool) -> Bundle:
    """Write the results of benchmarks to an archive; raise if they are damaged or unfinished."""
    results = _results_folder(folders)
    names = sorted({folder.name for folder in folders})
    if out.resolve().is_relative_to(results.resolve()):
        raise ValueError(f"--out: {out}: lies in the results; choose a place outside of {results}")
    absent = _check_sound(results, names)
    files = results_files(results, names)
    metadata = _read_metadata(results, [*files, *(_name(path, results) for path in absent)])
    withheld = [name for name in names if _withholds_pictures(results / name)]
    files = {
        name: path
        for name, path in files.items()
        if not _is_left_out(name, withheld, with_models=with_models)
    }
    about = {"version": VERSION, "num_files": len(files), "with_models": with_models}
    _write(out, {**about, "benchmarks": names}, metadata, files)
    unwatched = [name for name in files if not _is_watched(name, metadata)]
    return Bundle(len(files), unwatched, withheld)


def results_files(results: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return a dict from path below `results` to file: benchmarks, theory and index page."""
    folders = [results / name for name in (*sorted(names), THEORY)]
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    shows_all = pages(results) <= {*names}
    paths += [results / INDEX] if shows_all and (results / INDEX).is_file() else []
    found = {_name(path, results): path for path in paths}
    return {name: path for name, path in found.items() if not is_hidden(name)}


def pages(results: Path) -> set[str]:
    """Return the names of the benchmarks that the index page shows."""
    return {glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}")}


def is_hidden(name: str) -> bool:
    """Return whether a file or a folder above it is hidden; Snakemake's timestamp files are not."""
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") and part != TIMESTAMP for part in parts)


def _results_folder(folders: Sequence[Path]) -> Path:
    """Return the folder of results that contains the folders of all these benchmarks."""
    for folder in folders:
        if not (folder / layout.DATA_RECORD).is_file():
            raise ValueError(f"{folder}: no benchmark's folder: there is no {layout.DATA_RECORD}")
    # Links are not resolved: the folder of results may be a link to a larger disk.
    found = {(Path.cwd() / os.path.normpath(folder)).parent for folder in folders}
    if len(found) > 1:
        raise ValueError(f"benchmarks of several folders: {', '.join(map(str, sorted(found)))}")
    return found.pop()


def _check_sound(results: Path, names: Iterable[str]) -> list[Path]:
    """Raise if results are damaged; return the paths of optional files that are absent."""
    walks = [verify_results(results / name) for name in (*names, THEORY)]
    faults = [fault for found in walks for fault in found.faults]
    if faults:
        lines = [f"{fault.path}: {fault.reason}" for fault in faults]
        remedy = "`collateral verify --fix` deletes it, and a run makes it again"
        raise ValueError("\n".join([*lines, f"nothing was written: {remedy}"]))
    return [path for found in walks for path in found.absent]


def _read_metadata(results: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return Snakemake's metadata of files and of their parent folders."""
    if results.name != RESULTS:  # Snakemake has no metadata of files in other folders.
        return {}
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    outputs = [f"{RESULTS}/{name}" for name in (*names, *sorted(folders - {"."}))]
    for output in outputs:
        if _metadata_path(results.parent, INCOMPLETE, output).is_file():
            raise ValueError(f"{output}: its job did not end; run again, and bundle then")
    return read_metadata(results.parent, outputs)


def _is_watched(name: str, metadata: dict[str, Any]) -> bool:
    """Return whether Snakemake would notice a change in the code or parameters that made a file."""
    path = PurePosixPath(RESULTS, name)
    # Files of `prepare` and timestamps need no metadata, because they are not outputs of a rule.
    if layout.PREPARED in path.parts or path.name == TIMESTAMP:
        return True
    return any(str(above) in metadata for above in (path, *path.parents))


def _withholds_pictures(folder: Path) -> bool:
    """Return whether the config hides images of some examples of a benchmark."""
    records = folder.glob(layout.PICTURES_RECORD.format(cell="*"))
    return any(read_signed(record, folder)["keep"] != ALL_PICTURES for record in records)


def _is_left_out(name: str, withheld: Sequence[str], *, with_models: bool) -> bool:
    """Return whether the archive omits a file because of withheld images or `with_models=False`."""
    first, *rest = PurePosixPath(name).parts
    if with_models:
        return first in withheld and not WITH_IMAGES.isdisjoint(rest)
    return not WITHOUT_MODELS.isdisjoint((first, *rest))


def _name(path: Path, results: Path) -> str:
    return path.relative_to(results).as_posix()


def _write(
    out: Path, about: dict[str, Any], metadata: dict[str, Any], files: dict[str, Path]
) -> None:
    with TemporaryDirectory() as name, atomic(out) as temporary:
        own = {part: Path(name) / part for part in (MANIFEST, METADATA)}
        write_json(own[METADATA], metadata)
        write_record(own[MANIFEST], about, root=Path(name), files=[own[METADATA]])
        added = own | {f"{RESULTS}/{part}": path for part, path in files.items()}
        with tarfile.open(temporary, "w") as archive:
            for part, path in added.items():
                # The member has no owner and no time, so that equal files give equal archives.
                member = tarfile.TarInfo(part)
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(member, file)


def read_metadata(project: Path, outputs: Iterable[str]) -> dict[str, Any]:
    """Return a dict from path to Snakemake's metadata, for outputs that have metadata."""
    found = {}
    for output in outputs:
        path = _metadata_path(project, KNOWN, output)
        with suppress(InvalidResultError):  # Damaged metadata is ignored, as by Snakemake.
            found[output] = read_json(path) if path.is_file() else None
    return {output: content for output, content in found.items() if content}


def write_metadata(project: Path, metadata: Mapping[str, Any]) -> None:
    """Write metadata to the files where Snakemake reads it."""
    # Both folders are made: with only one, Snakemake assumes that an older Snakemake made it.
    for kind in (KNOWN, INCOMPLETE):
        (project / STATE / kind).mkdir(parents=True, exist_ok=True)
    for output, content in metadata.items():
        write_json(_metadata_path(project, KNOWN, output), content, sort_keys=False)


def _metadata_path(project: Path, kind: str, output: str) -> Path:
    """Return the path of Snakemake's metadata of an output; long names are split into folders."""
    where = project / STATE if (project / STATE).exists() else project
    longest = (os.pathconf(where, "PC_NAME_MAX") if os.name == "posix" else 0) or 255
    name, length = urlsafe_b64encode(output.encode()).decode(), longest - 1
    *folders, last = (name[start : start + length] for start in range(0, len(name), length))
    return Path(project / STATE / kind, *(f"@{folder}" for folder in folders), last)
