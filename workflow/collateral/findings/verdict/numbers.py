"""The verdicts on the methods of a cell, and the numbers that they follow from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import SKIPPED
from collateral.contract.rows import TRACKED, Row
from collateral.contract.verdicts import MARGIN_KEYS, MEASURES, look_levels
from collateral.findings.gap import FORGETTING
from collateral.findings.inputs import CellResults, Result
from collateral.findings.verdict import BROKEN, DAMAGED, OPEN
from collateral.findings.verdict.rule import (
    FAR,
    LEAST_SHARE,
    NEAR,
    Samples,
    Tested,
    decide,
    run_tests,
    seeds_needed,
)
from collateral.metrics.statistics import average_gap, mean_of_defined
from collateral.results.layout import ORIGINAL, RETRAIN

Floats = NDArray[np.float64]
PERCENT = 100.0
# Examples on which losses are tested: near the forget set or far from it, and their subset.
PLACES = (("near", DAMAGED), ("near", "test"), ("far", DAMAGED), ("far", "test"))
MOST = {"damage": 2.0}  # largest possible difference between two models; 1 for other measures


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the margins, every run's differences from Retrain, and the verdict on each method."""
    *_, (against, level) = looks = compare_by_look(cell)
    for at, margin in zip(MEASURES, against.samples([]).margins, strict=True):
        yield Row(RETRAIN, "margin", float(margin), at=at)
    for count, level_of_look in declared_looks(cell):
        yield Row(RETRAIN, "look_level", level_of_look, at=count)
    for seed, value in zip(cell.seeds, against.base_ua, strict=True):
        yield Row(RETRAIN, "base_ua", float(value), seed)
    kinds = {result.run: result.kind for result in cell.results() if _is_judged(result)}
    for run in kinds:
        yield from against.seed_rows(run)
    methods = [run for run, kind in kinds.items() if kind == "method"]
    if methods:
        yield from verdict_rows(looks, methods)
    # Each control is tested by itself, so that its tests do not make those of methods stricter.
    for run in kinds:
        if run not in methods:
            yield from against.comparison_rows(run, run_tests(against.samples([run]), level), 0)


def _is_judged(result: Result) -> bool:
    """Tell whether a run is tested: it is if it belongs to no sweep and was not skipped."""
    return not result.is_sweep and result.record["status"] != SKIPPED


def declared_looks(cell: CellResults) -> list[tuple[int, float]]:
    """Return the number of seeds and the test level of each look (interim analysis)."""
    counts = cell.looks or (len(cell.seeds),)
    return list(zip(counts, look_levels(counts), strict=True))


def compare_by_look(cell: CellResults) -> list[tuple[AgainstRetrain, float]]:
    """Return a comparison with Retrain and a test level for each look that has enough seeds."""
    known = [look for look in declared_looks(cell) if look[0] <= len(cell.seeds)]
    return [(AgainstRetrain(cell, count), level) for count, level in known]


def verdict_rows(looks: list[tuple[AgainstRetrain, float]], methods: list[str]) -> Iterator[Row]:
    """Yield each method's tests and verdict, at the first look (interim analysis) that decides.

    If no look decides about a method, they are those at the last look.
    """
    undecided = dict(enumerate(methods))
    for against, level in looks:
        samples = against.samples(methods)
        tested = run_tests(samples, level)
        is_collapsed = np.array([against.is_collapsed(run) for run in methods])
        verdicts = decide(tested, is_collapsed)
        needed = seeds_needed(samples, level)
        for place, run in list(undecided.items()):
            if verdicts[place] != OPEN or against is looks[-1][0]:
                del undecided[place]
                yield Row(run, "verdict", 1.0, at=str(verdicts[place]))
                yield Row(run, "decided_at", float(against.num_seeds))
                yield from against.comparison_rows(run, tested, place)
                if verdicts[place] == OPEN:
                    yield Row(run, "seeds_needed", float(needed[place]))


@dataclass(frozen=True)
class AgainstRetrain:
    """The runs of a cell, compared with Retrain on the first `num_seeds` seeds."""

    cell: CellResults
    num_seeds: int

    def values(self, run: str, metric: str, subset: str = "", at: int | None = None) -> Floats:
        """Return the values, by seed, of a metric that another finding computed before."""
        return self.cell.values(run, metric, subset, at=at)[: self.num_seeds]

    @cached_property
    def base_ua(self) -> Floats:
        """UA of the base model by seed, from the run `original` or epoch 0 of a tracked run."""
        of_control = [self.values(ORIGINAL, "ua")]
        of_starts = [self.values(run, f"{TRACKED}ua", at=0) for run in self.cell.tracked]
        known = (ua for ua in (*of_control, *of_starts) if not np.isnan(ua).any())
        return next(known, np.full(self.num_seeds, np.nan))

    @cached_property
    def retrained(self) -> Floats:
        """Retrain's rates, (measures, seeds)."""
        return self._all_rates(RETRAIN)

    @cached_property
    def steps(self) -> Floats:
        """By how much each measure changes if the prediction for one example changes."""
        num_forgotten = len(self.cell.split.forget)
        counts = [self.cell.number(RETRAIN, f"{part}_count", name) for part, name in PLACES]
        near = counts[0]
        with np.errstate(divide="ignore"):  # infinite where a set has no examples
            return 1 / np.array([num_forgotten, num_forgotten, *counts, near])

    @cached_property
    def stated(self) -> Floats:
        """Margins that the config sets, one per measure, between 0 and 1; NaN if not set."""
        stated = self.cell.margins.items()
        known = {MARGIN_KEYS[key]: value / PERCENT for key, value in stated}
        return np.array([known.get(at, np.nan) for at in MEASURES])

    def rates(self, run: str) -> Floats:
        """Return the rates of a run, (measures, seeds); all are NaN if any seed diverged."""
        rates = self._all_rates(run)
        # Errors are compared only in seeds in which Retrain did not diverge.
        rates[NEAR:] = np.where(np.isnan(self.retrained[NEAR:]), np.nan, rates[NEAR:])
        is_lost = any(result.is_diverged for result in self.results(run))
        return np.full_like(rates, np.nan) if is_lost else rates

    def _all_rates(self, run: str) -> Floats:
        ua, mia = (self.values(run, name) for name in ("ua", "mia"))
        errors = [1 - self.values(run, f"{part}_accuracy", name) for part, name in PLACES]
        return _with_damage(np.array([ua, mia, *errors]))

    def results(self, run: str) -> list[Result]:
        """Return the results of a run, one per seed."""
        return [self.cell.result(run, seed) for seed in self.cell.seeds[: self.num_seeds]]

    def samples(self, runs: list[str]) -> Samples:
        """Return the input of the tests: rates of these runs and of Retrain."""
        rates = np.array([self.rates(run) for run in runs]).reshape(-1, *self.retrained.shape)
        return Samples(rates, self.retrained, self.steps, self.stated)

    def is_collapsed(self, run: str) -> bool:
        """Tell whether a run collapsed.

        It did if a seed diverged or collapsed, or if its mean TA is below half of Retrain's.
        """
        ta, retrained = (mean_of_defined(self.values(r, "ta")) for r in (run, RETRAIN))
        is_broken = any(result.record["status"] in BROKEN for result in self.results(run))
        return is_broken or ta < LEAST_SHARE * retrained

    def comparison_rows(self, run: str, tested: Tested, place: int) -> Iterator[Row]:
        """Yield the differences of one run from Retrain with intervals, p-values and margins."""
        ends = {
            "difference_low": tested.low,
            "difference_high": tested.high,
            "equivalence_low": tested.equivalence_low,
            "equivalence_high": tested.equivalence_high,
        }
        margins = self.samples([]).margins
        for index, at in enumerate(MEASURES):
            most = MOST.get(at, 1.0)
            yield Row(run, "difference", float(tested.mean[place, index]), at=at)
            yield Row(run, "difference_p", float(tested.p[place, index]), at=at)
            for metric, values in ends.items():
                yield Row(run, metric, float(np.clip(values[place, index], -most, most)), at=at)
            yield Row(run, "equivalence_p", float(tested.equivalence_p[place, index]), at=at)
            yield Row(run, "margin", float(margins[index]), at=at)
            if tested.is_defined[place, index]:
                yield Row(run, "within", float(tested.within[place, index]), at=at)
                yield Row(run, "shown", float(tested.shown[place, index]), at=at)
        yield from self.rate_rows(run)

    def rate_rows(self, run: str) -> Iterator[Row]:
        """Yield the numbers that sentences on a verdict quote.

        They are mean rates, and the fractions of seeds that diverged or collapsed.
        """
        rates = {at: self.values(run, at) for at in ("ua", "mia", "ta")}
        rates |= {f"retrain_{at}": self.values(RETRAIN, at) for at in ("ua", "mia", "ta")}
        for at, values in rates.items():
            yield Row(run, "judged_rate", mean_of_defined(values), at=at)
        ended = [result.record["status"] for result in self.results(run)]
        for status in BROKEN:
            yield Row(run, "judged_rate", ended.count(status) / self.num_seeds, at=status)

    def seed_rows(self, run: str) -> Iterator[Row]:
        """Yield a run's damage (near minus far loss) in each seed, and its forgetting error."""
        near, far = (self.values(run, f"{part}_loss", DAMAGED) for part in ("near", "far"))
        for seed, value in zip(self.cell.seeds, near - far, strict=True):
            yield Row(run, "damage", float(value), seed, DAMAGED)
        own, retrained = (
            {name: self.values(of, name) for name in FORGETTING} for of in (run, RETRAIN)
        )
        yield Row(run, "forgetting_error", average_gap(own, retrained, FORGETTING))


def _with_damage(rates: Floats) -> Floats:
    """Append the damage, the near minus the far error on retained examples, to other rates."""
    return np.concatenate([rates, rates[NEAR : NEAR + 1] - rates[FAR : FAR + 1]])
