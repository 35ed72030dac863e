"""Answers as lines for a terminal, as a Markdown table, and in the pages of docs/.

In a page, a table stands between `<!-- claims: NAME -->` and `<!-- end of claims -->`, where NAME
is a folder of docs/data; after it may come numbers of claims: `<!-- claims: NAME 1-11,19 -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from paper.claims.claim import VERDICTS, Answer
from paper.claims.evaluate import evaluate
from paper.claims.results import read_all

HEAD = "| claim | here | numbers |\n| --- | --- | --- |\n"
TABLE = re.compile(
    r"(<!-- claims: (\S+)(?: ([\d,-]+))? -->\n)(.*?)(<!-- end of claims -->)", re.DOTALL
)


def lines(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield each claim and, below it, the answer in every case."""
    for _, group in groupby(answers, key=lambda answer: answer.claim.id):
        found = list(group)
        claim = found[0].claim
        yield f"{claim.id:2} {claim.sentence} ({claim.source})"
        for answer in found:
            place = "/".join(filter(None, (answer.benchmark, answer.case)))
            yield f"   {answer.verdict}: {place}{': ' * bool(place)}{answer.text}"


def summary(answers: Sequence[Answer]) -> str:
    """Count the answers by verdict."""
    counts = [(v, sum(a.verdict == v for a in answers)) for v in VERDICTS.values()]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts)


def markdown(answers: Sequence[Answer]) -> str:
    """Return a table of the claims that can be said, and a line with the ids of the others."""
    known = [answer for answer in answers if answer.verdict != VERDICTS[None]]
    is_one = len({(answer.benchmark, answer.case) for answer in known}) == 1
    num_benchmarks = len({answer.benchmark for answer in known if answer.case})
    rows = "".join(_row(a, "" if is_one else _place(a, num_benchmarks)) for a in known)
    open_ids = sorted({a.claim.id for a in answers} - {answer.claim.id for answer in known})
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
    """Return numbers, consecutive ones as ranges: "1, 3 to 5"."""
    found = []
    for _, group in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        run = [number for _, number in group]
        found.append(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)))
    return ", ".join(found)


def choose(answers: Sequence[Answer], ids: str | None) -> list[Answer]:
    """Return the answers to some claims: "1-11,19"; to all where no ids are given."""
    if not ids:
        return list(answers)
    wanted = {number for part in ids.split(",") for number in _range(part)}
    return [answer for answer in answers if answer.claim.id in wanted]


def _range(part: str) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if not found:
        raise ValueError(f"claims {part!r}: neither a number nor two, such as 1-11")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def fill_page(text: str, data: Path) -> str:
    """Return a page with its tables of claims made anew from docs/data."""

    def table(match: re.Match[str]) -> str:
        answers = choose(evaluate(read_all(data / match[2])), match[3])
        return f"{match[1]}{markdown(answers)}{match[5]}"

    return TABLE.sub(table, text)
