"""Table of docs/reproduction.md: which of the paper's claims hold in each set of kept results."""

from collections.abc import Iterator

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


def claims_table() -> str:
    """Return one row per claim: the results in which it holds, and those in which it does not."""
    assert {*RESULTS} <= {folder.name for folder in kept_results()}
    answers = {title: dict(_answers(name, ids)) for name, (title, ids) in RESULTS.items()}
    rows = []
    for claim in CLAIMS:
        found = {title: of[claim.id] for title, of in answers.items() if claim.id in of}
        if found:
            by_verdict = [
                ", ".join(title for title, verdict in found.items() if verdict == wanted)
                for wanted in (VERDICTS[True], VERDICTS[False], VERDICTS[None])
            ]
            rows.append([f"{claim.id} {claim.sentence}", *by_verdict])
    return table(HEAD, rows)


def _answers(name: str, ids: str) -> Iterator[tuple[int, str]]:
    """Yield the id of each claim with its answer; the results have one case per claim."""
    found: list[Answer] = choose(evaluate(read_all(DATA / name)), ids)
    assert len({answer.claim.id for answer in found}) == len(found), name
    yield from ((answer.claim.id, answer.verdict) for answer in found)
