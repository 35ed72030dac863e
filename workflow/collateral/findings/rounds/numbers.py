"""Numbers over the rounds of a sequence of requests, from the outputs and costs of every round."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import SKIPPED
from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.accuracy import accuracy
from collateral.metrics.statistics import average_gap, expected_deviation, t_quantile
from collateral.results.layout import ORIGINAL

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
# Subsets on which accuracy is compared with Retrain to compute the distance.
TERMS = ("requests", "retain", "test")


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers of all rounds if this cell is the last round; otherwise nothing."""
    if not cell.rounds:
        return
    stream = Stream(cell)
    for seed in cell.seeds:
        for run in (cell.reference, *cell.runs):
            yield from stream.seed_rows(run, seed)
    yield from stream.distance_rows()
    yield from stream.failure_rows()
    yield from stream.request_rows()
    yield from stream.cost_rows()


@dataclass(frozen=True)
class Stream:
    """A sequence of deletion requests; `cell` is the cell of the last round."""

    cell: CellResults

    @cached_property
    def requests(self) -> list[Indices]:
        """Indices of the train examples of each request."""
        return [one.split.forget for one in self.cell.by_round]

    def results(self, run: str, seed: int) -> list[Result]:
        """Return the results of a run, one per round."""
        return [one.result(run, seed) for one in self.cell.by_round]

    def near_first(self, seed: int) -> Indices:
        """Return the retained examples near the first forget set that no later request deletes."""
        first = self.cell.by_round[0]
        near = first.split.retain[first.near["retain"][first.row(seed)]]
        return np.intersect1d(near, self.cell.split.retain)

    def rates(self, run: str, seed: int, sets: Sequence[Indices]) -> Floats:
        """Return a run's accuracy by round on the given sets of train examples, (rounds, sets)."""
        labels = self.cell.labels.train

        def rate(one: Result, s: Indices) -> float:
            return math.nan if one.is_diverged else accuracy(one.train.prediction[s], labels[s])

        return np.array([[rate(one, s) for s in sets] for one in self.results(run, seed)])

    def seed_rows(self, run: str, seed: int) -> Iterator[Row]:
        """Yield a run's accuracy on requests, reversal, near loss and erosion by round, for a seed.

        Retrain itself is compared with Retrain of the next seed.
        """
        cell, count = self.cell, len(self.requests)
        sets = [*self.requests, cell.split.retain, self.near_first(seed)]
        retrained, own = (self.rates(name, seed, sets) for name in (cell.reference, run))
        for q, r in np.ndindex(count, count):
            yield Row(run, "request_accuracy", float(own[r, q]), seed, name_request(q), r + 1)
        if run == cell.reference:
            following = cell.seeds[(cell.row(seed) + 1) % len(cell.seeds)]
            own = self.rates(run, following, sets) if following != seed else np.nan * own
        excess = own - retrained
        for r in range(count):
            yield Row(run, "first_near_loss", float(-excess[r, -1]), seed, at=r + 1)
        for r in range(1, count):
            yield Row(run, "erosion", float(excess[r, -2] - excess[0, -2]), seed, at=r + 1)
            found = [float(excess[r, q] - excess[q, q]) for q in range(r)]
            yield Row(run, "reversal", float(np.mean(found)), seed, at=r + 1)
            for q, value in enumerate(found):
                yield Row(run, "reversal", value, seed, name_request(q), r + 1)

    def distance_rows(self) -> Iterator[Row]:
        """Yield by round each run's distance from Retrain and the noise floor of this distance.

        Also yield the first round in which the distance exceeds the noise floor.
        """
        cell, left = self.cell, dict[str, int]()
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

    def failure_rows(self) -> Iterator[Row]:
        """Yield the first round in which a run has no usable model in one of the seeds."""
        for run in self.cell.runs:
            by_round = zip(*(self.results(run, seed) for seed in self.cell.seeds), strict=True)
            failed = [r for r, found in enumerate(by_round, 1) if any(x.is_diverged for x in found)]
            yield Row(run, "retrain_by_failure", float(min(failed, default=math.nan)))

    def request_rows(self) -> Iterator[Row]:
        """Yield the size of each request, and by round how much accuracy Retrain loses on requests.

        The loss is the base model's accuracy minus Retrain's, on all requests so far. The noise
        floor of the loss is yielded, too.
        """
        cell = self.cell
        for q, request in enumerate(self.requests):
            yield Row(cell.reference, "request_examples", float(len(request)), set=name_request(q))
        for r, one in enumerate(cell.by_round if ORIGINAL in cell.runs else (), start=1):
            base, retrained = (_accuracies(one, run) for run in (ORIGINAL, cell.reference))
            lost = base["requests"].mean() - retrained["requests"].mean()
            least = 1 / (len(one.split.earlier) + len(one.split.forget))
            floor = np.maximum(_noise_floor(retrained, ["requests"]), least)
            yield Row(cell.reference, "requests_lost", float(lost), at=r)
            yield Row(cell.reference, "requests_floor", float(floor), at=r)

    def cost_rows(self) -> Iterator[Row]:
        """Yield each run's seconds of all rounds so far, and their ratio to Retrain's.

        Also yield the first round in which the run's sum exceeds the seconds of one Retrain.
        """
        cell = self.cell
        retrained, devices = self._seconds(cell.reference)
        for run in (cell.reference, *cell.runs):
            seconds, own_devices = self._seconds(run)
            for s, r in np.ndindex(seconds.shape):
                value = float(seconds[s, : r + 1].sum())
                yield Row(run, "rounds_rte", value, cell.seeds[s], at=r + 1)
            if run == cell.reference:
                continue
            # If a round ran on another device than Retrain, times are undefined from that round on.
            is_other = [run != ORIGINAL and own_devices[r] != one for r, one in enumerate(devices)]
            total = np.where(is_other, np.nan, seconds.mean(axis=0)).cumsum()
            shares = total / retrained.mean(axis=0).cumsum()
            for r, share in enumerate(shares, start=1):
                yield Row(run, "rounds_share", float(share), at=r)
            is_dearer = np.flatnonzero(total > retrained.mean(axis=0))
            first = is_dearer[0] + 1 if len(is_dearer) else math.nan
            yield Row(run, "retrain_by_cost", float(first))

    def _seconds(self, run: str) -> tuple[Floats, list[set[tuple[Any, ...]]]]:
        """Return a run's seconds by seed and round (0 for the base model), and devices by round."""
        shape = len(self.cell.seeds), len(self.requests)
        if run == ORIGINAL:
            return np.zeros(shape), [set()] * len(self.requests)
        results = [self.results(run, seed) for seed in self.cell.seeds]
        # Seconds are None if the round was skipped, the GPU was shared, or the user gave no time.
        seconds = [
            [None if one.status == SKIPPED else one.cost()["total_seconds"] for one in by_round]
            for by_round in results
        ]
        costs = [[one.cost() for one in by_seed] for by_seed in zip(*results, strict=True)]
        devices = [{(c.get("device"), c.get("threads")) for c in by_seed} for by_seed in costs]
        return np.array(seconds, dtype=np.float64), devices


def name_request(place: int) -> str:
    """Return the value of column `set` for a request, such as "request-1"."""
    return f"request-{place + 1}"


def _accuracies(cell: CellResults, run: str) -> dict[str, Floats]:
    """Return a run's accuracies on all requests so far, retained and test examples, by seed."""
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
    """Return the distance from Retrain of a model that differs in one prediction on each subset."""
    split, num_test = cell.split, len(cell.labels.test)
    counts = [len(split.earlier) + len(split.forget), len(split.retain), num_test]
    return float(np.mean([1 / count for count in counts]))


def _noise_floor(retrained: dict[str, Floats], terms: Sequence[str] = TERMS) -> float:
    """Return the noise floor: 95 % of distances between two groups of Retrains are below it."""
    expected = np.mean([expected_deviation(retrained[name]) for name in terms])
    count = len(retrained[terms[0]])
    # sqrt(pi / 2) is standard deviation / mean absolute deviation of a normal distribution.
    return t_quantile(count) * math.sqrt(math.pi / 2) * float(expected)
