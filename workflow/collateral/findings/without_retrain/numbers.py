"""Two numbers that need no Retrain: RF-JS of every run, and an estimate of Retrain's UA.

RF-JS is the Jensen-Shannon divergence between the mean predictions for forgotten examples and those
of the reference for test examples of the same class. A local teacher estimates Retrain's accuracy
on the forget set (UA).
"""

import math
from collections.abc import Iterator

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults
from collateral.metrics.divergence import mean_probabilities, rf_js
from collateral.metrics.statistics import mean_of_defined
from collateral.results.layout import is_sweep


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield RF-JS (a divergence from the base model) of every run, and the estimated UA."""
    forget, labels = cell.split.forget, cell.labels
    count = len(labels.class_names)
    unseen = {
        seed: mean_probabilities(cell.reference_result(seed).test.logits, labels.test, count)
        for seed in cell.seeds
    }
    for result in cell.all_results():
        forgotten = mean_probabilities(result.train.logits[forget], labels.train[forget], count)
        value = math.nan if result.is_diverged else rf_js(forgotten, unseen[result.seed])
        yield Row(result.run, "rf_js", value, result.seed)
    yield Row(cell.reference, "estimated_ua", estimate_ua(cell))


def estimate_ua(cell: CellResults) -> float:
    """Return an estimate of Retrain's UA: the UA of the teacher that tuning used.

    Without such a teacher, it is the mean UA of all runs' teachers.
    """
    ua = cell.teacher_ua()
    if not math.isnan(ua):
        return ua
    runs = [run for run in cell.runs if not is_sweep(run)]
    return mean_of_defined(value for run in runs for value in cell.values(run, "teacher_ua"))
