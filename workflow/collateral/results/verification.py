"""Verify all results below a folder: recompute every hash and check the path in every record."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collateral.results import layout, provenance
from collateral.results.files import MISSING, InvalidResultError, read_json
from collateral.results.provenance import FILES, INPUTS, content_hash, recorded_hash

# Files that may be absent, because tables, figures and pages do not need them.
DISPENSABLE = {
    *(layout.DATA, layout.MODEL, layout.EMBEDDINGS),
    *(layout.PREPARED_TENSORS, layout.PREPARED_REPORT),
}
# Files that must be listed in a record.
RECORDED = {
    *(layout.MODEL, layout.OUTPUTS, layout.HISTORY, layout.EPOCHS, layout.EMBEDDINGS),
    *(layout.MARGINS, layout.EXPOSURE_MARGINS),
    *(layout.SUPPORT_SIZES, layout.TRIALS, layout.SELECTED, layout.TEACHER_RESULT),
    layout.PROBE_RESULT,
    *(layout.PREPARED_TENSORS, *layout.RECORDS),
}


@dataclass(frozen=True)
class Verification:
    """Outcome of the verification of a folder."""

    faults: list[InvalidResultError]
    num_files: int  # number of files that were checked
    absent: list[Path]  # optional files that records list and that do not exist

    @property
    def to_delete(self) -> list[Path]:
        """Files and folders to delete so that the next run makes the faulty files again."""
        paths = (path for fault in self.faults for path in layout.paths_to_delete(fault.path))
        return [path for path in dict.fromkeys(paths) if path.exists()]


def verify_results(folder: Path) -> Verification:
    """Verify all files below a folder of results, or of one benchmark."""
    files = [*files_below(folder)]
    verifier = _Verifier()
    for path in files:
        if path.name in layout.SIGNED:
            verifier.check_signed(path)
    for path in files:
        verifier.check_other(path)
    faults = verifier.faults
    return Verification([faults[path] for path in sorted(faults)], len(files), verifier.absent)


def benchmark_folder(path: Path) -> Path | None:
    """Return the folder of the benchmark that a file belongs to; None if there is none."""
    return next((above for above in path.parents if (above / layout.DATA_RECORD).exists()), None)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files that are not hidden; links to folders are followed."""
    for name, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        yield from (Path(name, one) for one in sorted(files) if not one.startswith("."))


@dataclass
class _Verifier:
    """Checks files and collects faults; every JSON file is read once."""

    faults: dict[Path, InvalidResultError] = field(default_factory=dict)
    absent: list[Path] = field(default_factory=list)
    _listed: set[Path] = field(default_factory=set)  # files that a valid record lists
    _read: dict[Path, dict[str, Any] | None] = field(default_factory=dict)

    def check_signed(self, path: Path) -> None:
        """Check a JSON file with its own hash, the files it lists, and the hashes of its inputs."""
        if content := self._read_signed(path):
            # The file lists its own path and the paths of its inputs relative to `root`.
            ups = [".." for _ in Path(read_json(path)[provenance.PLACE]).parts]
            root = Path(os.path.normpath(path.joinpath(*ups)))
            self._note(self._check_files(path, content))
            self._note(self._check_inputs(path, content, root))

    def check_other(self, path: Path) -> None:
        """Report a file that a record must list but none does; check hashes of the index page."""
        if path.name not in RECORDED or path in self._listed:
            return
        if path.name == layout.REPORT and benchmark_folder(path) is None:  # the index page
            try:
                self._note(self._check_inputs(path, provenance.read_page(path), path.parent))
            except InvalidResultError as fault:
                self._note([fault])
            return
        record = layout.record_path(path)
        records = [record, *(above / layout.RECORD for above in path.parents)]
        # If the record is broken, only the record is reported.
        if not any(one in self.faults for one in records):
            self._note([InvalidResultError(path, provenance.NO_RECORD.format(record.name))])

    def _note(self, faults: Iterable[InvalidResultError]) -> None:
        """Store these faults; of each file, only the first fault is kept."""
        for fault in faults:
            self.faults.setdefault(fault.path, fault)

    def _check_files(
        self, record: Path, content: Mapping[str, Any]
    ) -> Iterator[InvalidResultError]:
        for name, digest in content.get(FILES, {}).items():
            path = record.parent / name
            self._listed.add(path)
            if path.exists():
                if content_hash(path) != digest:
                    yield InvalidResultError(path, provenance.OTHER_CONTENT.format(record.name))
            elif path.name in DISPENSABLE:
                self.absent.append(path)
            else:
                yield InvalidResultError(path, f"{MISSING}, and {record.name} names it")
        cost = record.parent / layout.COST
        if record.name == layout.RECORD and "seed" in content and not cost.exists():
            yield InvalidResultError(cost, f"{MISSING}, and every job has one")

    def _check_inputs(
        self, path: Path, content: Mapping[str, Any], root: Path
    ) -> Iterator[InvalidResultError]:
        for name, digest in content.get(INPUTS, {}).items():
            now = recorded_hash(root / name, self._read_signed)
            if now is not None and now != digest:
                yield InvalidResultError(path, provenance.OTHER_INPUT.format(root / name))
            elif Path(name).name in layout.SIGNED and not (root / name).exists():
                yield InvalidResultError(root / name, f"{MISSING}, and {path.name} names it")

    def _read_signed(self, path: Path) -> dict[str, Any] | None:
        """Read a JSON file with its own hash, once; None if it is missing or broken."""
        if path not in self._read:
            self._read[path] = None
            try:
                if path.exists():
                    self._read[path] = provenance.read_signed(path, benchmark_folder(path))
            except InvalidResultError as fault:
                self.faults[path] = fault
        return self._read[path]
