"""What ties a file to its job: where it belongs, and hashes of what it is and was made from.

A JSON file of results carries a hash of itself and its place below the benchmark's folder. Other
files are named, with the hash of their content, in the record beside them, which also has the
hashes of what they were made from. Whoever reads a file checks it first: `checked`, `read_sealed`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.files import Unsound, atomic, read_json, write_json

SEAL = "sha256"  # of a JSON file without this line
PLACE = "place"  # of its folder, below the benchmark's
FILES = "files"  # beside a record: name -> hash
INPUTS = "inputs"  # what they were made from: path below the benchmark's folder -> hash
LARGE = 2**23  # bytes from which on a hash is kept on disk


def write_sealed(
    path: Path, content: Mapping[str, Any], root: Path, *, sort_keys: bool = True
) -> None:
    """Write a JSON file that knows its place below `root` and the hash of itself."""
    content = {**content, PLACE: _below(path.parent, root)}
    write_json(path, {**content, SEAL: _seal(content)}, sort_keys=sort_keys)


def read_sealed(path: Path) -> dict[str, Any]:
    """Read what `write_sealed` wrote; refuse it if it was changed, or belongs elsewhere."""
    content = read_json(path)
    if not isinstance(content, dict) or SEAL not in content:
        raise Unsound(path, "has no hash of itself")
    if content.pop(SEAL) != _seal(content):
        raise Unsound(path, "does not fit its own hash")
    place = content.pop(PLACE)
    if place != "." and not path.parent.resolve().as_posix().endswith(f"/{place}"):
        raise Unsound(path, f"belongs into {place}")
    return content


def write_record(
    path: Path, about: Mapping[str, Any], *, root: Path, files: Iterable[Path]
) -> None:
    """Write what a job is, with its inputs, and the hashes of the files that it made."""
    write_sealed(path, {INPUTS: {}, **about, FILES: hashes(files, path.parent)}, root)


def seal_folder(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Write the record of a folder that is all one job's, and lies in the benchmark's."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in files if path != folder / layout.RECORD]
    about = {INPUTS: hashes(inputs, folder.parent)}
    write_record(folder / layout.RECORD, about, root=folder.parent, files=files)


def check_folder(folder: Path) -> None:
    """Refuse a folder in which a file is not what `seal_folder` found."""
    record = folder / layout.RECORD
    if not record.exists():
        raise Unsound(folder, f"has no {layout.RECORD}")
    content = read_sealed(record)
    check_inputs(record, content, folder.parent)
    for name, digest in content[FILES].items():
        path = folder / name
        if not path.exists() or file_hash(path) != digest:
            reason = "is not what was written" if path.exists() else "is missing"
            raise Unsound(path, reason)


def hashes(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Return the hashes of files by their paths below `root`."""
    return {_below(path, root): file_hash(path) for path in paths}


def checked(path: Path, root: Path, record: Path | None = None) -> Path:
    """Return `path` if it is what its record says, made from what is there now; else raise."""
    record = record or layout.record_of(path)
    if not path.exists():
        raise Unsound(path, "is missing")
    content = read_sealed(record) if record.exists() else {}
    name = _below(path, record.parent)
    if name not in content.get(FILES, {}):
        raise Unsound(path, f"no {record.name} beside it says what it is")
    if file_hash(path) != content[FILES][name]:
        raise Unsound(path, f"its content is not the one that {record.name} names")
    check_inputs(record, content, root)
    return path


def check_inputs(path: Path, content: Mapping[str, Any], root: Path) -> None:
    """Refuse a record of what was made from other files than those that are there now."""
    for name, digest in content.get(INPUTS, {}).items():
        now = recorded_hash(root / name)
        if now is not None and now != digest:
            raise Unsound(path, f"what it describes was made from another {root / name}")


def recorded_hash(path: Path) -> str | None:
    """Return what a file's content should be by its record; None where nothing says so."""
    if path.suffix == ".json":
        return file_hash(path) if path.exists() else None
    record = layout.record_of(path)
    content = read_sealed(record) if record.exists() else {}
    digest: str | None = content.get(FILES, {}).get(path.name)
    return digest


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file: computed once for each size, time and inode."""
    stat = path.stat()
    return _hash_of(path, f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}")


@cache
def _hash_of(path: Path, state: str) -> str:
    if path.stat().st_size < LARGE:
        return content_hash(path)
    kept = path.with_name(f".{path.name}.{SEAL}")
    if kept.exists():
        known, _, digest = kept.read_text().rpartition(" ")
        if known == state:
            return digest
    digest = content_hash(path)
    _keep(kept, f"{state} {digest}")
    return digest


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, computed now."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _keep(path: Path, text: str) -> None:
    """Write a hash for the next reader; where that is not allowed, the next reader computes it."""
    try:
        with atomic(path) as temporary:
            temporary.write_text(text)
    except OSError:
        return


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _below(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
