"""A claim, its answers, and how the findings of several tests combine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["holds", "does not hold", "cannot be said"]
VERDICTS: dict[bool | None, Verdict] = {
    True: "holds",
    False: "does not hold",
    None: "cannot be said",
}


class Missing(Exception):
    """Results lack something that a test needs; the message names it."""


class Found(NamedTuple):
    """Whether a test holds, None where that cannot be said, and the numbers behind it."""

    holds: bool | None
    text: str


Test = Callable[..., Found]  # its arguments are the results of one case


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: a row of claims.toml."""

    id: int
    sentence: str
    source: str  # tables and figures of the paper
    cells: str  # the name of a scope
    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Answer:
    """The answer to a claim in one case."""

    claim: Claim
    benchmark: str  # empty: no benchmark has such a case
    case: str
    verdict: Verdict
    text: str


def all_hold(verdicts: Sequence[bool | None]) -> bool | None:
    """Combine verdicts: False if one is False, else None if one is None."""
    return False if False in verdicts else (None if None in verdicts else True)


def join(found: Iterable[Found]) -> Found:
    """Combine findings into one."""
    parts = list(found)
    return Found(all_hold([part.holds for part in parts]), "; ".join(part.text for part in parts))


def attempt(test: Test, *arguments: object) -> Found:
    """Return what a test finds; it cannot be said where something is missing."""
    try:
        return test(*arguments)
    except Missing as missing:
        return Found(None, str(missing))


def run_all(tests: Iterable[Test], *arguments: object) -> Found:
    """Return what all tests find together."""
    return join(attempt(test, *arguments) for test in tests)
