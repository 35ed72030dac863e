"""Claims of the propositions, from the theory's findings."""

from __future__ import annotations

from collateral.claims.claim import Claim, Found, Test, Unsaid
from collateral.claims.evidence import Theory
from collateral.claims.scopes import PROPOSITIONS

RANK = "rank correlation of bin and |alignment|"
FALLS = "P4.6 the bound falls with |cos|"
SUPPORTS = ("support_with_noise_logits", "support_with_linear_logits")


def grows_with_alignment(panel: str) -> Test:
    """Ask whether the discrepancy grows with alignment: a rank correlation above 0.9."""

    def test(theory: Theory) -> Found:
        found = theory.number(panel, RANK)
        slope = theory.number(panel, "slope of measured on predicted")
        text = f"rank correlation of bin and |alignment| {found:.2f}, slope on theory {slope:.2f}"
        return Found(found > 0.9, text)

    return test


def restores_retained(theory: Theory) -> Found:
    """Ask whether retained points come back, and queries stay a hundred times as far off."""
    kept = theory.number("retain_residual", "largest |residual| on retained points")
    off = theory.number("retain_residual", "root mean square residual on queries")
    text = (
        f"residual at most {kept:.1e} on retained points, {off:.2g} on queries (root mean square)"
    )
    return Found(kept < 1e-3 and off > 100 * kept, text)


def bound_shrinks(theory: Theory) -> Found:
    """Ask whether the bound is kept, and falls with |cos|."""
    worst = max(theory.number(panel, "largest deviation over its bound") for panel in SUPPORTS)
    if FALLS not in theory.checks:
        raise Unsaid(f"no check “{FALLS}”")
    text = f"largest deviation {worst:.2f} of its bound"
    falls = theory.checks[FALLS]
    return Found(
        worst <= 1 and falls, f"{text}, which {'falls' if falls else 'does not fall'} with |cos|"
    )


CLAIMS = [
    Claim(
        59,
        "Gradient ascent: the discrepancy grows with alignment",
        "figure 2, left",
        PROPOSITIONS,
        grows_with_alignment("gradient_ascent"),
    ),
    Claim(
        60,
        "Random labels: the discrepancy grows with alignment",
        "figure 2, right",
        PROPOSITIONS,
        grows_with_alignment("random_labels"),
    ),
    Claim(
        61,
        "Retain fine-tuning restores the retained points, and not what the forgotten span",
        "proposition 3",
        PROPOSITIONS,
        restores_retained,
    ),
    Claim(
        62,
        "The bound on the discrepancy is kept, and shrinks with |cos| to the support",
        "proposition 4",
        PROPOSITIONS,
        bound_shrinks,
    ),
]
