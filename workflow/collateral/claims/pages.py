"""Tables of claims in pages of docs, made from what is kept for them in docs/data.

Such a table stands between `<!-- claims: NAME -->` and `<!-- end of claims -->`, where NAME is a
folder of docs/data; behind it there may be numbers of claims: `<!-- claims: NAME 1-11,19 -->`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from collateral.claims.claim import Answer
from collateral.claims.evidence import read_all
from collateral.claims.judge import judge
from collateral.claims.words import markdown

TABLE = re.compile(
    r"(<!-- claims: (\S+)(?: ([\d,-]+))? -->\n)(.*?)(<!-- end of claims -->)", re.DOTALL
)


def filled(text: str, data: Path) -> str:
    """Return a page with its tables made anew."""

    def table(match: re.Match[str]) -> str:
        answers = chosen(judge(read_all(data / match[2])), match[3])
        return f"{match[1]}{markdown(answers)}{match[5]}"

    return TABLE.sub(table, text)


def chosen(answers: Sequence[Answer], ids: str | None) -> list[Answer]:
    """Return the answers to some claims: "1-11,19"; to all where nothing is given."""
    if not ids:
        return list(answers)
    wanted = {number for part in ids.split(",") for number in _between(part)}
    return [answer for answer in answers if answer.claim.id in wanted]


def _between(part: str) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if not found:
        raise ValueError(f"claims {part!r}: neither a number nor two, such as 1-11")
    return range(int(found[1]), int(found[2] or found[1]) + 1)
