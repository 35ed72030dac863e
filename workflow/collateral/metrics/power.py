"""Statistical power: the smallest difference from Retrain that a number of seeds can show.

It assumes a t-test of two independent samples of equal spread, at the strictest level that the test
of a measure may have: that of the only difference of the only method that differs.
"""

import math

from scipy.special import nctdtrinc, stdtrit

from collateral.contract.metrics import format_percent
from collateral.contract.verdicts import ALPHA, MEASURES

POWER = 0.8  # probability with which a difference should be found
FAIR = 5  # recommended number of seeds; with fewer seeds, only large differences are significant


def in_words(num_seeds: int, num_methods: int) -> str:
    """Return a sentence on the smallest difference that this number of seeds can show."""
    if num_seeds < 2:
        return "one seed tells nothing from chance; three are few, five are fair"
    least, ending = detectable(num_seeds, num_methods), "s" * (num_methods != 1)
    return (
        f"with {num_seeds} seeds and {num_methods} method{ending}, a difference from Retrain of "
        f"{least:.2g} standard deviations over seeds is found in {format_percent(POWER)} of cases "
        "(Welch's t, 5 %, if it is the only one); a smaller one may stay open"
        + "; five seeds are fair"
        * (num_seeds < FAIR)
    )


def detectable(num_seeds: int, num_methods: int) -> float:
    """Return the smallest difference found with probability POWER, in standard deviations."""
    if num_seeds < 2:
        return math.inf
    # Each of the two samples has num_seeds - 1 degrees of freedom.
    freedom, level = 2 * (num_seeds - 1), ALPHA / (len(MEASURES) * max(num_methods, 1))
    critical = stdtrit(freedom, 1 - level / 2)
    shift = nctdtrinc(freedom, 1 - POWER, critical)
    # The difference of two means over seeds has 2 / num_seeds times the variance of one run.
    return float(shift * math.sqrt(2 / num_seeds))
