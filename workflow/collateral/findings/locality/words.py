"""The finding of a cell: how far each method is from Retrain near the forget set, and elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.findings.locality.figure import NUM_BINS
from collateral.findings.gap.numbers import student_95
from collateral.results.table import REFERENCE, Cell, mean, std

# "Near" is the fewest of the most similar bins that hold this share and this many of the examples:
# enough to be a rate, few enough not to dilute one class among a hundred.
NEAR_SHARE = 0.01
NEAR_COUNT = 20


@dataclass(frozen=True)
class Pool:
    """Some bins of similarity taken as one."""

    name: str  # the set: retain or test
    bins: tuple[int, ...]
    counts: NDArray[np.float64]  # (seeds, bins of the pool)

    @property
    def size(self) -> float:
        """Examples in the pool, mean over seeds."""
        return float(self.counts.sum(axis=1).mean())

    def difference(self, cell: Cell, run: str) -> NDArray[np.float64]:
        """Return Retrain's accuracy minus the run's on the pool, one number a seed."""
        names = [f"delta_acc:{self.name}:{b:02}" for b in self.bins]
        deltas = np.array([cell.values(run, name) for name in names]).T  # (seeds, bins)
        # An empty bin has no difference and no weight; a diverged seed has no difference at all.
        sums = np.where(self.counts > 0, deltas * self.counts, 0).sum(axis=1)
        sizes = self.counts.sum(axis=1)
        differences = np.full(len(sizes), np.nan)
        np.divide(sums, sizes, out=differences, where=sizes > 0)
        return differences

    def chance(self, cell: Cell) -> float:
        """Return a bound within which 95 % of the differences between retrainings lie.

        The bins' floors are added as if all bins moved together: their true sum is no larger.
        """
        floors = [cell.number(REFERENCE, f"floor_acc:{self.name}:{b:02}") for b in self.bins]
        weights = self.counts.mean(axis=0)
        known = ~np.isnan(floors) & (weights > 0)
        if not known.any():
            return math.nan
        floor = float(np.average(np.array(floors)[known], weights=weights[known]))
        return student_95(len(cell.seeds)) * floor


def near_and_far(cell: Cell, name: str) -> tuple[Pool, Pool]:
    """Split the bins of a set into the most similar ones and all others."""
    counts = np.array(
        [cell.values(REFERENCE, f"bin_count:{name}:{b:02}") for b in range(NUM_BINS)]
    ).T
    from_top = counts.mean(axis=0)[::-1].cumsum()
    wanted = max(NEAR_COUNT, NEAR_SHARE * from_top[-1])
    num_near = min(int(np.searchsorted(from_top, wanted)) + 1, NUM_BINS - 1)
    first = NUM_BINS - num_near
    near, far = tuple(range(first, NUM_BINS)), tuple(range(first))
    return Pool(name, near, counts[:, near]), Pool(name, far, counts[:, far])


@dataclass(frozen=True)
class Distance:
    """How much less accurate than Retrain a run is on a pool; negative: more accurate."""

    label: str
    mean: float
    std: float
    chance: float

    @property
    def is_chance(self) -> bool:
        """Whether retraining again may well differ as much."""
        return abs(self.mean) <= self.chance


def distance(cell: Cell, run: str, pool: Pool) -> Distance:
    """Return the distance of a run from Retrain on a pool."""
    values = pool.difference(cell, run)
    return Distance(cell.labels[run], mean(values), std(values), pool.chance(cell))


def finding(cell: Cell) -> str:
    """Say in a few sentences who else gets hurt, from the numbers."""
    near, far = near_and_far(cell, "retain")
    healthy = [run for run in cell.runs("method") if not cell.trouble(run)]
    distances = {run: distance(cell, run, near) for run in healthy}
    if not distances or all(math.isnan(d.mean) for d in distances.values()):
        return "No method ended well here, so there is nothing to compare with Retrain."
    where = _where(near, far)
    worst = max(healthy, key=lambda run: np.nan_to_num(distances[run].mean, nan=-np.inf))
    loss, chance = distances[worst], near.chance(cell)
    if math.isnan(chance):
        return (
            "One seed, so no noise floor and no claim: the largest loss of accuracy against "
            f"Retrain on the {where} is {loss.label}'s, {_points(loss.mean)}."
        )
    if loss.mean <= chance:
        return (
            f"No method is less accurate than Retrain on the {where} by more than chance explains "
            f"(±{_points(chance)}).{_rest(list(distances.values()))}"
        )
    gap = cell.number(worst, "avg_gap")
    return (
        f"{loss.label}: an average gap of {_points(gap)}, {'but' if loss.mean > gap else 'and'} "
        f"{_points(loss.mean)} less accurate than Retrain on the {where}, against "
        f"{_points(distance(cell, worst, far).mean)} on all others. {_chance(chance)}"
        f"{_rest([distances[run] for run in healthy if run != worst])}"
    )


def _chance(limit: float) -> str:
    if limit < 0.0005:  # it would be shown as ±0.0
        return "Chance explains less than 0.1 points there."
    return f"Chance explains ±{_points(limit)} there."


def _where(near: Pool, far: Pool) -> str:
    share = 100 * near.size / (near.size + far.size)
    return f"{near.size:.0f} retained examples most similar to the forgotten ones ({share:.0f} %)"


def _rest(distances: list[Distance]) -> str:
    """Sort the other methods into hurt, within chance, and better than Retrain."""
    groups = {
        "Also less accurate there": [d for d in distances if not d.is_chance and d.mean > 0],
        "More accurate than Retrain there": [
            d for d in distances if not d.is_chance and d.mean < 0
        ],
        "Within chance": [d for d in distances if d.is_chance],
    }
    texts = {
        name: ", ".join(f"{d.label} ({100 * abs(d.mean):.1f})" for d in group)
        for name, group in groups.items()
    }
    return "".join(f" {name}: {text}." for name, text in texts.items() if text)


def _points(rate: float) -> str:
    return f"{100 * rate:.1f} points".replace("-", "−")
