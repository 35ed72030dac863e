"""How far a run's means are from Retrain's."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.gap import TERMS

BySeed = Mapping[str, NDArray[np.float64]]  # the values of each metric, one a seed


def average_gaps(run: BySeed, retrained: BySeed) -> dict[str, float]:
    """Return each average gap: mean |mean of the run - mean of Retrain| over its terms.

    A term that is undefined for either in any seed drops out; a gap without terms is NaN.
    """
    return {
        gap: mean_of_defined(abs(run[name].mean() - retrained[name].mean()) for name in terms)
        for gap, terms in TERMS.items()
    }
