"""Test whether the ranks of methods differ over cells; critical difference (Demšar, 2006)."""

import math

import numpy as np
from scipy.stats import friedmanchisquare, studentized_range

from collateral.contract.verdicts import ALPHA
from collateral.metrics.arrays import Floats


def friedman_p(values: Floats) -> float:
    """Return Friedman's p-value that all methods (columns) rank equally over cells (rows)."""
    if values.shape[0] < 2 or values.shape[1] < 3:
        return math.nan
    if (values == values[:, :1]).all():  # scipy would divide by zero if all values are tied
        return 1.0
    return float(friedmanchisquare(*values.T).pvalue)


def critical_difference(num_methods: int, num_cells: int) -> float:
    """Return the smallest significant difference of two mean ranks (Nemenyi, for all pairs)."""
    if num_methods < 2 or num_cells < 2:
        return math.nan
    q = studentized_range.ppf(1 - ALPHA, num_methods, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(num_methods * (num_methods + 1) / (6 * num_cells)))
