"""All claims, asked of all results there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from collateral.claims import (
    ablations,
    figures,
    other_tables,
    support_sizes,
    tables,
    teachers,
    theory,
)
from collateral.claims.claim import VERDICTS, Answer, Claim, asked
from collateral.claims.scopes import Source

MODULES = (tables, other_tables, figures, ablations, teachers, support_sizes, theory)
CLAIMS: list[Claim] = sorted(
    [claim for module in MODULES for claim in module.CLAIMS],
    key=lambda claim: claim.id,
)


def judge(results: Mapping[str, Source], claims: Sequence[Claim] = CLAIMS) -> list[Answer]:
    """Return an answer to every claim for every case of it; for no case, that there is none."""
    return [answer for claim in claims for answer in _answers(claim, results)]


def _answers(claim: Claim, results: Mapping[str, Source]) -> Iterator[Answer]:
    cases = [
        (name, case, cells)
        for name, source in results.items()
        for case, cells in claim.where.cases(source).items()
    ]
    for name, case, cells in cases:
        found = asked(claim.test, *cells)
        yield Answer(claim, name, case, VERDICTS[found.holds], found.text)
    if not cases:
        yield Answer(claim, "", "", VERDICTS[None], claim.where.missing)
