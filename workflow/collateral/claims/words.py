"""Answers as lines for a terminal, and as a table for a page of docs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from collateral.claims.claim import VERDICTS, Answer

UNSAID = VERDICTS[None]
HEAD = "| claim | here | numbers |\n| --- | --- | --- |\n"


def lines(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield each claim and, below it, what was found in every case."""
    for _, group in groupby(answers, key=lambda answer: answer.claim.id):
        found = list(group)
        claim = found[0].claim
        yield f"{claim.id:2} {claim.sentence} ({claim.source})"
        for answer in found:
            place = "/".join(filter(None, (answer.benchmark, answer.case)))
            yield f"   {answer.verdict}: {place}{': ' * bool(place)}{answer.text}"


def summary(answers: Sequence[Answer]) -> str:
    """Count the answers: those of one claim to several cases each."""
    counts = [(v, sum(a.verdict == v for a in answers)) for v in VERDICTS.values()]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts)


def markdown(answers: Sequence[Answer]) -> str:
    """Return a table of what can be said, and a line with the numbers of the other claims."""
    said = [answer for answer in answers if answer.verdict != UNSAID]
    is_one = len({(answer.benchmark, answer.case) for answer in said}) == 1
    num_benchmarks = len({answer.benchmark for answer in said if answer.case})
    places = [("" if is_one else _place(answer, num_benchmarks)) for answer in said]
    rows = "".join(_row(answer, place) for answer, place in zip(said, places, strict=True))
    open_ids = sorted({a.claim.id for a in answers} - {answer.claim.id for answer in said})
    rest = f"\nCannot be said here: {ranges(open_ids)}.\n" if open_ids else ""
    return f"{HEAD if rows else ''}{rows}{rest}"


def _place(answer: Answer, num_benchmarks: int) -> str:
    """Name the case, and its benchmark where there are several."""
    if not answer.case:
        return ""
    return f"{answer.benchmark}/{answer.case}: " if num_benchmarks > 1 else f"{answer.case}: "


def _row(answer: Answer, place: str) -> str:
    claim = f"{answer.claim.id} {answer.claim.sentence}"
    fields = [field.replace("|", "\\|") for field in (claim, answer.verdict, place + answer.text)]
    return f"| {' | '.join(fields)} |\n"


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers with runs of them drawn together: "1, 3 to 5"."""
    found = []
    for _, group in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        run = [number for _, number in group]
        found.append(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)))
    return ", ".join(found)
