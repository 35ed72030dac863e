"""What ties a file to its job: where it belongs, and hashes of what it is and was made from.

A JSON file of results carries a hash of itself and its place below the benchmark's folder. Other
files are named, with the hash of their content, in the record beside them, which also has the
hashes of what they were made from. Whoever reads a file checks it first: `checked`, `read_sealed`.
The index over all pages, which has no record, carries all this at its end.
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
from collateral.results.files import MISSING, Unsound, read_json, write_json

SEAL = "sha256"  # of a JSON file without this line
PLACE = "place"  # of a JSON file, below the benchmark's folder
FILES = "files"  # beside a record: name -> hash
INPUTS = "inputs"  # what they were made from: path below the benchmark's folder -> hash
LARGE = 2**23  # bytes from which on a hash is kept on disk
OTHER_CONTENT = "its content is not the one that {} names"
OTHER_INPUT = "what it describes was made from another {}"
NO_RECORD = "no {} beside it says what it is"
NO_SEAL = "has no hash of itself"
OTHER_SEAL = "does not fit its own hash"
COMMENT = ("<!-- ", " -->\n")


def write_sealed(
    path: Path, content: Mapping[str, Any], root: Path, *, sort_keys: bool = True
) -> None:
    """Write a JSON file that knows its place below `root` and the hash of itself."""
    # As a reader will have it, to whom all keys are text.
    content = json.loads(json.dumps({**content, PLACE: _below(path, root)}))
    write_json(path, {**content, SEAL: _seal(content)}, sort_keys=sort_keys)


def read_sealed(path: Path, root: Path | None = None) -> dict[str, Any]:
    """Read what `write_sealed` wrote; refuse it if it was changed, or belongs elsewhere.

    Without `root`, its path need only end with its place.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not {SEAL, PLACE} <= content.keys():
        raise Unsound(path, NO_SEAL)
    if content.pop(SEAL) != _seal(content):
        raise Unsound(path, OTHER_SEAL)
    place = content.pop(PLACE)
    if not (_ends_with(path, place) if root is None else _below(path, root) == place):
        raise Unsound(path, f"its place is {Path(root or '', place)}")
    return content


def _ends_with(path: Path, place: str) -> bool:
    return path.resolve().as_posix().endswith(f"/{place}")


def write_record(
    path: Path, about: Mapping[str, Any], *, root: Path, files: Iterable[Path]
) -> None:
    """Write what a job is, with its inputs, and the hashes of the files that it made."""
    write_sealed(path, {INPUTS: {}, **about, FILES: hashes(files, path.parent)}, root)


def write_cost(folder: Path, cost: Mapping[str, Any], *, root: Path) -> None:
    """Write what a job cost, after its record: of another run it is refused."""
    inputs = hashes([folder / layout.RECORD], root)
    write_sealed(folder / layout.COST, {**cost, INPUTS: inputs}, root)


def read_cost(folder: Path, root: Path) -> dict[str, Any]:
    """Read what a job cost."""
    path = folder / layout.COST
    content = read_sealed(path, root)
    check_inputs(path, content, root)
    return content


def seal_folder(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Write the record of a folder that is all one job's, and lies in the benchmark's."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in files if path != folder / layout.RECORD]
    about = {INPUTS: hashes(inputs, folder.parent)}
    write_record(folder / layout.RECORD, about, root=folder.parent, files=files)


def check_folder(folder: Path) -> None:
    """Refuse a folder in which a file is not what `seal_folder` found."""
    record = folder / layout.RECORD
    content = read_sealed(record, folder.parent)
    check_inputs(record, content, folder.parent)
    for name, digest in content[FILES].items():
        _check_content(folder / name, digest, record)


def hashes(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Return the hashes of files by their paths below `root`."""
    return {_below(path, root): file_hash(path) for path in paths}


def checked(path: Path, root: Path, record: Path | None = None) -> Path:
    """Return `path` if it is what its record says, made from what is there now; else raise."""
    record = record or layout.record_of(path)
    content = read_sealed(record, root) if record.exists() else {}
    name = _below(path, record.parent)
    if path.exists() and name not in content.get(FILES, {}):
        raise Unsound(path, NO_RECORD.format(record.name))
    _check_content(path, content.get(FILES, {}).get(name), record)
    check_inputs(record, content, root)
    return path


def _check_content(path: Path, digest: str | None, record: Path) -> None:
    if not path.exists():
        raise Unsound(path, MISSING)
    if file_hash(path) != digest:
        raise Unsound(path, OTHER_CONTENT.format(record.name))


def check_inputs(path: Path, content: Mapping[str, Any], root: Path) -> None:
    """Refuse a record of what was made from other files than those that are there now."""
    for name, digest in content.get(INPUTS, {}).items():
        now = recorded_hash(root / name, root)
        if now is not None and now != digest:
            raise Unsound(path, OTHER_INPUT.format(root / name))


def recorded_hash(path: Path, root: Path) -> str | None:
    """Return what a file's content should be by its record; None where nothing says so."""
    is_sealed = path.name in layout.SEALED
    record = path if is_sealed else layout.record_of(path)
    # Not what was made from a broken file is to blame, but the file.
    content = read_sealed(record, root) if record.exists() else {}
    if is_sealed:
        return file_hash(path) if content else None
    digest: str | None = content.get(FILES, {}).get(path.name)
    return digest


def sealed_page(text: str, inputs: Iterable[Path], root: Path) -> str:
    """Return a page that ends with hashes of itself and of what it was made from."""
    about = {INPUTS: hashes(inputs, root)}
    end = json.dumps({**about, SEAL: _seal({**about, "page": text})})
    return f"{text}{COMMENT[0]}{end}{COMMENT[1]}"


def read_page(path: Path) -> dict[str, Any]:
    """Return what a page was made from; refuse it if it is not as `sealed_page` made it."""
    text, found, end = path.read_text(encoding="utf-8", errors="replace").rpartition(COMMENT[0])
    if not found or not end.endswith(COMMENT[1]):
        raise Unsound(path, NO_SEAL)
    try:
        about: dict[str, Any] = json.loads(end.removesuffix(COMMENT[1]))
    except ValueError:
        raise Unsound(path, OTHER_SEAL) from None
    if about.pop(SEAL, None) != _seal({**about, "page": text}):
        raise Unsound(path, OTHER_SEAL)
    return about


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file: computed once for each size, time and inode."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise Unsound(path, MISSING) from None
    return _hash_of(path, f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}")


@cache
def _hash_of(path: Path, state: str) -> str:
    if path.stat().st_size < LARGE:
        return content_hash(path)
    kept = path.with_name(f".{path.name}.{SEAL}")
    known = _known(kept, state)
    if known is None:
        known = content_hash(path)
        _keep(kept, {"state": state, "hash": known})
    return known


def _known(kept: Path, state: str) -> str | None:
    """Return a hash that another reader kept; None where there is none, a broken or an old one."""
    try:
        content = read_sealed(kept, kept.parent)
    except (OSError, Unsound):
        return None
    known: str | None = content["hash"] if content["state"] == state else None
    return known


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, computed now."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _keep(path: Path, content: Mapping[str, str]) -> None:
    """Write a hash for the next reader; where that is not allowed, the next reader computes it."""
    try:
        write_sealed(path, content, path.parent)
    except OSError:
        return


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _below(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
