"""Error rates and calibration of every run on each group, and tests of the gaps from Retrain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from collateral.contract.conventions import class_index
from collateral.contract.messages import unknown_name
from collateral.contract.rows import Row
from collateral.findings.groups import LEAST_EXAMPLES, MEASURES
from collateral.findings.inputs import CellResults, Result
from collateral.findings.near import split_by_distance
from collateral.metrics import accuracy
from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.differences import Contrast, holm_levels, moments
from collateral.metrics.statistics import mean_of_defined

SUBSETS = ("retain", "test")
# Texts of a missing value; examples with a missing value are in no group.
MISSING = ("", "nan", "<NA>")
# Measures that are rates: one more wrong example changes a rate by 1 / (number of examples).
RATES = ("group_error", "group_missed", "group_alarm")


@dataclass(frozen=True)
class GroupPart:
    """The examples of one group in one part of a subset, for one measure."""

    measure: str
    set: str
    # The group; some measures add "near" or "far" from the forget set, such as "sex=f near".
    at: str
    members: Ints  # indices of the examples in the subset


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the measures of every run on every group; nothing if the config has no `groups`."""
    known = sorted({*cell.labels.columns, *cell.labels.test_columns})
    if unknown := [column for column in cell.groups if column not in known]:
        raise ValueError(f"groups: {unknown_name('column', unknown[0], known)}")
    parts = list(_find_parts(cell))
    for part in parts:
        # Overconfidence and error are measured on the same examples, which are counted once.
        if part.measure != "group_confidence":
            count = MEASURES[part.measure][2]
            yield Row(cell.reference, count, float(len(part.members)), set=part.set, at=part.at)
    parts = [part for part in parts if len(part.members) >= LEAST_EXAMPLES]
    found: dict[str, list[Floats]] = {}
    for result in cell.all_results() if parts else ():
        if not result.is_sweep:
            values, rows = _measure(cell, result, parts)
            found.setdefault(result.run, []).append(values)
            yield from rows
    retrained = np.array(found.pop(cell.reference, []))
    for run, by_seed in found.items():
        yield from _test_gaps(run, parts, (np.array(by_seed) - retrained).T)


def _find_parts(cell: CellResults) -> Iterator[GroupPart]:
    """Yield each group's examples near the forget set, and its examples far from the forget set.

    If the config has a positive class, also yield the positives and the negatives of each group.
    """
    labels, retain = cell.labels, cell.split.retain
    columns = {
        "retain": {name: column[retain] for name, column in labels.columns.items()},
        "test": labels.test_columns,
    }
    for name in SUBSETS if cell.groups else ():
        label = cell.sets(labels.train, labels.test)[name]
        for column in (column for column in cell.groups if column in columns[name]):
            texts = columns[name][column].astype(str)
            for value in np.setdiff1d(texts, MISSING):
                is_member, group = texts == value, f"{column}={value}"
                for part, mask in split_by_distance(cell, name).items():
                    members = np.flatnonzero(is_member & mask)
                    for measure in ("group_error", "group_confidence"):
                        yield GroupPart(measure, name, f"{group} {part}", members)
                for positive in find_positive(cell):
                    is_positive = label == positive
                    both = {"group_missed": is_positive, "group_alarm": ~is_positive}
                    for measure, mask in both.items():
                        yield GroupPart(measure, name, group, np.flatnonzero(is_member & mask))


def find_positive(cell: CellResults) -> list[int]:
    """Return a list with the index of the positive class; empty if the config names no such class.

    A number in the config is read as a class name if a class has that name, else as an index.
    """
    names = cell.labels.class_names
    try:
        return [
            class_index(int(name) if name.isdecimal() and name not in names else name, names)
            for name in cell.positive
        ]
    except ValueError as error:
        raise ValueError(f"positive: {error}") from None


def _measure(
    cell: CellResults, result: Result, parts: Sequence[GroupPart]
) -> tuple[Floats, list[Row]]:
    """Return all measures of one run in one seed, by group, both as an array and as rows."""
    values, rows = np.full(len(parts), np.nan), list[Row]()
    by_set = {} if result.is_diverged else _measure_examples(cell, result)
    for i, part in enumerate(parts):
        if by_set:
            values[i] = by_set[part.set][part.measure][part.members].mean()
            rows += _binned_errors(result, part, by_set[part.set])
        rows.append(Row(result.run, part.measure, float(values[i]), result.seed, part.set, part.at))
    return values, rows


def _measure_examples(cell: CellResults, result: Result) -> dict[str, dict[str, Floats]]:
    """Return one value per example, by subset and name of the measure."""
    labels, both = cell.sets(cell.labels.train, cell.labels.test), (result.train, result.test)
    predictions = cell.sets(*(outputs.prediction for outputs in both))
    probabilities = [softmax(outputs.logits.astype(np.float64), axis=1) for outputs in both]
    confidences = cell.sets(*(probability.max(axis=1) for probability in probabilities))
    found: dict[str, dict[str, Floats]] = {}
    for name in SUBSETS:
        prediction, confidence = predictions[name], confidences[name]
        is_wrong = (prediction != labels[name]).astype(np.float64)
        found[name] = {"confidence": confidence, "group_error": is_wrong}
        found[name]["group_confidence"] = confidence - (1 - is_wrong)
        for positive in find_positive(cell):
            found[name]["group_missed"] = (prediction != positive).astype(np.float64)
            found[name]["group_alarm"] = (prediction == positive).astype(np.float64)
    return found


def _binned_errors(result: Result, part: GroupPart, by_example: dict[str, Floats]) -> Iterator[Row]:
    """Yield the expected calibration error (ECE) of a group, and the debiased squared ECE.

    Both are computed in confidence bins, so groups with too few examples yield nothing.
    """
    if part.measure != "group_confidence" or len(part.members) < accuracy.LEAST_EXAMPLES:
        return
    is_correct = by_example["group_error"][part.members] == 0
    errors = accuracy.calibration_errors(by_example["confidence"][part.members], is_correct)
    for metric, value in zip(("group_ece", "group_squared_ece"), errors, strict=True):
        yield Row(result.run, metric, value, result.seed, part.set, part.at)


def _test_gaps(run: str, parts: Sequence[GroupPart], gaps: Floats) -> Iterator[Row]:
    """Yield a run's mean gap from Retrain in each group, and the Holm-adjusted interval of the gap.

    `gaps` has one row per item of `parts`, and one column per seed.
    """
    for measure in MEASURES:
        chosen = [i for i, part in enumerate(parts) if part.measure == measure]
        sizes = np.array([len(parts[i].members) for i in chosen])
        mean = np.array([mean_of_defined(values) for values in gaps[chosen]])
        _, variance, count = moments(gaps[chosen])
        # Equal gaps in all seeds would give a variance of 0.
        # The least variance of a rate is that of a single example that differs in one seed.
        least = 1 / sizes**2 / count if measure in RATES else 0.0
        contrast = Contrast(mean, np.sqrt(np.maximum(variance, least) / count), count - 1)
        low, high = contrast.interval(holm_levels(contrast.p))
        for i, *values in zip(chosen, mean, low, high, strict=True):
            for ending, value in zip(("", "_low", "_high"), values, strict=True):
                metric = f"{measure}_gap{ending}"
                yield Row(run, metric, float(value), set=parts[i].set, at=parts[i].at)
