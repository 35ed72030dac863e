"""Bootstrap over examples with fixed models: how statistics vary with the choice of examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from collateral.metrics.arrays import AnyFloats, Floats, Ints

NUM_RESAMPLES = 1000
# Maximum number of groups; with more examples than this, a group has several examples.
MOST_GROUPS = 2000
# Table of quantiles of the Poisson distribution; numpy's own Poisson draws are ten times slower.
NUM_LEVELS = 2**16
_BELOW = np.exp(-1) * np.cumsum(1 / np.cumprod([1, *range(1, 9)]))
COUNTS = np.searchsorted(_BELOW, (np.arange(NUM_LEVELS) + 0.5) / NUM_LEVELS).astype(np.uint8)


@dataclass(frozen=True)
class Resamples:
    """Bootstrap resamples: random groups of examples, and how often a resample has each group."""

    order: Ints  # indices of the examples, group by group
    starts: Ints  # start of each group in `order`
    # How often each resample (row) has each group (column): Poisson counts of mean 1.
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
    """Return the 95 % interval of a statistic from its resamples; NaN if undefined.

    Resamples spread a little less than samples do, so the levels are those of Student's t
    (Hesterberg's expanded percentiles).
    """
    if np.isnan(statistics).any() or num_examples < 2:
        return float("nan"), float("nan")
    wider = np.sqrt(num_examples / (num_examples - 1)) * stdtrit(num_examples - 1, 0.975)
    low, high = np.quantile(statistics, [ndtr(-wider), ndtr(wider)])
    return float(low), float(high)
