"""LiRA and U-LiRA: likelihood ratios of margins on shadow models, and their AUC.

An attacked model is left out of the Gaussians that score it, together with one model of the other
side. Both sides then lose one model whichever side the attacked model is on, so that equal
distributions have an AUC of 0.5.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

PRIOR_MODELS = 4  # weight of the variance pooled over all examples, as a number of models
MIN_VARIANCE = 1e-12  # lower bound of a variance, for margins that are all equal
CHANCE_AUC = 0.5  # AUC of an attack that is no better than guessing

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def likelihood_ratios(margins: Floats, is_in: Mask) -> Floats:
    """Return log p(margin | IN) - log p(margin | OUT) of each model and example, (models, N)."""
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


def find_partners(is_in: Mask, model: int) -> NDArray[np.int64]:
    """Return for each example the next model with the opposite membership."""
    num_models = len(is_in)
    order = (model + 1 + np.arange(num_models - 1)) % num_models
    is_other = is_in[order] != is_in[model]
    return np.asarray(order[is_other.argmax(axis=0)])


def fit_gaussians(margins: Floats, chosen: Mask) -> tuple[Floats, Floats]:
    """Return each example's mean and variance over models; variances are shrunk to the pooled one.

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
    density: Floats = -((values - mean) ** 2 / variance + np.log(variance)) / 2
    return density


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


def min_learned_share(margins: NDArray[np.float32], is_in: Mask) -> float:
    """Return the smallest share, over models, of seen examples with a probability above 1/2."""
    return float(np.min(((margins > 0) & is_in).sum(axis=1) / is_in.sum(axis=1)))
