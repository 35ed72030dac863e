"""The loss of every class that remains, its similarity to what was deleted, and their slope."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.findings._shared.statistics import Floats, difference_sd, interval_half_width
from collateral.results.dataset import Labels
from collateral.results.layout import RETRAIN
from collateral.results.split import Split

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield similarities, drops and slopes; nothing unless whole classes are deleted."""
    kept = kept_classes(cell.labels, cell.split)
    if not kept:
        return
    names = [cell.labels.class_names[c] for c in kept]
    similarity = dict(zip(cell.seeds, cell.neighbours.class_similarity[:, kept], strict=True))
    for seed, of_seed in similarity.items():
        for name, value in zip(names, of_seed, strict=True):
            yield Row(RETRAIN, "class_similarity", float(value), seed, at=name)
    for name, value in _noise(cell).items():
        yield Row(RETRAIN, "class_drop_sd", value, at=name)
    slopes: dict[str, list[float]] = {run: [] for run in cell.runs}
    for result in cell.results():
        drops = _drops(cell, result)
        yield from (Row(result.run, "class_drop", drops[n], result.seed, at=n) for n in drops)
        slopes[result.run].append(slope(similarity[result.seed], [drops[n] for n in names]))
    for run, of_run in slopes.items():
        yield from (Row(run, name, v) for name, v in slope_numbers(np.array(of_run)).items())


def _accuracies(cell: CellResults, result: Result) -> NDArray[np.float64]:
    return class_accuracy(result.test.prediction, cell.labels.test, len(cell.labels.class_names))


def _drops(cell: CellResults, result: Result) -> dict[str, float]:
    """Return Retrain's accuracy minus the run's, by name of class."""
    retrained = cell.retrain(result.seed)
    drops = _accuracies(cell, retrained) - _accuracies(cell, result)
    is_lost = result.is_diverged or retrained.is_diverged
    return {
        name: math.nan if is_lost else float(drop)
        for name, drop in zip(cell.labels.class_names, drops, strict=True)
    }


def _noise(cell: CellResults) -> dict[str, float]:
    sound = [_accuracies(cell, r) for r in cell.retrained() if not r.is_diverged]
    noise = {}
    for c, name in enumerate(cell.labels.class_names):
        # A class has the same examples for every seed.
        rates = np.reshape([rates[c] for rates in sound], (1, -1, 1))
        profiles = np.broadcast_to(rates, (len(sound), len(sound), 1))
        noise[name] = float(difference_sd(profiles)[0])
    return noise


def kept_classes(labels: Labels, split: Split) -> tuple[int, ...]:
    """Return the classes that are not deleted; none where an affected class is only part gone."""
    if np.isin(labels.train[split.retain], split.affected).any():
        return ()
    return tuple(c for c in range(len(labels.class_names)) if c not in split.affected)


def class_accuracy(
    prediction: NDArray[np.int64], label: NDArray[np.int64], num_classes: int
) -> NDArray[np.float64]:
    """Return the share of right predictions of each class's examples; NaN where it has none."""
    rates = np.full(num_classes, np.nan)
    counts = np.bincount(label, minlength=num_classes)
    right = np.bincount(label[prediction == label], minlength=num_classes)
    np.divide(right, counts, out=rates, where=counts > 0)
    return rates


def slope(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return the slope of the least-squares line through what is defined; NaN without one."""
    points = np.array([x, y], dtype=np.float64)
    points = points[:, ~np.isnan(points).any(axis=0)]
    if points.shape[1] < 2 or np.ptp(points[0]) == 0:
        return float("nan")
    return float(np.polyfit(points[0], points[1], 1)[0])


def slope_numbers(slopes: Floats) -> dict[str, float]:
    """Return the mean of the seeds' slopes and its 95 % interval; NaN where undefined."""
    defined = slopes[~np.isnan(slopes)]
    mean = float(defined.mean()) if len(defined) else float("nan")
    reach = interval_half_width(slopes)
    return {
        "class_slope": mean,
        "class_slope_low": mean - reach,
        "class_slope_high": mean + reach,
    }
