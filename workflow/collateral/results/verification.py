"""Verify all results below a folder: recompute every hash and check the path in every record."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.results import layout, provenance
from collateral.results.files import MISSING, InvalidResultError, read_json
from collateral.results.provenance import FILES, INPUTS, content_hash

# Files that may be absent, because tables, figures and pages do not need them.
DISPENSABLE = {
    *(layout.DATA, layout.MODEL, layout.EMBEDDINGS),
    *(layout.PREPARED_TENSORS, layout.PREPARED_REPORT),
}


@dataclass(frozen=True)
class Verification:
    """Outcome of the verification of a folder."""

    faults: list[InvalidResultError]
    num_files: int  # number of files that were checked
    absent: list[Path]  # optional files that records list but that do not exist

    @property
    def to_delete(self) -> list[Path]:
        """Files and folders to delete so that the next run makes the faulty files again."""
        paths = (path for fault in self.faults for path in layout.paths_to_delete(fault.path))
        return [path for path in dict.fromkeys(paths) if path.exists()]


def verify_results(folder: Path) -> Verification:
    """Verify all files below a folder of results, or of one benchmark."""
    files = [*files_below(folder)]
    listed: list[Path] = []  # files that valid records list
    faults: dict[Path, InvalidResultError] = {}  # the first fault of each file
    for path in files:
        if path.name in layout.SIGNED:
            for fault in _check_signed(path, listed):
                faults.setdefault(fault.path, fault)
    unlisted = {*files} - {*listed}
    for path in files:
        if path.name in layout.RECORDED and path in unlisted:
            for fault in _check_unlisted(path, faults):
                faults.setdefault(fault.path, fault)
    absent = [path for path in listed if path.name in DISPENSABLE and not path.exists()]
    return Verification([faults[path] for path in sorted(faults)], len(files), absent)


def benchmark_folder(path: Path) -> Path | None:
    """Return the folder of the benchmark that a file belongs to; None if it belongs to none."""
    return next((above for above in path.parents if (above / layout.DATA_RECORD).exists()), None)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder except hidden files.

    Links to folders are followed, but not to a folder above, or to one that was visited already.
    """
    top, visited = Path(os.path.realpath(folder)), set[str]()
    for name, folders, files in os.walk(folder, followlinks=True):
        visited.add(os.path.realpath(name))
        links = {
            one: os.path.realpath(Path(name, one))
            for one in folders
            if Path(name, one).is_symlink()
        }
        back = {one for one, real in links.items() if real in visited or top.is_relative_to(real)}
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in back)
        yield from (Path(name, one) for one in sorted(files) if not one.startswith("."))


def _check_signed(path: Path, listed: list[Path]) -> Iterator[InvalidResultError]:
    """Yield the faults of a JSON file with its own hash, of files it lists, and of its inputs."""
    try:
        content = provenance.read_signed(path, benchmark_folder(path))
    except InvalidResultError as fault:
        yield fault
        return
    for name, digest in content.get(FILES, {}).items():
        file = path.parent / name
        listed.append(file)
        if file.exists() and content_hash(file) != digest:
            yield InvalidResultError(file, provenance.OTHER_CONTENT.format(path.name))
        elif not file.exists() and file.name not in DISPENSABLE:
            yield InvalidResultError(file, f"{MISSING}, and {path.name} names it")
    cost = path.parent / layout.COST
    if path.name == layout.RECORD and "seed" in content and not cost.exists():
        yield InvalidResultError(cost, f"{MISSING}, and every job has one")
    # All paths that the file contains are relative to one folder, which is found by its own path.
    ups = [".." for _ in Path(read_json(path)[provenance.PLACE]).parts]
    yield from _check_inputs(path, content, Path(os.path.normpath(path.joinpath(*ups))))


def _check_inputs(
    path: Path, content: Mapping[str, Any], root: Path
) -> Iterator[InvalidResultError]:
    for name, digest in content.get(INPUTS, {}).items():
        if Path(name).name in layout.SIGNED and not (root / name).exists():
            yield InvalidResultError(root / name, f"{MISSING}, and {path.name} names it")
        try:
            provenance.check_inputs(path, {INPUTS: {name: digest}}, root)
        except InvalidResultError as fault:
            yield fault


def _check_unlisted(path: Path, faults: Collection[Path]) -> Iterator[InvalidResultError]:
    """Yield the faults of a file that no record lists. Only the index page needs no record, because
    the page contains its own hashes.
    """
    if path.name == layout.REPORT and benchmark_folder(path) is None:  # the index page
        try:
            yield from _check_inputs(path, provenance.read_page(path), path.parent)
        except InvalidResultError as fault:
            yield fault
        return
    record = layout.record_path(path)
    records = [record, *(above / layout.RECORD for above in path.parents)]
    # If a record that could list the file has a fault, only that fault is reported.
    if not any(one in faults for one in records):
        yield InvalidResultError(path, provenance.NO_RECORD.format(record.name))
