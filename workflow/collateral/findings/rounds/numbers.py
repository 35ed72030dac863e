"""Numbers of all rounds of a sequence of deletion requests, from each round's outputs and costs.

The argument `cell` is the cell of the last round, except in `_accuracies` and `_one_example`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from collateral.contract.conventions import SKIPPED
from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.accuracy import accuracy
from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.statistics import average_gap, expected_deviation, t_quantile
from collateral.results.layout import ORIGINAL

# The distance from Retrain is the mean of the differences in accuracy on these subsets.
TERMS = ("requests", "retain", "test")


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers of all rounds if the cell is the last round of a sequence; else nothing."""
    if not cell.rounds:
        return
    for seed in cell.seeds:
        for run in (cell.reference, *cell.runs):
            yield from seed_rows(cell, run, seed)
    yield from distance_rows(cell)
    yield from failure_rows(cell)
    yield from request_rows(cell)
    yield from cost_rows(cell)


def _requests(cell: CellResults) -> list[Ints]:
    """Return, for each request, the indices of the training examples that it deletes."""
    return [one.split.forget for one in cell.by_round]


def _results(cell: CellResults, run: str, seed: int) -> list[Result]:
    """Return the results of a run in one seed, one per round."""
    return [one.result(run, seed) for one in cell.by_round]


def _near_first(cell: CellResults) -> Ints:
    """Return the examples near the first request that are still retained after the last request."""
    first = cell.by_round[0]
    near = first.split.retain[first.near["retain"]]
    return np.intersect1d(near, cell.split.retain)


def _rates(cell: CellResults, run: str, seed: int, sets: Sequence[Ints]) -> Floats:
    """Return a run's accuracy in each round on each set of training examples, (rounds, sets)."""
    labels = cell.labels.train

    def rate(one: Result, s: Ints) -> float:
        return math.nan if one.is_diverged else accuracy(one.train.prediction[s], labels[s])

    return np.array([[rate(one, s) for s in sets] for one in _results(cell, run, seed)])


def seed_rows(cell: CellResults, run: str, seed: int) -> Iterator[Row]:
    """Yield, for one seed, a run's accuracy on each request, and how the run differs from Retrain.

    The differences by round are the metrics `reversal`, `first_near_loss` and `erosion`.

    Retrain itself is compared with Retrain of the next seed.
    """
    requests = _requests(cell)
    count = len(requests)
    sets = [*requests, cell.split.retain, _near_first(cell)]
    retrained, own = (_rates(cell, name, seed, sets) for name in (cell.reference, run))
    for q, r in np.ndindex(count, count):
        yield Row(run, "request_accuracy", float(own[r, q]), seed, name_request(q), r + 1)
    if run == cell.reference:
        following = cell.seeds[(cell.row(seed) + 1) % len(cell.seeds)]
        own = _rates(cell, run, following, sets) if following != seed else np.nan * own
    excess = own - retrained
    for r in range(count):
        yield Row(run, "first_near_loss", float(-excess[r, -1]), seed, at=r + 1)
    for r in range(1, count):
        yield Row(run, "erosion", float(excess[r, -2] - excess[0, -2]), seed, at=r + 1)
        found = [float(excess[r, q] - excess[q, q]) for q in range(r)]
        yield Row(run, "reversal", float(np.mean(found)), seed, at=r + 1)
        for q, value in enumerate(found):
            yield Row(run, "reversal", value, seed, name_request(q), r + 1)


def distance_rows(cell: CellResults) -> Iterator[Row]:
    """Yield each run's distance from Retrain in every round, and the noise floor of distances.

    Also yield the first round in which a run's distance exceeds the noise floor.
    """
    left = dict[str, int]()
    for r, one in enumerate(cell.by_round, start=1):
        retrained = _accuracies(one, cell.reference)
        floor = float(np.maximum(_noise_floor(retrained), _one_example(one)))  # NaN stays NaN
        yield Row(cell.reference, "rounds_floor", floor, at=r)
        for run in cell.runs:
            gap = average_gap(_accuracies(one, run), retrained, TERMS)
            yield Row(run, "rounds_gap", gap, at=r)
            if gap > floor:
                left.setdefault(run, r)
    for run in cell.runs:
        yield Row(run, "retrain_by_gap", float(left.get(run, math.nan)))


def failure_rows(cell: CellResults) -> Iterator[Row]:
    """Yield, for each run, the first round in which it diverged or was skipped in a seed."""
    for run in cell.runs:
        by_round = zip(*(_results(cell, run, seed) for seed in cell.seeds), strict=True)
        failed = [r for r, found in enumerate(by_round, 1) if any(x.is_diverged for x in found)]
        yield Row(run, "retrain_by_failure", float(min(failed, default=math.nan)))


def request_rows(cell: CellResults) -> Iterator[Row]:
    """Yield the size of each request, and in every round Retrain's loss of accuracy on requests.

    The loss is the base model's accuracy minus Retrain's, on all requests so far. Also yield the
    noise floor of this loss.
    """
    for q, request in enumerate(_requests(cell)):
        yield Row(cell.reference, "request_examples", float(len(request)), set=name_request(q))
    for r, one in enumerate(cell.by_round if ORIGINAL in cell.runs else (), start=1):
        base, retrained = (_accuracies(one, run) for run in (ORIGINAL, cell.reference))
        lost = base["requests"].mean() - retrained["requests"].mean()
        least = 1 / (len(one.split.earlier) + len(one.split.forget))
        floor = np.maximum(_noise_floor(retrained, ["requests"]), least)
        yield Row(cell.reference, "requests_lost", float(lost), at=r)
        yield Row(cell.reference, "requests_floor", float(floor), at=r)


def cost_rows(cell: CellResults) -> Iterator[Row]:
    """Yield each run's total seconds in all rounds so far, and their ratio to Retrain's total.

    Also yield the first round in which the run's total exceeds the seconds of one Retrain.
    """
    retrained, devices = _seconds(cell, cell.reference)
    for run in (cell.reference, *cell.runs):
        seconds, own_devices = _seconds(cell, run)
        for s, r in np.ndindex(seconds.shape):
            value = float(seconds[s, : r + 1].sum())
            yield Row(run, "rounds_rte", value, cell.seeds[s], at=r + 1)
        if run == cell.reference:
            continue
        # If run and Retrain used different devices in a round, times are undefined from there on.
        is_other = [run != ORIGINAL and own_devices[r] != one for r, one in enumerate(devices)]
        total = np.where(is_other, np.nan, seconds.mean(axis=0)).cumsum()
        shares = total / retrained.mean(axis=0).cumsum()
        for r, share in enumerate(shares, start=1):
            yield Row(run, "rounds_share", float(share), at=r)
        is_dearer = np.flatnonzero(total > retrained.mean(axis=0))
        first = is_dearer[0] + 1 if len(is_dearer) else math.nan
        yield Row(run, "retrain_by_cost", float(first))


def _seconds(cell: CellResults, run: str) -> tuple[Floats, list[set[tuple[Any, ...]]]]:
    """Return a run's seconds (seeds, rounds), and the devices that it used in each round.

    The base model takes 0 seconds.
    """
    shape = len(cell.seeds), len(cell.by_round)
    if run == ORIGINAL:
        return np.zeros(shape), [set()] * len(cell.by_round)
    results = [_results(cell, run, seed) for seed in cell.seeds]
    # Seconds are None if the run was skipped, the GPU was shared, or the user gave no time.
    seconds = [
        [None if one.status == SKIPPED else one.cost()["total_seconds"] for one in by_round]
        for by_round in results
    ]
    costs = [[one.cost() for one in by_seed] for by_seed in zip(*results, strict=True)]
    devices = [{(c.get("device"), c.get("threads")) for c in by_seed} for by_seed in costs]
    return np.array(seconds, dtype=np.float64), devices


def name_request(place: int) -> str:
    """Return the name of a request in the column `set` of the long table, such as "request-1"."""
    return f"request-{place + 1}"


def _accuracies(cell: CellResults, run: str) -> dict[str, Floats]:
    """Return a run's accuracies by seed on each subset: all requests so far, retained and test."""
    split, labels = cell.split, cell.labels
    requests = np.concatenate([split.earlier, split.forget])
    found: dict[str, list[float]] = {name: [] for name in TERMS}
    for result in (cell.result(run, seed) for seed in cell.seeds):
        train, test = result.train.prediction, result.test.prediction
        values = (
            accuracy(train[requests], labels.train[requests]),
            accuracy(train[split.retain], labels.train[split.retain]),
            accuracy(test, labels.test),
        )
        for name, value in zip(TERMS, values, strict=True):
            found[name].append(math.nan if result.is_diverged else value)
    return {name: np.array(values) for name, values in found.items()}


def _one_example(cell: CellResults) -> float:
    """Return the distance between two models that differ by one correct prediction per subset."""
    split, num_test = cell.split, len(cell.labels.test)
    counts = [len(split.earlier) + len(split.forget), len(split.retain), num_test]
    return float(np.mean([1 / count for count in counts]))


def _noise_floor(retrained: dict[str, Floats], terms: Sequence[str] = TERMS) -> float:
    """Return the noise floor of the distance from Retrain.

    In 95 % of cases, the distance between two groups of Retrains is below the noise floor.
    """
    expected = np.mean([expected_deviation(retrained[name]) for name in terms])
    count = len(retrained[terms[0]])
    # In a normal distribution, standard deviation / mean absolute deviation is sqrt(pi / 2).
    return t_quantile(count) * math.sqrt(math.pi / 2) * float(expected)
