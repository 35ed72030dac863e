"""Membership attacks by likelihood ratios: offline RMIA (Zarifzadeh et al., 2024), LiRA, U-LiRA.

LiRA and U-LiRA compare margins on shadow models. An attacked model is left out of the Gaussians
that score it, together with one model of the other side. Both sides (models that saw an example,
and models that did not) then lose one model, so that equal distributions have an AUC of 0.5.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit
from scipy.stats import rankdata

from collateral.metrics.arrays import Floats, Ints, Mask, Singles

MIN_PROBABILITY = 1e-30  # lower bound of probabilities before taking logarithms
NORMAL_95 = 1.96  # quantile of the normal distribution for a 95 % interval
UNKNOWN = (math.nan, math.nan)
PRIOR_MODELS = 4  # weight of the variance pooled over all examples, as a number of models
MIN_VARIANCE = 1e-12  # lower bound of a variance, for margins that are all equal
CHANCE_AUC = 0.5  # AUC of an attack that is no better than guessing

Placements = tuple[Floats, Floats]


def rmia_scores(confidence: Floats, out: Sequence[Floats]) -> Floats:
    """Return log p(y|x) minus the logarithm of the mean p(y|x) over models that did not see x."""
    # Dividing before taking the logarithm keeps equal ratios exactly equal, so that they are ties.
    own, mean = (np.maximum(p, MIN_PROBABILITY) for p in (confidence, np.mean(out, axis=0)))
    return np.log(own / mean)


def find_placements(members: Floats, non_members: Floats) -> Placements:
    """Return, for each member, the fraction of non-members with a lower score, and the reverse.

    The reverse is the fraction of members with a higher score than each non-member. Ties count as
    one half. The mean of either array is the AUC (DeLong et al., 1988).
    """
    num_members, num_others = len(members), len(non_members)
    if not num_members or not num_others:
        return np.full(num_members, np.nan), np.full(num_others, np.nan)
    ranks = rankdata(np.concatenate([members, non_members]))
    below = (ranks[:num_members] - rankdata(members)) / num_others
    above = 1 - (ranks[num_members:] - rankdata(non_members)) / num_members
    return below, above


def placement_auc(placements: Placements) -> float:
    """Return the probability that a member scores higher than a non-member; NaN if undefined."""
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


def likelihood_ratios(margins: Floats, is_in: Mask) -> Floats:
    """Return log p(margin | seen) - log p(margin | unseen) per model and example, (models, N)."""
    ratios = np.full(margins.shape, np.nan)
    columns = np.arange(margins.shape[1])
    for model, own in enumerate(margins):
        others = np.ones_like(is_in)
        others[model] = False
        others[find_partners(is_in, model), columns] = False
        seen, unseen = (
            log_density(own, *fit_gaussians(margins, side & others)) for side in (is_in, ~is_in)
        )
        ratios[model] = seen - unseen
    return ratios


def find_partners(is_in: Mask, model: int) -> Ints:
    """Return, for each example, the next model that saw it if `model` did not, and vice versa."""
    num_models = len(is_in)
    order = (model + 1 + np.arange(num_models - 1)) % num_models
    is_other = is_in[order] != is_in[model]
    return np.asarray(order[is_other.argmax(axis=0)])


def fit_gaussians(margins: Floats, chosen: Mask) -> tuple[Floats, Floats]:
    """Return each example's mean margin over models, and its variance, shrunk to the pooled one.

    The mean is NaN for an example without chosen models.
    """
    num_models = chosen.sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(chosen, margins, 0).sum(axis=0) / num_models
    squares = np.where(chosen, (margins - mean) ** 2, 0).sum(axis=0)
    freedom = np.maximum(num_models - 1, 0)
    pooled = squares.sum() / max(freedom.sum(), 1)
    variance = (squares + PRIOR_MODELS * pooled) / (freedom + PRIOR_MODELS)
    return mean, np.maximum(variance, MIN_VARIANCE)


def log_density(values: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the log density of Gaussians without its constant term."""
    return -((values - mean) ** 2 / variance + np.log(variance)) / 2


def auc(scores: Floats, is_in: Mask) -> float:
    """Return the probability that a seen example has a higher score than an unseen one.

    Ties count as one half, and undefined scores are left out; NaN if one side is empty.
    """
    known = ~np.isnan(scores)
    ranks, seen = rankdata(scores[known]), is_in[known]
    num_in, num_out = int(seen.sum()), int((~seen).sum())
    if not num_in or not num_out:
        return math.nan
    return float((ranks[seen].sum() - num_in * (num_in + 1) / 2) / (num_in * num_out))


def min_learned_share(margins: Singles, is_in: Mask) -> float:
    """Return the minimum over models of the fraction of seen examples with p(true class) > 1/2."""
    return float(np.min(((margins > 0) & is_in).sum(axis=1) / is_in.sum(axis=1)))
