"""Table of docs/reproduction.md: which of the paper's claims hold in each set of kept results."""

from collections.abc import Iterator

from generators.results import DATA, kept_results
from generators.tables import table
from paper.claims.evaluate import CLAIMS, choose, evaluate
from paper.claims.results import VERDICTS, Answer, read_all

# Results with claims: heading, and ids of the claims that can be tested on them.
RESULTS = {
    "paper-public-base": ("public base", "1-11"),
    "cifar-small": ("20 classes", "1-11,19,20,26,33,35-41,50,51"),
    "cifar-teacher": ("teacher", "12-15"),
    "cifar-more": ("more epochs; oak_tree", "1,4,19,20,35-39,43,44"),
    "svhn-part": ("SVHN", "1,4,6,35,37,41"),
    "theory": ("theory", "59-62"),
}
TEXTS = {VERDICTS[True]: "**yes**", VERDICTS[False]: "no", VERDICTS[None]: "?"}


def claims_table() -> str:
    """Return one row per claim, with its answer in each set of results that it is tested on."""
    assert {*RESULTS} <= {folder.name for folder in kept_results()}
    answers = {name: dict(_answers(name, ids)) for name, (_, ids) in RESULTS.items()}
    rows = [
        [
            f"{claim.id} {claim.sentence}",
            *(TEXTS[of[claim.id]] if claim.id in of else "" for of in answers.values()),
        ]
        for claim in CLAIMS
        if any(claim.id in of for of in answers.values())
    ]
    return table(["claim", *(heading for heading, _ in RESULTS.values())], rows)


def _answers(name: str, ids: str) -> Iterator[tuple[int, str]]:
    """Yield the id of each claim with its answer; the results have one case per claim."""
    found: list[Answer] = choose(evaluate(read_all(DATA / name)), ids)
    assert len({answer.claim.id for answer in found}) == len(found), name
    yield from ((answer.claim.id, answer.verdict) for answer in found)
