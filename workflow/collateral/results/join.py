"""Join results of one benchmark that were made apart: by seeds, cells or methods.

Equal files are taken once. What is derived from all of them is left out where it differs, to be
made again; whatever else differs is a conflict. What is already here stays as it is.
"""

from __future__ import annotations

import filecmp
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from collateral.results import layout
from collateral.results.bundle import INDEX, RESULTS, THEORY
from collateral.results.chain import INPUTS, SEAL, file_hash, read_sealed
from collateral.results.fields import differing
from collateral.results.files import read_json
from collateral.results.unpack import Source

NUMBERS = {
    *(layout.METRICS, layout.METRICS_RECORD, layout.COSTS, layout.COSTS_RECORD, layout.PROBLEMS),
    layout.GATES,
}
PAGE = {
    *(layout.PLAN, *NUMBERS, layout.TABLES, layout.FIGURES),
    *(layout.REPORT, layout.GLANCE, layout.REPORT_PROBLEMS, layout.CHECKED),
}
NEIGHBOURS_RECORD = Path(layout.NEIGHBOURS_RECORD).name
NEIGHBOURS = {Path(layout.NEIGHBOURS).name, NEIGHBOURS_RECORD}
PICTURES = {Path(layout.PICTURES).name, Path(layout.PICTURES_RECORD).name}


class Derived(NamedTuple):
    """What is made from all runs of a cell or a benchmark; it is taken as a whole or not at all."""

    kind: str
    benchmark: str = ""
    cell: str = ""

    def __str__(self) -> str:
        """Return what a message calls it."""
        return " ".join([*filter(None, [self.benchmark, self.cell]), self.kind])

    def and_after(self) -> Iterator[Derived]:
        """Yield this and all that is made from it."""
        yield self
        if self.kind == "neighbours":
            yield self._replace(kind="pictures")
            yield from self._replace(kind="metrics").and_after()
        elif self.kind in ("pictures", "metrics"):
            yield from Derived("page", self.benchmark).and_after()
        elif self.kind != "index":
            yield Derived("index")


def derived(name: str) -> Derived | None:
    """Return what a file is part of, if it is derived from all runs."""
    first, *rest = PurePosixPath(name).parts
    if first == THEORY or name == INDEX:
        return Derived("theory" if first == THEORY else "index")
    if rest and rest[0] in PAGE:
        return Derived("page", first)
    if len(rest) == 2 and rest[1] in NUMBERS:
        return Derived("metrics", first, rest[0])
    if len(rest) == 2 and rest[1] in NEIGHBOURS:
        return Derived("neighbours", first, rest[0])
    if len(rest) == 2 and rest[1] in PICTURES:
        return Derived("pictures", first, rest[0])
    return None


@dataclass
class Joined:
    """What several sources have together; the first of them is what is already here."""

    origin: dict[str, Source] = field(default_factory=dict)  # of every file
    times: dict[str, int] = field(default_factory=dict)  # in nanoseconds
    left_out: set[Derived] = field(default_factory=set)
    conflicts: list[str] = field(default_factory=list)

    def add(self, source: Source) -> None:
        """Take what is new of a source."""
        known = [name for name in source.files if name in self.origin]
        for name in known:
            self._compare(name, source)
        kept = [name for name in known if derived(name) not in self.left_out]
        new = {name: path for name, path in source.files.items() if name not in self.origin}
        self.times |= times_after({name: self._delay(name, source) for name in kept}, new)
        self.origin |= dict.fromkeys(new, source)

    def path(self, name: str) -> Path:
        """Return a file that is taken."""
        return self.origin[name].files[name]

    def _delay(self, name: str, source: Source) -> int:
        here = self.times.get(name, self.path(name).stat().st_mtime_ns)
        return here - source.files[name].stat().st_mtime_ns

    def _compare(self, name: str, source: Source) -> None:
        one, other = self.origin[name], source
        # The same job cost something else elsewhere: what is true of one of them is kept.
        if PurePosixPath(name).name == layout.COST or filecmp.cmp(
            one.files[name], other.files[name], shallow=False
        ):
            return
        part = derived(name)
        if part and not (part.kind == "neighbours" and _has_equal_seeds(name, one, other)):
            self.left_out.update(part.and_after())
        else:
            self.conflicts += conflict(name, one, other)


def join(sources: Sequence[Source]) -> Joined:
    """Join sources, of which the first is what is here already."""
    here, *archives = sources
    joined = Joined()
    for source in (here, *archives):
        joined.add(source)
    for name, source in list(joined.origin.items()):
        if source is not here and derived(name) in joined.left_out:
            del joined.origin[name]
    joined.conflicts += misfits(joined)
    return joined


def times_after(delays: Mapping[str, int], new: Mapping[str, Path]) -> dict[str, int]:
    """Return times for new files at which they are not older than what they were made from.

    `delays` says how much later than in their source the files were made that are taken instead.
    """
    longest, now = max(delays.values(), default=0), time.time_ns()
    times = {}
    for name, path in new.items():
        # What a job of the same content also made belongs to the time of that job.
        delay = delays.get(layout.record_of(Path(name)).as_posix(), longest)
        times[name] = min(path.stat().st_mtime_ns + delay, now)
    return times


def _has_equal_seeds(name: str, one: Source, other: Source) -> bool:
    record = str(PurePosixPath(name).with_name(NEIGHBOURS_RECORD))
    if record not in one.files or record not in other.files:
        return False
    seeds = [read_sealed(source.files[record]).get("seeds") for source in (one, other)]
    return seeds[0] == seeds[1]


def conflict(name: str, one: Source, other: Source) -> list[str]:
    """Say in what a file differs between two sources, a line a field."""
    place = f"{RESULTS}/{name}"
    if not name.endswith(".json"):
        return [f"{place}: is another in {one.label} than in {other.label}"]
    contents = [read_json(source.files[name]) for source in (one, other)]
    return [
        f"{place}: {key}: {value} in {one.label}, {another} in {other.label}"
        for key, value, another in differing(*contents)
        if key != SEAL
    ]


def misfits(joined: Joined) -> list[str]:
    """Say which files were made from others than those that would lie beside them."""
    return [
        f"{RESULTS}/{name}: made from another {place} than that in {joined.origin[place].label}"
        for name, source in joined.origin.items()
        if PurePosixPath(name).name in layout.SEALED
        for place, digest in _inputs(name, source)
        if place in joined.origin and joined.origin[place] is not source
        if file_hash(joined.path(place)) != digest
    ]


def _inputs(name: str, source: Source) -> Iterable[tuple[str, str]]:
    benchmark = PurePosixPath(name).parts[0]
    inputs = read_sealed(source.files[name]).get(INPUTS, {})
    return ((f"{benchmark}/{place}", digest) for place, digest in inputs.items())
