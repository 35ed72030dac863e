"""Walk results and check the chain: every hash recomputed, every record in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.chain import FILES, INPUTS, PLACE, content_hash, read_sealed
from collateral.results.files import Unsound, read_json

RECORDS = {layout.RECORD, *layout.RECORDS.values()}
SEALED = {*RECORDS, layout.COST, layout.PLAN, Path(layout.SPLIT).name}
# What tables, figures and pages do without: it may have stayed where it was made.
DISPENSABLE = {
    *(layout.DATA, layout.MODEL, layout.EMBEDDINGS),
    *(layout.PREPARED_TENSORS, layout.PREPARED_REPORT),
}
# Files that mean nothing without a record.
RECORDED = {
    *(layout.MODEL, layout.OUTPUTS, layout.HISTORY, layout.EMBEDDINGS, layout.SUPPORT_SIZES),
    *(layout.TRIALS, layout.SELECTED, layout.PREPARED_TENSORS, *layout.RECORDS),
}


@dataclass(frozen=True)
class Walk:
    """What was found below a folder."""

    faults: list[Unsound]
    num_files: int  # that are sound
    absent: list[Path]  # that their records name, and that are dispensable

    @property
    def to_delete(self) -> list[Path]:
        """What a run would have to make again."""
        paths = (path for fault in self.faults for path in layout.remade_without(fault.path))
        return [path for path in dict.fromkeys(paths) if path.exists()]


def walk(folder: Path) -> Walk:
    """Check everything below a folder of results, or of one benchmark."""
    for kept in (_hash, _record):  # from a walk before, if there was one
        kept.cache_clear()
    faults: dict[Path, Unsound] = {}
    absent, num_files = [], 0
    for path in _files(folder):
        try:
            found = _check(path)
        except Unsound as fault:
            faults.setdefault(fault.path, fault)
            continue
        num_files += 1
        for fault in found:
            if isinstance(fault, Unsound):
                faults.setdefault(fault.path, fault)
            else:
                absent.append(fault)
    return Walk([faults[path] for path in sorted(faults)], num_files, absent)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not is_hidden:
            yield path


def _check(path: Path) -> list[Unsound | Path]:
    """Return what is wrong with what a record names, and what is absent; raise for itself."""
    if path.name in SEALED:
        content = read_sealed(path)
        root = _root_of(path)
        return [*_made(path, content), *_made_from(path, content, root)]
    record = layout.record_of(path)
    is_named = path.name in _record(record).get(FILES, {}) or _is_named_elsewhere(path)
    if path.name in RECORDED and not is_named:
        raise Unsound(path, f"no {record.name} beside it says what it is")
    return []


def _is_named_elsewhere(path: Path) -> bool:
    """Tell whether a file is in a folder that one record names all of, or is the index of pages."""
    is_index = path.name == layout.REPORT and any(path.parent.glob(f"*/{layout.GLANCE}"))
    return is_index or path.parents[1].name in (layout.TABLES, layout.FIGURES)


def _made(record: Path, content: dict[str, Any]) -> Iterator[Unsound | Path]:
    for name, digest in content.get(FILES, {}).items():
        path = record.parent / name
        if path.exists():
            if _hash(path) != digest:
                yield Unsound(path, f"its content is not the one that {record.name} names")
        elif path.name in DISPENSABLE:
            yield path
        else:
            yield Unsound(path, f"is missing, and {record.name} names it")


def _made_from(record: Path, content: dict[str, Any], root: Path) -> Iterator[Unsound]:
    for name, digest in content.get(INPUTS, {}).items():
        path = root / name
        if path.exists() and _hash(path) != digest:
            yield Unsound(record, f"what it describes was made from another {path}")


def _root_of(path: Path) -> Path:
    """Return the folder that the places in a sealed file are below."""
    ups = [".." for _ in Path(read_json(path)[PLACE]).parts]
    return Path(os.path.normpath(path.parent.joinpath(*ups)))


@cache
def _hash(path: Path) -> str:
    return content_hash(path)


@cache
def _record(path: Path) -> dict[str, Any]:
    try:
        return read_sealed(path) if path.exists() else {}
    except Unsound:  # which is a fault of its own
        return {FILES: dict.fromkeys(RECORDED)}
