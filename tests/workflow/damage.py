"""Every kind of file below results/, every way to damage one, and what is said of it then."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import Job

from collateral.cli import main
from collateral.results import layout, provenance
from collateral.results.files import read_json, write_json
from collateral.results.provenance import FILES, INPUTS, SEAL, content_hash

RESULTS = Path("results")
# Pages that end with their own hash and those of their inputs.
SIGNED_PAGES = (RESULTS / layout.REPORT, RESULTS / "theory" / layout.REPORT)
# What is called otherwise from file to file of one kind.
NAMES = {
    r"^(?!smoke/)": "../",
    r"^smoke/": "",
    r"digit_3-50": "<cell>",
    r"seed-\d": "seed-<s>",
    r"(?<=<cell>/seed-<s>/)(?!retrain/)[^/]+/": "<run>/",
    r".*/prepared/[^/]+": "prepared/<name>",
    r"tune/[^/]+": "tune/<method>",
    r"(tables|figures)/(?:<cell>/)?[^/]+\.(?!json)\w+$": r"\1/*",
    r"theory/\w+\.csv": "theory/*.csv",
    r"\.numbers/.*": ".numbers/*",
}


def kind_of(path: Path) -> str:
    """Return what files like this one are called in the table."""
    place = path.relative_to(RESULTS).as_posix()
    for pattern, name in NAMES.items():
        place = re.sub(pattern, name, place)
    return place


@dataclass(frozen=True)
class Example:
    """A file of a kind, and two others that could lie in its place."""

    path: Path
    neighbour: Path
    stranger: Path


def examples(readers: Mapping[Path, Sequence[str]]) -> dict[str, Example]:
    """Return an example of every kind: the file that most jobs read."""
    files = sorted(path for path in RESULTS.rglob("*") if path.is_file())
    kinds: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        kinds[kind_of(path)].append(path)
    found = {}
    for kind, alike in kinds.items():
        path = max(alike, key=lambda one: len(readers.get(one, ())))
        # Of its kind; where there is no other, of its folder; or else just any.
        order = sorted(files, key=lambda one: (one not in alike, one.parent != path.parent))
        fitting = [o for o in order if o.suffix == path.suffix and not is_same(o, path)]
        others = [o for o in fitting if o in alike] or fitting[:1] or [path]
        found[kind] = Example(path, others[0], others[-1])
    return found


def is_same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def cut(one: Example) -> None:
    content = one.path.read_bytes()
    one.path.write_bytes(content[: len(content) // 2])


def flip(one: Example) -> None:
    content = bytearray(one.path.read_bytes())
    if content:
        content[len(content) // 2] ^= 1
    one.path.write_bytes(content)


def empty(one: Example) -> None:
    one.path.write_bytes(b"")


def delete(one: Example) -> None:
    one.path.unlink()


def swap(one: Example) -> None:
    content, other = one.path.read_bytes(), one.neighbour.read_bytes()
    one.path.write_bytes(other)
    one.neighbour.write_bytes(content)


def replace(one: Example) -> None:
    """Put another run's file in its place, and that file's record in its record's."""
    record, other = record_of(one.path), record_of(one.stranger)
    one.path.write_bytes(one.stranger.read_bytes())
    if record and other and record != other:
        record.write_bytes(other.read_bytes())


def remake(one: Example) -> None:
    """Put in its place what the same job would make of something else, with its record."""
    record = record_of(one.path)
    if one.path in SIGNED_PAGES:
        about = {INPUTS: dict.fromkeys(provenance.read_page(one.path)[INPUTS], "of another")}
        end = {**about, SEAL: provenance._seal({**about, "page": ""})}
        one.path.write_text(json.dumps(end).join(provenance.COMMENT))
    elif one.path.name in layout.SIGNED:
        _reseal(one.path, {"again": True})
    elif record:
        one.path.write_bytes(one.neighbour.read_bytes())
        name = one.path.relative_to(record.parent).as_posix()
        _reseal(record, {FILES: {**read_json(record)[FILES], name: content_hash(one.path)}})


DAMAGES: dict[str, Callable[[Example], None]] = {
    "cut in half": cut,
    "one bit": flip,
    "emptied": empty,
    "deleted": delete,
    "swapped": swap,
    "replaced": replace,
    "remade": remake,
}


def record_of(path: Path) -> Path | None:
    """Return the record that names a file, if one does."""
    for record in (layout.record_path(path), *(above / layout.RECORD for above in path.parents)):
        name = path.relative_to(record.parent).as_posix()
        if record.exists() and name in read_json(record).get(FILES, {}):
            return record
    return None


def _reseal(path: Path, changes: Mapping[str, Any]) -> None:
    """Change a sealed file, and make its hash fit."""
    content = {**read_json(path), **changes}
    content.pop(SEAL)
    write_json(
        path, {**content, SEAL: provenance._seal(content)}, sort_keys=path.name != layout.PLAN
    )


@contextmanager
def damaged(one: Example, damage: Callable[[Example], None], aside: Path) -> Iterator[bool]:
    """Damage a file; inside, know whether it is another now; afterwards all is as it was."""
    near = sorted({one.path, one.neighbour, record_of(one.path) or one.path})
    aside.mkdir(exist_ok=True)
    # The files themselves step aside, so that no copy has the size, time and inode of another.
    kept = {path: path.rename(aside / str(number)) for number, path in enumerate(near)}
    for path, original in kept.items():
        shutil.copyfile(original, path)
    try:
        damage(one)
        yield any(not p.exists() or not is_same(p, original) for p, original in kept.items())
    finally:
        for path, original in kept.items():
            original.replace(path)


def stop_of(command: Sequence[str]) -> str | None:
    """Run a command here; return what it stops with, or None where it succeeds."""
    with redirect_stdout(io.StringIO()) as said:
        try:
            main([*command])
        except SystemExit as stop:
            return said.getvalue() if isinstance(stop.code, int) else str(stop.code)
    return None


@contextmanager
def set_apart(job: Job, scratch: Path) -> Iterator[None]:
    """Let a job find nothing where it writes; afterwards what it wrote is in another folder.

    What was there before is there again.
    """
    before = scratch.with_name("before")
    _move(job, Path(), before)
    try:
        yield
    finally:
        _move(job, Path(), scratch)
        _move(job, before, Path())


def _move(job: Job, source: Path, target: Path) -> None:
    """Move all files and folders that a job writes from below one folder to below another."""
    for path in job.output:
        if (source / path).exists():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).rename(target / path)
