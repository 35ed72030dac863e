"""Table of docs/results.md and docs/claims.csv: which of the paper's claims hold where."""

import csv
from collections.abc import Iterator
from functools import cache
from io import StringIO

from generators.results import DATA, kept_results
from generators.tables import table
from paper.claims.evaluate import CLAIMS, choose, evaluate
from paper.claims.results import VERDICTS, Answer, read_all

# Results with claims: name, and ids of the claims that can be tested on them.
RESULTS = {
    "paper-public-base": ("public base", "1-11"),
    "cifar-small": ("20 classes", "1-11,19,20,26,33,35-41,50,51"),
    "cifar-teacher": ("teacher", "12-15"),
    "cifar-more": ("more epochs", "1,4,19,20,35-39,43,44"),
    "svhn-part": ("SVHN", "1,4,6,35,37,41"),
    "theory": ("theory", "59-62"),
}
HEAD = ["claim", "holds", "does not hold", "cannot be said"]
WANTED = (VERDICTS[True], VERDICTS[False], VERDICTS[None])


def claims_table() -> str:
    """Return one row per set of results: numbers of the claims that hold, and that do not."""
    rows = []
    for title, found in _all_answers().items():
        by_verdict = [[str(n) for n, one in found.items() if one == wanted] for wanted in WANTED]
        rows.append([title, *map(", ".join, by_verdict)])
    return table(["results", *HEAD[1:]], rows)


def claims_file() -> str:
    """Return as CSV one row per claim: the results in which it holds, and those in which not."""
    answers = _all_answers()
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    for claim in CLAIMS:
        found = {title: of[claim.id] for title, of in answers.items() if claim.id in of}
        if found:
            by_verdict = [[title for title, one in found.items() if one == w] for w in WANTED]
            writer.writerow([f"{claim.id} {claim.sentence}", *map(", ".join, by_verdict)])
    return text.getvalue()


@cache
def _all_answers() -> dict[str, dict[int, str]]:
    """Return the verdict on each claim by its number, for each set of results."""
    assert {*RESULTS} <= {folder.name for folder in kept_results()}
    return {title: dict(_answers(name, ids)) for name, (title, ids) in RESULTS.items()}


def _answers(name: str, ids: str) -> Iterator[tuple[int, str]]:
    """Yield the id of each claim with its answer; the results have one case per claim."""
    found: list[Answer] = choose(evaluate(read_all(DATA / name)), ids)
    assert len({answer.claim.id for answer in found}) == len(found), name
    yield from ((answer.claim.id, answer.verdict) for answer in found)
