"""Statistics of an atlas: matrices of damage whose rows are emitters and columns receivers.

An emitter is a forgotten class (or group), a receiver is one whose test accuracy is measured. Both
have the same order; the diagonal is never used. The last axis of stacks of matrices is the seed.

Is damage explained by similarity? Plain permutation of classes (Mantel's test) rejects far too
often if some classes are both similar to many others and easy to hurt (docs/atlas.md). The test
here first removes the habits of emitters and receivers from the similarity, permutes the remainder
(double semi-partialling: Dekker, Krackhardt and Snijders 2007), and so keeps its level.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from math import factorial, nan

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from collateral.contract.verdicts import ALPHA
from collateral.metrics.arrays import Floats, Ints, Mask
from collateral.metrics.differences import (
    Contrast,
    count_discoveries,
    moments,
    t_interval,
    unpaired,
)

NUM_PERMUTATIONS = 9_999
MOST_PERMUTATIONS = 5_040  # up to as many permutations (seven classes), all are used
NUM_BOOTSTRAP = 1_000
LEAST_CLASSES = 5  # with four, there are 24 permutations, of which a symmetric matrix leaves few
LAST_BITS = 1e-9


@dataclass(frozen=True)
class Slope:
    """Change of damage with similarity, apart from the habits of emitters and receivers."""

    slope: float  # damage per unit of similarity
    low: float  # ends of the 95 % interval over seeds (Student's t)
    high: float
    correlation: float  # partial correlation of damage and similarity
    p: float  # p-value of the permutation test, unadjusted


UNKNOWN_SLOPE = Slope(nan, nan, nan, nan, nan)


def off_diagonal(size: int) -> Mask:
    """Return a mask of all entries except those on the diagonal."""
    return ~np.eye(size, dtype=bool)


def subtract_habits(matrix: Floats) -> Floats:
    """Subtract from each matrix its least-squares fit of emitter plus receiver effects.

    The fit ignores the diagonal; the result is 0 there. The last two axes are emitter and receiver;
    there must be at least three classes.
    """
    size = matrix.shape[-1]
    values = np.where(off_diagonal(size), matrix, 0.0)
    rows, columns = values.sum(axis=-1), values.sum(axis=-2)
    total = rows.sum(axis=-1)[..., None]
    scale = size * (size - 2)
    emitter = ((size - 1) * rows + columns - total) / scale
    receiver = ((size - 1) * columns + rows - total) / scale
    mean = total / (size * (size - 1))
    fit = mean[..., None] + emitter[..., :, None] + receiver[..., None, :]
    return np.where(off_diagonal(size), values - fit, 0.0)


def partial_correlation(damage: Floats, similarity: Floats) -> Floats:
    """Return the correlation of two matrices after subtracting habits from both."""
    one, other = subtract_habits(damage), subtract_habits(similarity)
    above = (one * other).sum(axis=(-2, -1))
    below = np.sqrt((one**2).sum(axis=(-2, -1)) * (other**2).sum(axis=(-2, -1)))
    return np.where(below > LAST_BITS**2, above / np.where(below > 0, below, 1.0), nan)


def similarity_slope(damage: Floats, similarity: Floats) -> Floats:
    """Return the slope of damage over similarity after subtracting habits from both."""
    one, other = subtract_habits(damage), subtract_habits(similarity)
    below = (other**2).sum(axis=(-2, -1))
    above = (one * other).sum(axis=(-2, -1))
    return np.where(below > LAST_BITS**2, above / np.where(below > 0, below, 1.0), nan)


def permutation_p(damage: Floats, similarity: Floats, rng: np.random.Generator) -> float:
    """Return the p-value of no relation, by double semi-partialling; NaN if it is undefined.

    The remainder of the similarity is permuted, rows and columns together, and residualised again.
    """
    size = len(damage)
    observed = abs(float(partial_correlation(damage, similarity)))
    if np.isnan(observed):
        return nan
    rest = subtract_habits(similarity)
    count = total = 0
    for orders in _orders(size, rng):
        permuted = rest[orders[:, :, None], orders[:, None, :]]
        found = np.abs(partial_correlation(damage, permuted))
        count += int(np.count_nonzero(found >= observed - LAST_BITS))
        total += len(orders)
    is_complete = factorial(size) <= MOST_PERMUTATIONS
    return count / total if is_complete else (count + 1) / (total + 1)


def _orders(size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield permutations of the classes, in arrays of limited size: all of them, or random ones."""
    if factorial(size) <= MOST_PERMUTATIONS:
        yield np.array([*permutations(range(size))])
        return
    at_once = max(1, 2**21 // size**2)
    for start in range(0, NUM_PERMUTATIONS, at_once):
        num = min(at_once, NUM_PERMUTATIONS - start)
        yield rng.permuted(np.broadcast_to(np.arange(size), (num, size)), axis=1)


def find_slope(damage: Floats, similarity: Floats, rng: np.random.Generator) -> Slope:
    """Test whether damage depends on similarity; stacks have one matrix per seed on the last axis.

    All numbers are NaN with fewer than `LEAST_CLASSES` classes, or if an entry is undefined.
    """
    size, used = len(damage), off_diagonal(len(damage))
    if size < LEAST_CLASSES or np.isnan(damage[used]).any() or np.isnan(similarity[used]).any():
        return UNKNOWN_SLOPE
    mean, mean_similarity = damage.mean(axis=-1), similarity.mean(axis=-1)
    by_seed = similarity_slope(np.moveaxis(damage, -1, 0), np.moveaxis(similarity, -1, 0))
    low, high = t_interval(by_seed, ALPHA) if len(by_seed) > 1 else (nan, nan)
    return Slope(
        float(by_seed.mean()),
        float(low),
        float(high),
        float(partial_correlation(mean, mean_similarity)),
        permutation_p(mean, mean_similarity, rng),
    )


def asymmetry(damage: Floats) -> float:
    """Return the share of damage, beyond habits and noise, that is not mutual; NaN if undefined.

    It is 0 if class A hurts B as much as B hurts A, and 1 if one always gains what the other loses.
    """
    _, variance, count = moments(damage)
    return _asymmetric_share(damage.mean(axis=-1), variance / count)


def _asymmetric_share(mean: Floats, noise: Floats) -> float:
    used = off_diagonal(len(mean))
    rest = subtract_habits(mean)
    chance = float(((noise + noise.T) / 4)[used].mean())
    one_way = float((((rest - rest.T) / 2)[used] ** 2).mean()) - chance
    mutual = float((((rest + rest.T) / 2)[used] ** 2).mean()) - chance
    one_way, mutual = max(one_way, 0.0), max(mutual, 0.0)
    return one_way / (one_way + mutual) if one_way + mutual > 0 else nan


def asymmetry_interval(damage: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the 95 % interval of the asymmetry, by resampling seeds; NaN if it is undefined.

    A resample adds noise to that of the mean, so the noise of both is subtracted.
    """
    seeds = damage.shape[-1]
    if seeds < 2 or np.isnan(asymmetry(damage)):
        return nan, nan
    own = moments(damage)[1] / seeds
    found = []
    for _ in range(NUM_BOOTSTRAP):
        drawn = damage[..., rng.integers(0, seeds, seeds)]
        again = moments(drawn)[1] / seeds
        found.append(_asymmetric_share(drawn.mean(axis=-1), own + again))
    known = np.array(found)[~np.isnan(found)]
    if len(known) < NUM_BOOTSTRAP / 2:
        return nan, nan
    low, high = np.quantile(known, [ALPHA / 2, 1 - ALPHA / 2])
    return float(low), float(high)


def compare_entries(reference: Floats, run: Floats, step: Floats, used: Mask) -> Contrast:
    """Compare each entry of two stacks of accuracies: reference minus run.

    The test is Welch's, but a variance below the mean variance of all used entries is replaced by
    it: a few seeds that happen to agree then find nothing. If both variances are replaced, the
    degrees of freedom are those of a receiver's variance over all emitters. `step` is the weight
    of one test image, by receiver.
    """
    variances = [moments(stack)[1] for stack in (reference, run)]
    known = np.concatenate([v[used & ~np.isnan(v)] for v in variances])
    pooled, seeds = float(known.mean()) if len(known) else nan, run.shape[-1]
    least = np.maximum(pooled, step**2 / seeds)
    found = unpaired(reference, run, least)
    is_replaced = (variances[0] <= least) & (variances[1] <= least)
    freedom = 2.0 * (len(run) - 1) * (seeds - 1)
    return replace(found, freedom=np.where(is_replaced, freedom, found.freedom))


def find_entries(contrast: Contrast, used: Mask) -> Mask:
    """Return a mask of the entries that differ (Benjamini and Hochberg, 5 % per matrix)."""
    p = np.where(used, contrast.p, nan)
    found, num_tests = int(count_discoveries(p.ravel())), np.count_nonzero(~np.isnan(p))
    return np.asarray(np.nan_to_num(p, nan=1.0) * max(num_tests, 1) < ALPHA * found)


def halves(seeds: int) -> list[tuple[list[int], list[int]]]:
    """Return all divisions of the seeds into a smaller (or equal) half and the rest."""
    every = range(seeds)
    parts = [[*part] for part in combinations(every, seeds // 2)]
    return [(part, [seed for seed in every if seed not in part]) for part in parts]


def floor_rate(retrained: Floats, used: Mask, step: Floats) -> float:
    """Return the share of entries found between one half of the Retrains and the other half.

    It is the mean over all divisions with at least two seeds in each half; NaN below four seeds.
    """
    if retrained.shape[-1] < 4 or not used.any():
        return nan
    found = [
        find_entries(compare_entries(retrained[..., one], retrained[..., rest], step, used), used)
        for one, rest in halves(retrained.shape[-1])
    ]
    return float(np.mean([np.count_nonzero(mask) for mask in found]) / np.count_nonzero(used))


def cluster_order(similarity: Floats) -> list[int]:
    """Return an order of the classes in which similar ones are neighbours.

    It is by average linkage on 1 - similarity with optimal order of leaves; the order is unchanged
    if a similarity is undefined.
    """
    size = len(similarity)
    both = (similarity + similarity.T) / 2
    if size < 3 or np.isnan(both[off_diagonal(size)]).any():
        return [*range(size)]
    distance = np.where(off_diagonal(size), np.maximum(1 - both, 0.0), 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]
