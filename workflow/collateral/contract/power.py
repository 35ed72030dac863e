"""Statistical power: the smallest difference from Retrain that a number of seeds can show.

It assumes a t-test of two independent samples of equal spread, at the first level of Holm's method.
"""

import math
from collections.abc import Callable
from functools import cache

from collateral.contract.metrics import format_percent
from collateral.contract.verdicts import ALPHA, TESTS

POWER = 0.8  # probability with which a difference should be found
FAIR = 5  # recommended number of seeds; with fewer seeds, only large differences are significant
STEPS = 2000  # number of steps of the numerical integral


def in_words(num_seeds: int, num_methods: int) -> str:
    """Return a sentence on the smallest difference that this number of seeds can show."""
    if num_seeds < 2:
        return "one seed tells nothing from chance; three are few, five are fair"
    least, ending = detectable(num_seeds, num_methods), "s" * (num_methods != 1)
    return (
        f"with {num_seeds} seeds and {num_methods} method{ending}, a difference from Retrain of "
        f"{least:.2g} standard deviations over seeds is found in {format_percent(POWER)} of cases "
        "(Welch's t, 5 % by Holm); a smaller one may stay within chance"
        + "; five seeds are fair"
        * (num_seeds < FAIR)
    )


@cache
def detectable(num_seeds: int, num_methods: int) -> float:
    """Return the smallest detectable difference in standard deviations over seeds."""
    if num_seeds < 2:
        return math.inf
    # Each of the two samples has num_seeds - 1 degrees of freedom.
    freedom, level = 2 * (num_seeds - 1), ALPHA / (len(TESTS) * max(num_methods, 1))
    critical = _solve(lambda t: -tail(t, 0, freedom), -level / 2)
    shift = _solve(lambda mean: tail(critical, mean, freedom), POWER)
    # The difference of two means over seeds has 2 / num_seeds times the variance of one run.
    return shift * math.sqrt(2 / num_seeds)


def tail(t: float, shift: float, freedom: int) -> float:
    """Return the probability that a noncentral t variable, shifted by `shift`, exceeds `t`."""
    # Probability of (Z + shift) / s > t, averaged over the distribution of the estimated spread s.
    end = 1 + 12 / math.sqrt(freedom)
    log_scale = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    total = 0.0
    for step in range(1, STEPS + 1):
        place = (step - 0.5) / STEPS
        # The steps of the integral are smallest near s = 0, where a far tail has most of its mass.
        s = end * place**3
        density = math.exp(log_scale + (freedom - 1) * math.log(s) - freedom * s * s / 2)
        total += density * place**2 * math.erfc((t * s - shift) / math.sqrt(2)) / 2
    return 3 * total * end / STEPS


def _solve(rising: Callable[[float], float], wanted: float) -> float:
    """Return the x >= 0 at which the increasing function `rising` reaches the value `wanted`."""
    low, high = 0.0, 1.0
    while rising(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high
