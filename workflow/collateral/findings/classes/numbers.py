"""Accuracy lost on the remaining classes, and its slope over similarity to deleted classes."""

import math
from collections.abc import Iterator

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.accuracy import class_accuracy
from collateral.metrics.arrays import AnyFloats, Floats
from collateral.metrics.association import fitted_slope
from collateral.metrics.statistics import difference_sd, interval_half_width
from collateral.results.dataset import Labels
from collateral.results.split import Split


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield similarities, accuracy drops and slopes of the remaining classes.

    Nothing is yielded unless each class is deleted as a whole or not at all.
    """
    others = other_classes(cell.labels, cell.split)
    if not others:
        return
    names = [cell.labels.class_names[c] for c in others]
    similarity = dict(zip(cell.seeds, cell.neighbours.class_similarity[:, others], strict=True))
    for seed, of_seed in similarity.items():
        for name, value in zip(names, of_seed, strict=True):
            yield Row(cell.reference, "class_similarity", float(value), seed, at=name)
    for name, value in _measure_noise(cell).items():
        yield Row(cell.reference, "class_drop_sd", value, at=name)
    slopes: dict[str, list[float]] = {run: [] for run in cell.runs}
    for result in cell.results():
        drops = _measure_drops(cell, result)
        yield from (Row(result.run, "class_drop", drops[n], result.seed, at=n) for n in drops)
        slopes[result.run].append(fitted_slope(similarity[result.seed], [drops[n] for n in names]))
    for run, of_run in slopes.items():
        yield from (Row(run, name, v) for name, v in summarize_slopes(np.array(of_run)).items())


def _accuracies(cell: CellResults, result: Result) -> Floats:
    return class_accuracy(result.test.prediction, cell.labels.test, len(cell.labels.class_names))


def _measure_drops(cell: CellResults, result: Result) -> dict[str, float]:
    """Return Retrain's test accuracy minus the run's test accuracy, by class name."""
    retrained = cell.retrain(result.seed)
    drops = _accuracies(cell, retrained) - _accuracies(cell, result)
    is_lost = result.is_diverged or retrained.is_diverged
    return {
        name: math.nan if is_lost else float(drop)
        for name, drop in zip(cell.labels.class_names, drops, strict=True)
    }


def _measure_noise(cell: CellResults) -> dict[str, float]:
    """Return the standard deviation of mean accuracy drops between retrainings, by class name."""
    sound = [_accuracies(cell, r) for r in cell.retrained() if not r.is_diverged]
    noise = {}
    for c, name in enumerate(cell.labels.class_names):
        # A class has the same test examples in all seeds, so all rows of `profiles` are equal.
        rates = np.reshape([rates[c] for rates in sound], (1, -1, 1))
        profiles = np.broadcast_to(rates, (len(sound), len(sound), 1))
        noise[name] = float(difference_sd(profiles)[0])
    return noise


def other_classes(labels: Labels, split: Split) -> tuple[int, ...]:
    """Return the classes (indices) that are not deleted; empty if a class is partly forgotten."""
    if np.isin(labels.train[split.retain], split.affected).any():
        return ()
    return tuple(c for c in range(len(labels.class_names)) if c not in split.affected)


def summarize_slopes(slopes: AnyFloats) -> dict[str, float]:
    """Return the mean slope over seeds and the 95 % interval of the mean; NaN if undefined."""
    defined = slopes[~np.isnan(slopes)]
    mean = float(defined.mean()) if len(defined) else float("nan")
    reach = interval_half_width(slopes)
    return {"class_slope": mean, "class_slope_low": mean - reach, "class_slope_high": mean + reach}
