"""How far a run's means are from Retrain's."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.gap import TERMS

FORGETTING = ("ua", "mia")

BySeed = Mapping[str, NDArray[np.float64]]  # the values of each metric, one a seed


def average_gaps(run: BySeed, retrained: BySeed) -> dict[str, float]:
    """Return each average gap: mean |mean of the run - mean of Retrain| over its terms.

    A term that is undefined for either in any seed drops out; a gap without terms is NaN.
    """
    return {
        gap: mean_of_defined(_gap(run, retrained, name) for name in terms)
        for gap, terms in TERMS.items()
    }


def forgetting_error(run: BySeed, retrained: BySeed) -> float:
    """Return the same over UA and MIA."""
    return mean_of_defined(_gap(run, retrained, name) for name in FORGETTING)


def _gap(run: BySeed, retrained: BySeed, name: str) -> float:
    return float(abs(run[name].mean() - retrained[name].mean()))
