"""Walk results and check the chain: every hash recomputed, every record in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.chain import (
    FILES,
    INPUTS,
    NO_RECORD,
    OTHER_CONTENT,
    OTHER_INPUT,
    PLACE,
    content_hash,
    read_page,
    read_sealed,
)
from collateral.results.files import MISSING, Unsound, read_json

# What tables, figures and pages do without: it may have stayed where it was made.
DISPENSABLE = {
    *(layout.DATA, layout.MODEL, layout.EMBEDDINGS),
    *(layout.PREPARED_TENSORS, layout.PREPARED_REPORT),
}
# Files that mean nothing without a record.
RECORDED = {
    *(layout.MODEL, layout.OUTPUTS, layout.HISTORY, layout.EPOCHS, layout.EMBEDDINGS),
    *(layout.MARGINS, layout.EXPOSED),
    *(layout.SUPPORT_SIZES, layout.TRIALS, layout.SELECTED, layout.TEACHER_SAYS),
    layout.PROBE_SHOWS,
    *(layout.PREPARED_TENSORS, *layout.RECORDS),
}


@dataclass(frozen=True)
class Walk:
    """What was found below a folder."""

    faults: list[Unsound]
    num_files: int  # that were looked at
    absent: list[Path]  # that their records name, and that are dispensable

    @property
    def to_delete(self) -> list[Path]:
        """What is in the way of a run that makes it again."""
        paths = (path for fault in self.faults for path in layout.remade_without(fault.path))
        return [path for path in dict.fromkeys(paths) if path.exists()]


def walk(folder: Path) -> Walk:
    """Check everything below a folder of results, or of one benchmark."""
    files = [*files_below(folder)]
    looking = _Looking()
    for path in files:
        if path.name in layout.SEALED:
            looking.at_sealed(path)
    for path in files:
        looking.at_other(path)
    faults = looking.faults
    return Walk([faults[path] for path in sorted(faults)], len(files), looking.absent)


def benchmark_of(path: Path) -> Path | None:
    """Return the folder of the benchmark that a file is of: the one with the record of the data."""
    return next((above for above in path.parents if (above / layout.DATA_RECORD).exists()), None)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield what is not hidden; a folder may be a link to a larger disk."""
    for name, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        yield from (Path(name, one) for one in sorted(files) if not one.startswith("."))


@dataclass
class _Looking:
    """One walk: what was found, and what was read, once."""

    faults: dict[Path, Unsound] = field(default_factory=dict)
    absent: list[Path] = field(default_factory=list)
    _named: set[Path] = field(default_factory=set)  # by a record that is sound
    _read: dict[Path, dict[str, Any] | None] = field(default_factory=dict)

    def at_sealed(self, path: Path) -> None:
        """Check a sealed file, what it names, and that this was made from what is there."""
        content = self._sealed(path)
        if content is None:
            return
        for fault in (*self._made(path, content), *self._made_from(path, content, _root(path))):
            self.faults.setdefault(fault.path, fault)

    def at_other(self, path: Path) -> None:
        """Check a file of which no record says what it is."""
        if path.name not in RECORDED or path in self._named:
            return
        is_index = path.name == layout.REPORT and benchmark_of(path) is None
        for fault in self._index(path) if is_index else self._nameless(path):
            self.faults.setdefault(fault.path, fault)

    def _nameless(self, path: Path) -> Iterator[Unsound]:
        record = layout.record_of(path)
        records = [record, *(above / layout.RECORD for above in path.parents)]
        if not any(one in self.faults for one in records):  # which would be to blame
            yield Unsound(path, NO_RECORD.format(record.name))

    def _index(self, path: Path) -> Iterator[Unsound]:
        try:
            yield from self._made_from(path, read_page(path), path.parent)
        except Unsound as fault:
            yield fault

    def _made(self, record: Path, content: Mapping[str, Any]) -> Iterator[Unsound]:
        for name, digest in content.get(FILES, {}).items():
            path = record.parent / name
            self._named.add(path)
            if path.exists():
                if content_hash(path) != digest:
                    yield Unsound(path, OTHER_CONTENT.format(record.name))
            elif path.name in DISPENSABLE:
                self.absent.append(path)
            else:
                yield Unsound(path, f"{MISSING}, and {record.name} names it")
        cost = record.parent / layout.COST
        if record.name == layout.RECORD and "seed" in content and not cost.exists():
            yield Unsound(cost, f"{MISSING}, and every job has one")

    def _made_from(self, path: Path, content: Mapping[str, Any], root: Path) -> Iterator[Unsound]:
        for name, digest in content.get(INPUTS, {}).items():
            now = self._should_be(root / name)
            if now is not None and now != digest:
                yield Unsound(path, OTHER_INPUT.format(root / name))
            elif Path(name).name in layout.SEALED and not (root / name).exists():
                yield Unsound(root / name, f"{MISSING}, and {path.name} names it")

    def _should_be(self, path: Path) -> str | None:
        """Return the hash that a file should have; None where its record is not sound."""
        is_sealed = path.name in layout.SEALED
        content = self._sealed(path if is_sealed else layout.record_of(path))
        if is_sealed:
            return content_hash(path) if content else None
        digest: str | None = (content or {}).get(FILES, {}).get(path.name)
        return digest

    def _sealed(self, path: Path) -> dict[str, Any] | None:
        """Read a sealed file, once; None if it is not there, or not sound."""
        if path not in self._read:
            try:
                self._read[path] = read_sealed(path, benchmark_of(path)) if path.exists() else None
            except Unsound as fault:
                self.faults[path] = fault
                self._read[path] = None
        return self._read[path]


def _root(path: Path) -> Path:
    """Return the folder that the places in a sealed file are below."""
    ups = [".." for _ in Path(read_json(path)[PLACE]).parts]
    return Path(os.path.normpath(path.joinpath(*ups)))
