"""What a number of seeds is able to show: the smallest difference from Retrain that it finds.

A paired t-test of two runs with the same spread over seeds, at the first of Holm's levels.
"""

import math
from collections.abc import Callable
from functools import cache

from collateral.contract.metrics import format_percent

ALPHA, POWER = 0.05, 0.8
FAIR = 5  # seeds; with fewer, only differences that leap to the eye are found
MEASURES = 2  # of a verdict: forgetting and damage, each of every method
STEPS = 2000  # of the integral


def in_words(num_seeds: int, num_methods: int) -> str:
    """Say what is found, and of few seeds how many would do."""
    if num_seeds < 2:
        return "one seed tells nothing from chance; three are few, five are fair"
    least, ending = detectable(num_seeds, num_methods), "s" * (num_methods != 1)
    return (
        f"with {num_seeds} seeds and {num_methods} method{ending}, a difference from Retrain of "
        f"{least:.2g} standard deviations over seeds is found in {format_percent(POWER)} of cases "
        "(paired t, 5 % by Holm); a smaller one may stay within chance"
        + "; five seeds are fair"
        * (num_seeds < FAIR)
    )


@cache
def detectable(num_seeds: int, num_methods: int) -> float:
    """Return it in standard deviations of a run's number over seeds; infinite for one seed."""
    if num_seeds < 2:
        return math.inf
    freedom, level = num_seeds - 1, ALPHA / (MEASURES * max(num_methods, 1))
    critical = _solve(lambda t: -tail(t, 0, freedom), -level / 2)
    shift = _solve(lambda mean: tail(critical, mean, freedom), POWER)
    return shift * math.sqrt(2 / num_seeds)  # the difference of two runs has twice the variance


def tail(t: float, shift: float, freedom: int) -> float:
    """Return the chance that Student's t, off centre by `shift`, is above `t`."""
    # Probability of (Z + shift) / s > t, averaged over the distribution of the estimated spread s.
    end = 1 + 12 / math.sqrt(freedom)
    log_scale = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    total = 0.0
    for step in range(1, STEPS + 1):
        place = (step - 0.5) / STEPS
        s = end * place**3  # finest near zero, where a far tail comes from
        density = math.exp(log_scale + (freedom - 1) * math.log(s) - freedom * s * s / 2)
        total += density * place**2 * math.erfc((t * s - shift) / math.sqrt(2)) / 2
    return 3 * total * end / STEPS


def _solve(rising: Callable[[float], float], wanted: float) -> float:
    """Return where a rising function has a value, from 0 on."""
    low, high = 0.0, 1.0
    while rising(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high
