"""Statistics of how an example's difference from Retrain depends on its similarity to D_f.

The statistics are slope, rank correlation and near-to-far ratio. All three are functions of
weighted sums over examples, so that a bootstrap resample costs one matrix product. The bootstrap is
over examples with fixed models: it shows how statistics vary with the choice of examples. Two more
functions test the ranks of methods over cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from collateral.contract.verdicts import ALPHA
from collateral.metrics.arrays import AnyFloats, Floats, Halves, Ints, Mask

Mean = Callable[[Floats], Floats]
NUM_DECILES = 10
AT_ONCE = 512  # number of examples whose logits are converted at a time
NUM_SUMS = 10  # number of columns of `Neighborhood.summands`
NUM_RESAMPLES = 1000
# Maximum number of groups to resample; with more examples, a group consists of several examples.
MOST_GROUPS = 2000
# A table of Poisson quantiles makes draws ten times faster than numpy's Poisson generator.
NUM_LEVELS = 2**16
_BELOW = np.exp(-1) * np.cumsum(1 / np.cumprod([1, *range(1, 9)]))
COUNTS = np.searchsorted(_BELOW, (np.arange(NUM_LEVELS) + 0.5) / NUM_LEVELS).astype(np.uint8)


@dataclass(frozen=True)
class Ranked:
    """Values of examples with their ranks and their sorting order, which are computed only once."""

    values: Floats
    ranks: Floats  # rank of each value, scaled to -1/2 ... 1/2; ties share their mean rank
    order: Ints  # indices of the examples, sorted by value
    firsts: Ints  # position in `order` of the first example with the same value

    @staticmethod
    def of(values: Floats) -> Ranked:
        """Sort and rank the values; if any value is NaN, all ranks are NaN."""
        count, order = len(values), np.argsort(values, kind="stable")
        in_order = values[order]
        is_first = np.append(True, in_order[1:] != in_order[:-1])[:count]
        starts, group = np.flatnonzero(is_first), np.cumsum(is_first) - 1
        mean_ranks = (starts + 1 + np.append(starts[1:], count)) / 2
        ranks, firsts = np.full(count, np.nan), np.empty(count, np.int64)
        firsts[order] = starts[group]
        if not np.isnan(in_order[-1:]).any():
            ranks[order] = mean_ranks[group]
        return Ranked(values, ranks / count - 0.5, order, firsts)

    def mean_above(self, others: Floats) -> Floats:
        """Return a sum of `others` for each example, divided by the number of all examples.

        It is over all examples whose value is at least that of the example, itself included.
        """
        sums = np.cumsum(others[self.order][::-1])[::-1] / len(others)
        return sums[self.firsts]


@dataclass(frozen=True)
class Neighborhood:
    """Similarities, ranks, and weights in near and far means, for one subset and seed."""

    similarity: Floats  # similarity of each example minus the mean similarity of its group
    ranks: Floats  # rank of each similarity minus the mean rank of its group
    # `Ranked.mean_above` of the similarities: it sums over examples that are at least as similar.
    mean_above: Mean
    near: Floats  # weight of each example in the mean over examples near the forget set
    far: Floats  # weight of each example in the mean over examples far from the forget set
    groups: Ints  # group of each example; all 0 if there is only one group

    @staticmethod
    def whole(similarity: Ranked, is_near: Mask, is_far: Mask) -> Neighborhood:
        """Return the neighborhood in which all examples are compared with one another."""
        groups = np.zeros(len(is_near), dtype=np.int64)
        return Neighborhood.within(similarity, is_near, is_far, groups)

    @staticmethod
    def within(similarity: Ranked, is_near: Mask, is_far: Mask, groups: Ints) -> Neighborhood:
        """Return the neighborhood in which examples are compared within their group only."""
        near, far = is_near.astype(np.float64), is_far.astype(np.float64)
        # In each group, the weights of the far examples add up to the number of near examples.
        num_near, num_far = (np.bincount(groups, weights=w, minlength=1) for w in (near, far))
        weights = np.divide(num_near, num_far, out=np.zeros_like(num_near), where=num_far > 0)
        near = near * (num_far > 0)[groups]  # the weight is 0 in groups without far examples
        return Neighborhood(
            subtract_group_means(similarity.values, groups),
            subtract_group_means(similarity.ranks, groups),
            similarity.mean_above,
            near,
            far * weights[groups],
            groups,
        )

    def summands(self, difference: Ranked) -> Floats:
        """Return ten numbers per example; their sums over examples determine the statistics."""
        x, y = self.similarity, subtract_group_means(difference.values, self.groups)
        ranks = subtract_group_means(difference.ranks, self.groups)
        moments = [np.ones_like(x), x, y, x * x, x * y]
        near, far = (weights * difference.values for weights in (self.near, self.far))
        parts = [self.near, near, self.far, far]
        terms = correlation_terms(self.ranks, ranks, self.mean_above, difference.mean_above)
        return np.column_stack([*moments, terms, *parts])


def slope(sums: Floats) -> Floats:
    """Return the regression slope of difference on similarity, given the sums of `summands`."""
    n, x, y, xx, xy = np.moveaxis(sums[..., :5], -1, 0)
    # Nothing is divided by n, the number of examples in a resample, because it may be 0.
    return _ratio(n * xy - x * y, n * xx - x * x)


def rank_correlation(sums: Floats) -> Floats:
    """Return Spearman's rank correlation, given the sums of `summands`.

    With several groups, it is a partial correlation: each rank is relative to its group's mean.
    """
    return _ratio(sums[..., 5], sums[..., 0])


def log_near_far(sums: Floats) -> Floats:
    """Return log(near mean / far mean), given the sums of `summands`; NaN if undefined."""
    num_near, near, num_far, far = np.moveaxis(sums[..., 6:], -1, 0)
    ratio = _ratio(_ratio(near, num_near), _ratio(far, num_far))
    return np.log(np.where(ratio > 0, ratio, np.nan))


RATIO = "near_far_ratio"
STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "locality_slope": slope,
    "locality_rank": rank_correlation,
    RATIO: log_near_far,
}


def undo_log(name: str, value: float) -> float:
    """Return the value to report for a statistic: exp(value) for near-to-far ratio, else value."""
    return float(np.exp(value)) if name == RATIO else float(value)


def pooled_mean(name: str, values: Floats) -> float:
    """Return the mean of a statistic's defined values; a geometric mean for near-to-far ratios."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return float("nan")
    return undo_log(name, np.log(defined).mean() if name == RATIO else defined.mean())


def correlation_terms(x: Floats, y: Floats, above_x: Mean, above_y: Mean) -> Floats:
    """Return one number per example whose mean is the correlation of two columns of ranks.

    Each number is the correlation plus the influence of the example on it, both directly and by
    the ranks of all other examples: the mean of a resample varies like the correlation itself.
    """
    variance_x, variance_y = (x * x).mean(), (y * y).mean()
    scale = np.sqrt(variance_x * variance_y)
    if scale == 0:
        return np.full(len(x), np.nan)
    correlation = (x * y).mean() / scale
    moved = (x * y + above_x(y) + above_y(x)) / scale
    spread_x, spread_y = x * x + 2 * above_x(x), y * y + 2 * above_y(y)
    moved -= correlation * (spread_x / variance_x + spread_y / variance_y) / 2
    return correlation + moved - moved.mean()


def subtract_group_means(values: AnyFloats, groups: Ints) -> Floats:
    """Return the values minus the mean of their group."""
    counts = np.bincount(groups)
    sums = np.bincount(groups, weights=values)
    means = np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)
    return values.astype(np.float64) - means[groups]


def deciles(values: AnyFloats) -> Ints:
    """Return the decile of each value by rank, from 0 to 9; equal values share a decile."""
    place = (rankdata(values) - 0.5) / len(values)
    return np.minimum(NUM_DECILES * place, NUM_DECILES - 1).astype(np.int64)


def logit_margins(logits: Halves, label: Ints) -> Floats:
    """Return the logit of the true class minus the largest other logit."""
    margin = np.empty(len(label))
    # Examples are processed in parts that fit into the cache of the processor.
    for start in range(0, len(label), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        others = logits[part].astype(np.float32)
        true = (np.arange(len(others)), label[part])
        margin[part] = others[true]
        others[true] = -np.inf
        margin[part] -= others.max(axis=1)
    return margin


def fitted_slope(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return the slope of the least-squares line through the defined points; NaN if undefined."""
    points = np.array([x, y], dtype=np.float64)
    points = points[:, ~np.isnan(points).any(axis=0)]
    if points.shape[1] < 2 or np.ptp(points[0]) == 0:
        return float("nan")
    return float(np.polyfit(points[0], points[1], 1)[0])


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(below) > 1e-12, above / below, np.nan)


@dataclass(frozen=True)
class Resamples:
    """Bootstrap resamples: groups of examples, and how often each resample contains a group."""

    order: Ints  # indices of the examples, group by group
    starts: Ints  # start of each group in `order`
    # How often each resample (row) contains each group (column): Poisson counts with mean 1.
    counts: Floats

    @staticmethod
    def draw(num_examples: int, rng: np.random.Generator) -> Resamples:
        """Draw resamples; group sizes differ by at most one example."""
        num_groups = min(num_examples, MOST_GROUPS)
        levels = rng.integers(0, NUM_LEVELS, (NUM_RESAMPLES, num_groups), dtype=np.uint16)
        is_single = num_groups == num_examples
        order = np.arange(num_examples) if is_single else rng.permutation(num_examples)
        starts = np.arange(num_groups) * num_examples // max(num_groups, 1)
        return Resamples(order, starts, COUNTS[levels].astype(np.float64))

    def sums(self, columns: AnyFloats) -> Floats:
        """Return the sums of `columns` (examples, columns) over each resample."""
        grouped = np.add.reduceat(columns[self.order], self.starts) if len(columns) else columns
        return self.counts @ grouped


def percentiles(statistics: AnyFloats, num_examples: int) -> tuple[float, float]:
    """Return the 95 % interval of a statistic, given its values in all resamples; NaN if undefined.

    Resamples spread a little less than samples do, so the levels are those of Student's t
    (Hesterberg's expanded percentiles).
    """
    if np.isnan(statistics).any() or num_examples < 2:
        return float("nan"), float("nan")
    wider = np.sqrt(num_examples / (num_examples - 1)) * stdtrit(num_examples - 1, 0.975)
    low, high = np.quantile(statistics, [ndtr(-wider), ndtr(wider)])
    return float(low), float(high)


def friedman_p(values: Floats) -> float:
    """Return Friedman's p-value for equal mean ranks of methods (columns) over cells (rows)."""
    if values.shape[0] < 2 or values.shape[1] < 3:
        return float("nan")
    if (values == values[:, :1]).all():  # scipy would divide by zero if all values are tied
        return 1.0
    return float(friedmanchisquare(*values.T).pvalue)


def critical_difference(num_methods: int, num_cells: int) -> float:
    """Return the smallest significant difference of two mean ranks (Nemenyi; Demšar, 2006)."""
    if num_methods < 2 or num_cells < 2:
        return float("nan")
    q = studentized_range.ppf(1 - ALPHA, num_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(num_methods * (num_methods + 1) / (6 * num_cells)))
