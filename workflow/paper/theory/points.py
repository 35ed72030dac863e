"""The points of a panel, as columns of equal length, and the estimates it stands on."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from paper.theory.algebra import Array, square_norm


class Estimate(NamedTuple):
    """A mean over runs with its 95 % Student interval, or a number without one."""

    value: float
    low: float
    high: float


class Panel(NamedTuple):
    """The points of a panel, as columns, and its findings."""

    points: dict[str, Any]
    findings: dict[str, Estimate]


def interval(per_run: Array) -> tuple[Array, Array, Array]:
    """Return mean, low and high over the first axis."""
    half = stats.sem(per_run) * stats.t.ppf(0.975, len(per_run) - 1)
    mean = per_run.mean(0)
    return mean, mean - half, mean + half


def estimate(per_run: Array) -> Estimate:
    """Return the mean of one number a run with its interval."""
    return Estimate(*map(float, interval(per_run)))


def exactly(value: float) -> Estimate:
    """Return a number that has no interval."""
    return Estimate(float(value), np.nan, np.nan)


def slopes(x: Array, y: Array) -> Array:
    """Return each run's least-squares slope through the origin of y on x."""
    return np.vecdot(x, y) / square_norm(x)


def columns(series: str, x: Array, y: Array, predicted: Array) -> dict[str, Any]:
    """Return a series of points as columns."""
    x, y, predicted = (np.ravel(values) for values in (x, y, predicted))
    empty = np.full(x.size, np.nan)
    return {
        "series": np.full(x.size, series),
        "x": x,
        "y": y,
        "low": empty,
        "high": empty,
        "predicted": predicted,
    }


def concatenate(*parts: dict[str, Any]) -> dict[str, Any]:
    """Append the rows of all parts."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def parabola(scale: float) -> dict[str, Any]:
    """Return the theory's line, scale times alignment squared."""
    x = np.linspace(-1, 1, 201)
    return columns("theory", x, scale * x**2, scale * x**2)


def binned(
    series: str, alignment: Array, measured: Array, predicted: Array, width: float
) -> dict[str, Any]:
    """Average each run within bins of alignment, then over runs; leave out bins a run misses."""
    runs, bins = len(alignment), round(2 / width)
    edges = np.linspace(-1, 1, bins + 1)
    index = np.digitize(alignment, edges[1:-1]) + bins * np.arange(runs)[:, None]
    count = np.bincount(index.ravel(), minlength=runs * bins).reshape(runs, bins)
    full = (count > 0).all(0)

    def means(values: Array) -> Array:
        sums = np.bincount(index.ravel(), values.ravel(), runs * bins).reshape(runs, bins)
        return sums[:, full] / count[:, full]

    y, low, high = interval(means(measured))
    points = columns(series, means(alignment).mean(0), y, means(predicted).mean(0))
    return points | {"low": low, "high": high}


def rank_of_bins(points: dict[str, Any]) -> Estimate:
    """Return the rank correlation of |alignment| and discrepancy over the measured bins."""
    measured = points["series"] == "measured"
    x, y = np.abs(points["x"][measured]), points["y"][measured]
    return exactly(stats.spearmanr(x, y).statistic)
