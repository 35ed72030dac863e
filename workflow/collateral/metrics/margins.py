"""Margins of single examples over models: KLOM, and memorisation.

KLOM (Georgiev et al., 2024) is the KL divergence between margins that are treated as Gaussian. A
margin is log p - log(1 - p) of the true class. One half of the seeds gives the distribution for
the unlearned model, the other half the one for Retrain. KLOM of Retrain against Retrain is then the
same statistic with the same number of seeds.
"""

import numpy as np
from scipy.special import logsumexp

from collateral.metrics.arrays import AnyFloats, Floats, Ints, Mask

MIN_SEEDS = 2
PRIOR_SEEDS = 4  # weight of the prior (the mean variance of all examples), as a number of seeds
ROUNDING = 1e-20  # variances below this fraction of the mean squared margin are rounding errors


def margins(logits: AnyFloats, label: Ints) -> Floats:
    """Return log p - log(1 - p) of the true class: its logit minus log-sum-exp of other logits.

    Logits are used, because float32 rounds the probability to 1 for margins above 17.
    """
    others = logits.astype(np.float32)
    true = np.take_along_axis(others, label[:, None], axis=1)[:, 0]
    np.put_along_axis(others, label[:, None], -np.inf, axis=1)
    return true.astype(np.float64) - logsumexp(others, axis=1)


def klom(own: Floats, retrained: Floats) -> Floats:
    """Return each example's KLOM, averaged over `seed_halves`; margins are (seeds, examples)."""
    num_seeds, num_examples = own.shape
    if num_seeds < MIN_SEEDS or not num_examples:
        return np.full(num_examples, np.nan)
    variances = mean_variance(own), mean_variance(retrained)
    found = [
        gaussian_kl(
            *fit_gaussians(own[half], variances[0]), *fit_gaussians(retrained[other], variances[1])
        )
        for half, other in seed_halves(num_seeds)
    ]
    return np.asarray(np.mean(found, axis=0))


def mean_variance(margins: Floats) -> float:
    """Return the margins' variance over seeds, averaged over examples; 0 for rounding errors."""
    variance = float(margins.var(axis=0, ddof=1).mean())
    return variance if variance > ROUNDING * float((margins**2).mean()) else 0.0


def fit_gaussians(margins: Floats, prior_variance: float) -> tuple[Floats, Floats]:
    """Return each example's mean margin over seeds, and its variance, shrunk to the prior one."""
    mean = margins.mean(axis=0)
    squares = ((margins - mean) ** 2).sum(axis=0)
    return mean, (squares + PRIOR_SEEDS * prior_variance) / (len(margins) - 1 + PRIOR_SEEDS)


def seed_halves(num_seeds: int) -> list[tuple[list[int], list[int]]]:
    """Return pairs of disjoint halves of the seeds, one pair for each cyclic shift of the seeds."""
    half = num_seeds // 2
    order = [[(start + i) % num_seeds for i in range(2 * half)] for start in range(num_seeds)]
    return [(both[:half], both[half:]) for both in order]


def gaussian_kl(
    mean: Floats, variance: Floats, other_mean: Floats, other_variance: Floats
) -> Floats:
    """Return the KL divergence in nats of the first Gaussian from the second."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = variance / other_variance
        distance = (mean - other_mean) ** 2 / other_variance
        return (ratio - 1 - np.log(ratio) + distance) / 2


def mean_klom(by_example: Floats, members: Mask) -> float:
    """Return the mean KLOM over the examples in a mask; NaN if undefined or infinite."""
    mean = float(by_example[members].mean()) if members.any() else np.nan
    return mean if np.isfinite(mean) else float("nan")


def memorisation(is_in: Mask, values: Floats) -> Floats:
    """Return each example's mean value over models that saw it, minus the mean over other models.

    This is the memorisation of Feldman and Zhang (2020).

    `is_in` and `values` are (models, examples); the values are correctness or probabilities. NaN
    for an example that every model saw, or that no model saw.
    """
    seen, unseen = is_in.sum(axis=0), (~is_in).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return (values * is_in).sum(axis=0) / seen - (values * ~is_in).sum(axis=0) / unseen
