"""Offline RMIA (Zarifzadeh et al., 2024): scores, their AUC, and its interval over examples."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import rankdata

MIN_PROBABILITY = 1e-30  # lower bound of probabilities before taking logarithms
NORMAL_95 = 1.96  # quantile of the normal distribution for a 95 % interval
UNKNOWN = (math.nan, math.nan)

Floats = NDArray[np.float64]
Placements = tuple[Floats, Floats]


def rmia_scores(confidence: Floats, out: Sequence[Floats]) -> Floats:
    """Return log p(y|x) minus the logarithm of its mean over OUT models."""
    # The ratio is computed before one logarithm, so that equal ratios are exactly equal (ties).
    own, mean = (np.maximum(p, MIN_PROBABILITY) for p in (confidence, np.mean(out, axis=0)))
    scores: Floats = np.log(own / mean)
    return scores


def find_placements(members: Floats, non_members: Floats) -> Placements:
    """Return the share of non-members scored below each member, and vice versa for non-members.

    Ties count as one half. Both parts have the AUC as their mean (DeLong et al., 1988).
    """
    num_members, num_others = len(members), len(non_members)
    if not num_members or not num_others:
        return np.full(num_members, np.nan), np.full(num_others, np.nan)
    ranks = rankdata(np.concatenate([members, non_members]))
    below = (ranks[:num_members] - rankdata(members)) / num_others
    above = 1 - (ranks[num_members:] - rankdata(non_members)) / num_members
    return below, above


def placement_auc(placements: Placements) -> float:
    """Return the probability that a member has the higher score; NaN without members."""
    return float(placements[0].mean()) if len(placements[0]) else math.nan


def delong_interval(by_seed: Sequence[Placements]) -> tuple[float, float]:
    """Return DeLong's 95 % interval of the mean AUC, computed over examples on the logit scale.

    All seeds share the examples, so placements are averaged over seeds first. NaN if there are
    fewer than two examples on a side, or if placements do not vary.
    """
    if not by_seed or min(map(len, by_seed[0])) < 2:
        return UNKNOWN
    sides = [np.mean([placements[side] for placements in by_seed], axis=0) for side in (0, 1)]
    auc = float(sides[0].mean())
    variance = sum(float(side.var(ddof=1)) / len(side) for side in sides)
    if variance <= 0 or not 0 < auc < 1:
        return UNKNOWN
    half = NORMAL_95 * math.sqrt(variance) / (auc * (1 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))
