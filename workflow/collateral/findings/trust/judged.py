"""The numbers that are judged: those of the package, and those of plug-ins that state a claim."""

from collateral.contract.claims import LAST, Claim
from collateral.findings.metric_index import find_metric
from collateral.plugins.find import FINDING

SETS = {"retain": "retained", "test": "test", "forget": "forget set"}


def list_claims() -> list[Claim]:
    """Return the claims of all findings: the variable CLAIMS of each `__init__.py`."""
    found: list[Claim] = []
    for name in FINDING.names():
        found += getattr(FINDING.load(name), "CLAIMS", ())
    return list(dict.fromkeys(found))


def claim_label(claim: Claim) -> str:
    """Return the name of a judged number in tables: its label and index, and where it is measured.

    The last step of a curve is not named.
    """
    label = find_metric(claim.metric).label
    label += "" if claim.at in (None, LAST) else f" ({claim.at})"
    return f"{label}, {SETS[claim.set]}" if claim.set else label
