"""How far a run's means are from Retrain's, and how far two retrainings' means would be."""

from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

BySeed = Mapping[str, NDArray[np.float64]]  # the values of each metric, one a seed

TERMS = {
    "avg_gap": ("ua", "ra", "ta", "mia"),
    "avg_gap_affected": ("ra_affected", "ua_affected", "ta_affected"),
}


def average_gaps(run: BySeed, retrained: BySeed) -> dict[str, float]:
    """Return each average gap: mean |mean of the run - mean of Retrain| over its terms.

    A term that is undefined for either in any seed drops out; a gap without terms is NaN.
    """
    return {
        gap: mean_of_defined(abs(run[name].mean() - retrained[name].mean()) for name in terms)
        for gap, terms in TERMS.items()
    }


def noise_floors(retrained: BySeed) -> dict[str, float]:
    """Return `floor:<metric>` of each term, and each average gap's own floor, their mean."""
    floors = {name: gap_floor(retrained[name]) for terms in TERMS.values() for name in terms}
    gaps = {gap: mean_of_defined(floors[name] for name in terms) for gap, terms in TERMS.items()}
    return {f"floor:{name}": value for name, value in floors.items()} | gaps


def gap_floor(values: NDArray[np.float64]) -> float:
    """Return the expected |deviation| between the means of two independent sets of n retrainings.

    For a normal law that is E|r_i - r_j| / sqrt(n), with the mean over pairs i < j for E.
    """
    n = len(values)
    if n < 2:
        return float("nan")
    return float(np.mean([abs(a - b) for a, b in combinations(values, 2)]) / np.sqrt(n))


def student_95(n: int) -> float:
    """Return how many standard deviations, as known from n seeds, hold 95 % of what chance does."""
    return float(stdtrit(n - 1, 0.975)) if n >= 2 else float("nan")


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of what is not NaN; NaN where nothing is left."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")
