"""A claim, what is found when it is asked, and how answers add up: holds, does not, unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Verdict = Literal["holds", "does not hold", "cannot be said"]
VERDICTS: dict[bool | None, Verdict] = {
    True: "holds",
    False: "does not hold",
    None: "cannot be said",
}


class Unsaid(Exception):
    """What a claim needs is not there; the message says what."""


class Found(NamedTuple):
    """Whether a claim holds, None where it cannot be said, and the numbers that tell."""

    holds: bool | None
    text: str


Test = Callable[..., Found]  # of the cells of one case
# Of one set of results: the cases that a claim is about, by name.
Scope = Callable[[Any], Mapping[str, tuple[Any, ...]]]


class Where(NamedTuple):
    """The cases that a claim is about, and what is missing where there is none."""

    cases: Scope
    missing: str


@dataclass(frozen=True)
class Claim:
    """A sentence that results can be held against."""

    id: int
    sentence: str
    source: str  # tables and figures of the paper
    where: Where
    test: Test


@dataclass(frozen=True)
class Answer:
    """A claim, asked of one case."""

    claim: Claim
    benchmark: str  # empty: there is no case in any
    case: str
    verdict: Verdict
    text: str


def asked(test: Test, *cells: Any) -> Found:
    """Return what a test finds; what is missing makes it unknown."""
    try:
        return test(*cells)
    except Unsaid as missing:
        return Found(None, str(missing))


def joined(found: Iterable[Found]) -> Found:
    """Return whether all hold: not if one does not; unknown if one is."""
    parts = list(found)
    return Found(every([part.holds for part in parts]), "; ".join(part.text for part in parts))


def every(said: Sequence[bool | None]) -> bool | None:
    """Return whether all are so: not if one is not; unknown if one is."""
    return False if False in said else (None if None in said else True)


def all_of(*tests: Test) -> Test:
    """Return a test that holds where all do."""
    return lambda *cells: joined([asked(test, *cells) for test in tests])
