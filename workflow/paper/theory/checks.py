"""Every identity, rate and limit of P1 to P4 as one row: how far off, and whether it holds."""

from typing import NamedTuple

import numpy as np

from paper.theory import limits
from paper.theory.draws import interpolating
from paper.theory.identities import PROPOSITIONS, Size, error

# (n, d) of P2 to P4, (d, n) of P1: those of the paper's synthetic P2, a smaller and a wider one;
# then the deleted points and the steps.
SIZES = ((15, 20, 4, 100), (6, 9, 2, 20), (20, 40, 5, 50))
DEFAULT_TOLERANCE = 1e-9
# Sums over the noise's unit vectors, and plane geometry: only rounding is left.
TOLERANCES = {
    "P1.4 covariance of the residuals": 1e-12,
    "P1.5 ascent term A_n": 1e-12,
    "P1.5 retraining term B_n": 1e-12,
    "P1.6 excess loss is a square": 1e-12,
    "P4.3 residual by the cosine": 1e-12,
    "P4.3 bound on the deviation": 1e-12,
}


class Check(NamedTuple):
    """One row of checks.csv; `error` is in the unit that `measure` names."""

    proposition: str
    identity: str
    measure: str
    error: float
    tolerance: float
    draws: int

    @property
    def holds(self) -> bool:
        """Tell whether the error is within the tolerance."""
        return self.error <= self.tolerance


def identity_checks(rng: np.random.Generator, draws: int) -> list[Check]:
    """Compare both sides of every identity on `draws` data sets of each size."""
    rows = []
    for proposition, sides_of in PROPOSITIONS.items():
        per_size = [sides_of(rng, Size(draws, *size)) for size in SIZES]
        for name in per_size[0]:
            worst = max(error(sides[name]) for sides in per_size)
            tolerance = TOLERANCES.get(name, DEFAULT_TOLERANCE)
            total = draws * len(SIZES)
            rows.append(Check(proposition, name, "relative error", worst, tolerance, total))
    return rows


def limit_checks(rng: np.random.Generator, draws: int) -> list[Check]:
    """Measure the two rates and the two means."""
    order = limits.slope(limits.SIZES, limits.remainders(rng, draws))
    errors = limits.limit_errors(interpolating(rng, draws, 15, 20, 4), limits.LAMBDAS)
    rate = limits.slope(limits.LAMBDAS, np.abs(errors).max((1, 2)))
    ends = {
        ("P2", "P2.6 mean logits tend to 0"): limits.random_labels_end(rng, draws),
        ("P3", "P3 mean logits tend to theta^(lam)"): limits.retain_finetuning_end(rng, draws),
    }
    return [
        Check("P1", "P1.7 remainder is O(1/n)", "|slope + 1|", abs(order + 1), 0.05, draws),
        Check("P3", "P3 error is linear in lam", "|slope - 1|", abs(rate - 1), 0.05, draws),
        *(
            Check(
                *names,
                "largest |t|",
                limits.largest_t(end.logits, end.limit),
                limits.critical_t(end.logits),
                draws,
            )
            for names, end in ends.items()
        ),
    ]
