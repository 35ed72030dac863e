"""Sections of docs/findings.md: question and definitions of each finding."""

from collections.abc import Iterator

from collateral.plugins.find import FINDING
from generators.plugins import page, paragraphs

# Findings whose definitions are below on the page, by heading.
BELOW = {
    "gap": "accuracies-and-gaps",
    "locality": "similarity-and-damage",
    "nearer": "accuracies-and-gaps",
    "probe": "probes",
    "support_size": "ltds-support-and-teacher",
    "tuning": "selection-of-tuned-values",
    "ulira": "membership-attacks",
    "verdict": "similarity-and-damage",
}


def findings() -> str:
    """Return the sections of all findings."""
    return page(in_order(), _finding)


def in_order() -> list[str]:
    """Return the names of the findings in the order of the report page."""
    return sorted(FINDING.names(), key=lambda name: (order_of(name), name))


def order_of(name: str) -> int:
    """Return the sort key of a finding; findings without ORDER come last."""
    return int(getattr(FINDING.load(name), "ORDER", 1000))


def _finding(name: str) -> Iterator[str]:
    module = FINDING.load(name)
    question, *more = paragraphs(module.__doc__)
    yield f"**{question}**"
    yield from () if name in BELOW else more
    needed = ["Needs Retrain."] if getattr(module, "NEEDS", "") == "retrain" else []
    defined = [f"[Defined below](#{BELOW[name]})."] if name in BELOW else []
    yield " ".join([*needed, *defined])
