"""Do two numbers rank methods alike? Kendall's tau-b, with differences inside the floor as ties."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from collateral.metrics.arrays import Floats


def floor_of_means(values: Floats) -> float:
    """Return the noise floor of a mean over n seeds: mean of |r_i - r_j| over pairs, by sqrt n."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return math.nan
    apart = np.abs(np.subtract.outer(known, known))
    pairs = apart[np.triu_indices(len(known), k=1)]
    return float(pairs.mean() / math.sqrt(len(known)))


def order_pairs(distances: Floats, floor: float) -> Floats:
    """Return for each pair of methods 1, 0 or -1: the first is farther, tied or nearer."""
    apart = np.subtract.outer(distances, distances)[np.triu_indices(len(distances), k=1)]
    return np.sign(np.where(np.abs(apart) > floor, apart, 0.0))


def tau_b(first: Floats, second: Floats) -> float:
    """Return Kendall's tau-b of two orders of pairs; NaN if one number ties all methods."""
    size = math.sqrt((first**2).sum() * (second**2).sum())
    return float((first * second).sum() / size) if size else math.nan


def mean_tau(orders: Sequence[Mapping[str, Floats]], one: str, other: str) -> float:
    """Return the mean tau-b of two numbers over the cells that have both; NaN if none has."""
    found = [tau_b(cell[one], cell[other]) for cell in orders if one in cell and other in cell]
    known = [tau for tau in found if not math.isnan(tau)]
    return sum(known) / len(known) if known else math.nan
