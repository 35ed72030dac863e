"""How well a number tells two groups of models apart: AUC with its interval, and order by dose."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from collateral.metrics.arrays import Floats

NORMAL = 1.96  # quantile of the normal distribution for intervals of 95 %
LAST_BITS = 1e-12
# Values that differ by less, relative to the larger of the two, or by less than LAST_BITS, tie.
TIE = 1e-9


def auc(high: Floats, low: Floats) -> float:
    """Return the probability that a value of `high` exceeds one of `low`; ties count one half."""
    return float(_wins(high, low).mean()) if len(high) and len(low) else math.nan


def paired_auc(high: Floats, low: Floats) -> tuple[float, float, float]:
    """Return the AUC and its 95 % interval; value i of both groups has the same seed.

    Pairs with an undefined value are left out. DeLong's variance, with Obuchowski's term for pairs,
    on the scale of the logit. If the groups are separated, Newcombe's score limit is used.
    """
    is_defined = ~(np.isnan(high) | np.isnan(low))
    high, low = high[is_defined], low[is_defined]
    n = len(high)
    if n < 2:
        return math.nan, math.nan, math.nan
    area = auc(high, low)
    if area >= 1 - LAST_BITS:
        return 1.0, separated_limit(n), 1.0
    if area <= LAST_BITS:
        return 0.0, 0.0, 1 - separated_limit(n)
    half = NORMAL * math.sqrt(paired_variance(high, low)) / (area * (1 - area))
    return area, float(expit(logit(area) - half)), float(expit(logit(area) + half))


def delong_variance(high: Floats, low: Floats) -> float:
    """Return DeLong's variance of the AUC of two independent groups."""
    wins = _wins(high, low)
    return float(
        wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low)
    )


def paired_variance(high: Floats, low: Floats) -> float:
    """Return the variance of the AUC if value i of both groups has the same seed (Obuchowski)."""
    wins = _wins(high, low)
    covariance = np.cov(wins.mean(axis=1), wins.mean(axis=0))[0, 1]
    found = delong_variance(high, low) + 2 * covariance / len(high)
    return max(0.0, float(found))


def separated_limit(n: int) -> float:
    """Return the lower confidence limit of an AUC of 1, for two groups of n values (Newcombe)."""

    def excess(area: float) -> float:
        spread = (1 - area) / (2 - area) + area / (1 + area)
        return (1 - area) - NORMAL * math.sqrt(area * (1 - area) * (1 + (n - 1) * spread)) / n

    return float(brentq(excess, 1e-9, 1 - 1e-9))


def dose_concordance(doses: Floats, values: Floats) -> float:
    """Return the probability that of two models the one with more dose has the larger value.

    Ties count one half, so that it is (1 + Somers' D) / 2, on the scale of the AUC.
    """
    is_defined = ~np.isnan(values)
    doses, values = doses[is_defined], values[is_defined]
    is_more = doses[:, None] > doses[None, :]
    return float(_wins(values, values)[is_more].mean()) if is_more.any() else math.nan


def adjacent_auc(by_dose: Sequence[Floats]) -> float:
    """Return the mean AUC of neighbouring doses; the groups are in increasing order of dose."""
    groups = [values[~np.isnan(values)] for values in by_dose]
    found = [auc(more, less) for less, more in pairwise(groups) if len(less) and len(more)]
    return float(np.mean(found)) if found else math.nan


def relative_change(edited: Floats, values: Floats, saw: Floats, not_saw: Floats) -> float:
    """Return the median change by an edit, divided by the distance between both groups' medians."""
    distance = abs(np.nanmedian(saw) - np.nanmedian(not_saw)) if _any(saw, not_saw) else math.nan
    change = np.abs(edited - values)
    if not _any(change) or not distance > 0:
        return math.nan
    return float(np.nanmedian(change) / distance)


def _any(*groups: Floats) -> bool:
    return all((~np.isnan(values)).any() for values in groups)


def _wins(high: Floats, low: Floats) -> Floats:
    """Return for every pair 1 if the value of `high` is larger, 1/2 if equal, 0 if smaller."""
    with np.errstate(invalid="ignore"):  # the difference of two equal infinities is NaN
        difference = np.subtract.outer(high, low)
    smallest = np.maximum(TIE * np.maximum.outer(np.abs(high), np.abs(low)), LAST_BITS)
    is_close = np.isfinite(difference) & (np.abs(difference) < smallest)
    is_tie = is_close | np.equal.outer(high, low)
    return np.where(is_tie, 0.5, np.greater.outer(high, low))
