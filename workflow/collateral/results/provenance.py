"""Hashes that connect every result file with its job and with the inputs of the job.

A JSON file contains its own hash and its path below the benchmark's folder. Every other file is
listed with its hash in the record beside it (record.json), which also lists the hashes of the
job's inputs. Every reader checks a file before using it, with `verify` or `read_signed`. The index
page has no record; it ends with a comment that contains its own hash and those of its inputs.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.files import MISSING, InvalidResultError, read_json, write_json

# Keys of JSON files that contain their own hash.
SEAL = "sha256"  # hash of the values of all other keys
PLACE = "place"  # path of the file below the benchmark's folder
JOB = "job"  # description of the job: everything that identifies it
CODE = "code"  # fingerprint of the code that the job ran
MADE = "made"  # what the job found out: status, selected values, hashes of user files, versions
FILES = "files"  # dict from name to hash of each output file
INPUTS = "inputs"  # dict from path below the benchmark's folder to hash of each input file
OTHER_CONTENT = "its content is not the one that {} names"
OTHER_INPUT = "its job used another version of {}"
NO_RECORD = "no {} lists it"
NO_SEAL = "has no hash of itself"
OTHER_SEAL = "does not fit its own hash"
COMMENT = ("<!-- ", " -->\n")  # text before and after the hashes in the last line of the index page


def write_signed(
    path: Path, content: Mapping[str, Any], root: Path, *, sort_keys: bool = True
) -> None:
    """Write a JSON file with its path below `root` and its own hash."""
    # The hash is computed after a round trip through JSON, which turns all keys into text.
    content = json.loads(json.dumps({**content, PLACE: _relative(path, root)}))
    write_json(path, {**content, SEAL: _seal(content)}, sort_keys=sort_keys)


def read_signed(path: Path, root: Path | None = None) -> dict[str, Any]:
    """Read a file that `write_signed` wrote; raise if it was changed or moved.

    Without `root`, the path of the file only has to end with the path that the file contains.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not {SEAL, PLACE} <= content.keys():
        raise InvalidResultError(path, NO_SEAL)
    if content.pop(SEAL) != _seal(content):
        raise InvalidResultError(path, OTHER_SEAL)
    place = content.pop(PLACE)
    # A folder above the file may be a link to a folder of another name.
    shown, real = Path(os.path.normpath(path.absolute())), path.resolve()
    is_below = any(one.as_posix().endswith(f"/{place}") for one in (shown, real))
    if not (is_below if root is None else _relative(path, root) == place):
        raise InvalidResultError(path, f"its place is {Path(root or '', place)}")
    return content


def merge(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a record in one dict: the job's description, and what it made."""
    rest = {key: value for key, value in content.items() if key not in (JOB, MADE)}
    return {**content.get(JOB, {}), **content.get(MADE, {}), **rest}


def read_record(path: Path, root: Path | None = None) -> dict[str, Any]:
    """Read a record, and merge the job's description with what the job made; raise if changed."""
    return merge(read_signed(path, root))


def write_record(
    path: Path, about: Mapping[str, Any], *, root: Path, files: Iterable[Path]
) -> None:
    """Write the record of a job: its description, its inputs, and the hashes of its files."""
    write_signed(path, {INPUTS: {}, **about, FILES: hash_files(files, path.parent)}, root)


def write_cost(folder: Path, cost: Mapping[str, Any], *, root: Path) -> None:
    """Write the cost of a job to cost.json, which lists the hash of the job's record as input."""
    inputs = hash_files([folder / layout.RECORD], root)
    write_signed(folder / layout.COST, {**cost, INPUTS: inputs}, root)


def read_cost(folder: Path, root: Path) -> dict[str, Any]:
    """Read the cost of a job."""
    path = folder / layout.COST
    content = read_signed(path, root)
    check_inputs(path, content, root)
    return content


def check_folder(folder: Path) -> None:
    """Raise if a file of a folder was changed after the record in the folder was written."""
    record = folder / layout.RECORD
    content = read_signed(record, folder.parent)
    check_inputs(record, content, folder.parent)
    for name, digest in content[FILES].items():
        _check_content(folder / name, digest, record)


def hash_files(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Return a dict from path below `root` to hash of each file."""
    return {_relative(path, root): file_hash(path) for path in paths}


def verify(path: Path, root: Path, record: Path | None = None) -> Path:
    """Return `path` if the hashes of the file and of its inputs match its record; else raise."""
    record = record or layout.record_path(path)
    content = _read_existing(record, root)
    name = _relative(path, record.parent)
    if path.exists() and name not in content.get(FILES, {}):
        raise InvalidResultError(path, NO_RECORD.format(record.name))
    _check_content(path, content.get(FILES, {}).get(name), record)
    check_inputs(record, content, root)
    return path


def _check_content(path: Path, digest: str | None, record: Path) -> None:
    if not path.exists():
        raise InvalidResultError(path, MISSING)
    if file_hash(path) != digest:
        raise InvalidResultError(path, OTHER_CONTENT.format(record.name))


def check_inputs(path: Path, content: Mapping[str, Any], root: Path) -> None:
    """Raise if the hash of an input differs from the hash that a record lists for this input."""
    for name, digest in content.get(INPUTS, {}).items():
        # If the record of an input is broken, the error names that record, not the file `path`.
        now = _recorded_hash(root / name)
        if now is not None and now != digest:
            raise InvalidResultError(path, OTHER_INPUT.format(root / name))


def _recorded_hash(path: Path) -> str | None:
    """Return the hash that a file's record lists; None if there is no record.

    The hash of a JSON file that contains its own hash is computed from the file.
    """
    is_signed = path.name in layout.SIGNED
    record = path if is_signed else layout.record_path(path)
    if not record.exists():
        return None
    hashes = _cached_hashes(record, _state(record))
    return file_hash(path) if is_signed else hashes.get(path.name)


@cache
def _cached_hashes(record: Path, state: str) -> dict[str, str]:
    """Return the hashes in a record; `state` is the cache key that changes with the record."""
    hashes: dict[str, str] = read_signed(record).get(FILES, {})
    return hashes


def _read_existing(path: Path, root: Path) -> dict[str, Any]:
    """Read a JSON file that contains its own hash; return {} if the file does not exist."""
    return read_signed(path, root) if path.exists() else {}


def sign_page(text: str, inputs: Iterable[Path], root: Path) -> str:
    """Append a comment with the hashes of a page and of its input files to the page."""
    about = {INPUTS: hash_files(inputs, root)}
    end = json.dumps({**about, SEAL: _seal({**about, "page": text})})
    return f"{text}{COMMENT[0]}{end}{COMMENT[1]}"


def read_page(path: Path) -> dict[str, Any]:
    """Return the input hashes that `sign_page` wrote into a page; raise if the page was changed."""
    text, _, end = path.read_text(encoding="utf-8", errors="replace").rpartition(COMMENT[0])
    if not end.endswith(COMMENT[1]):
        raise InvalidResultError(path, NO_SEAL)
    try:
        about: dict[str, Any] = json.loads(end.removesuffix(COMMENT[1]))
    except (ValueError, RecursionError):
        raise InvalidResultError(path, OTHER_SEAL) from None
    if about.pop(SEAL, None) != _seal({**about, "page": text}):
        raise InvalidResultError(path, OTHER_SEAL)
    return about


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, cached until its size, modification time or inode changes."""
    return _cached_hash(path, _state(path))


def _state(path: Path) -> str:
    """Return the inode, size and modification time of a file; raise if it does not exist."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise InvalidResultError(path, MISSING) from None
    return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"


@cache
def _cached_hash(path: Path, state: str) -> str:
    """Return the hash of a file; `state` is the cache key that changes with the file."""
    return content_hash(path)


def content_hash(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
