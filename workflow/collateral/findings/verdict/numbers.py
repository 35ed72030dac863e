"""What is tested for a verdict, and the verdict: all methods of a cell are one family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import TRACKED, Row
from collateral.contract.skipping import SKIPPED
from collateral.findings._shared.gaps import FORGETTING, forgetting_error
from collateral.findings._shared.inference.differences import (
    LEAST_SEEDS,
    UNKNOWN,
    Difference,
    compare,
    holm,
    p_above,
)
from collateral.findings._shared.inference.equivalence import (
    Equivalence,
    equivalence,
    is_beyond,
    margin_of,
)
from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.verdict import DAMAGED, VERDICTS
from collateral.findings.verdict.rule import Evidence, decide
from collateral.results.layout import ORIGINAL, RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

Floats = NDArray[np.float64]
MOST = {"ua": 1.0, "damage": 2.0}  # that a difference can be, either way: intervals end there
MEASURES = tuple(MOST)
BROKEN = ("diverged", "collapsed")


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the margins, every run's damage and differences, and the verdicts on methods."""
    held = Held(cell)
    for at, margin in held.margins.items():
        yield Row(RETRAIN, "margin", margin, at=at)
    for seed, value in zip(cell.seeds, held.base_ua, strict=True):
        yield Row(RETRAIN, "base_ua", float(value), seed)
    kinds = {result.run: result.kind for result in cell.results() if _is_judged(result)}
    methods = [run for run, kind in kinds.items() if kind == "method"]
    # A control is tested by itself: it does not make the methods' tests stricter.
    for family in (methods, *([run] for run in kinds if run not in methods)):
        found = held.differences(family)
        for run in family:
            alike = held.alike(run)
            yield from held.rows(run, found[run], alike)
            if run in methods:
                verdict = decide(held.evidence(run, found[run], alike))
                yield Row(run, "verdict", float(VERDICTS.index(verdict)))


def _is_judged(result: Result) -> bool:
    """Tell whether a run is neither of a sweep nor of a method that could not work here."""
    return "@" not in result.run and result.record["status"] != SKIPPED


@dataclass(frozen=True)
class Held:
    """The runs of a cell, held against Retrain seed by seed."""

    cell: CellResults

    @cached_property
    def steps(self) -> dict[str, float]:
        """What one example makes of each measure: a forgotten one, a near one."""
        near = mean_of_defined(self.cell.values(RETRAIN, "near_count", DAMAGED))
        return {"ua": 1 / len(self.cell.split.forget), "damage": 1 / near}

    @cached_property
    def margins(self) -> dict[str, float]:
        """What counts as equal, of each measure: what sets two retrainings apart."""
        ua, near, far = (
            self.cell.values(RETRAIN, name, of)
            for name, of in (("ua", ""), ("near_count", DAMAGED), ("far_count", DAMAGED))
        )
        # The noise of damage is that of a mean over these seeds.
        num_seeds = np.count_nonzero(~np.isnan(ua) & (near > 0) & (far > 0))
        damage = num_seeds * self.cell.number(RETRAIN, "damage_sd", DAMAGED) ** 2
        squares = {"ua": _pairs_square(np.subtract.outer(ua, ua)), "damage": damage}
        # Retrainings that never differ would leave nothing that is equal: less than an example is.
        return {at: float(np.maximum(margin_of(squares[at]), self.steps[at])) for at in MEASURES}

    @cached_property
    def base_ua(self) -> Floats:
        """UA of the base model by seed: the control's, or that of a tracked run at its start."""
        of_control = [self.cell.values(ORIGINAL, "ua")]
        of_starts = [self.cell.values(run, f"{TRACKED}ua", at=0) for run in self.cell.tracked]
        known = (ua for ua in (*of_control, *of_starts) if not np.isnan(ua).any())
        return next(known, np.full(len(self.cell.seeds), np.nan))

    def results(self, run: str) -> list[Result]:
        """Return the run's results, one a seed."""
        return [result for result in self.cell.results() if result.run == run]

    def damage(self, run: str) -> Floats:
        """Return by seed how much more the near ones lost than the far ones."""
        near, far = (self.cell.values(run, f"{part}_loss", DAMAGED) for part in ("near", "far"))
        return near - far

    def samples(self, run: str) -> dict[str, Floats]:
        """Return the differences from Retrain by seed; none of a run that diverged in a seed."""
        ua = self.cell.values(run, "ua") - self.cell.values(RETRAIN, "ua")
        near = self.cell.values(run, "near_loss", DAMAGED)
        is_lost = any(result.is_diverged for result in self.results(run))
        found = {"ua": ua, "damage": self.damage(run), "near": near}
        return {at: np.full_like(v, np.nan) if is_lost else v for at, v in found.items()}

    def above_midpoint(self, run: str) -> Floats:
        """Return by seed how far UA is above the midpoint of the base model's and Retrain's."""
        retrained = self.cell.values(RETRAIN, "ua")
        above: Floats = self.samples(run)["ua"] - (self.base_ua - retrained) / 2
        return above

    def differences(self, family: list[str]) -> dict[str, dict[str, Difference]]:
        """Test a family: both measures together; UA against the midpoint; near loss and damage."""
        samples = {(run, at): self.samples(run)[at] for run in family for at in MEASURES}
        found = compare(samples, {(run, at): self.steps[at] for run, at in samples})
        # An example that Retrain or the base knows moves the midpoint by half.
        midpoints = _above({r: (self.above_midpoint(r),) for r in family}, self.steps["ua"] / 2)
        near = _above({r: self.near_and_damage(r) for r in family}, self.steps["damage"])
        return {
            run: {
                **{at: found[run, at] for at in MEASURES},
                "midpoint": midpoints[run],
                "near": near[run],
            }
            for run in family
        }

    def near_and_damage(self, run: str) -> tuple[Floats, Floats]:
        """Return by seed what the near ones lost, and how much more that is than the far ones'."""
        samples = self.samples(run)
        return samples["near"], samples["damage"]

    def alike(self, run: str) -> dict[str, Equivalence]:
        """Test for each measure whether the run is equivalent to Retrain."""
        samples = self.samples(run)
        return {at: equivalence(samples[at], self.margins[at], self.steps[at]) for at in MEASURES}

    def evidence(
        self, run: str, found: Mapping[str, Difference], alike: Mapping[str, Equivalence]
    ) -> Evidence:
        """Return what the verdict is made of."""
        statuses = {result.record["status"] for result in self.results(run)}
        ta, retrained = (mean_of_defined(self.cell.values(r, "ta")) for r in (run, RETRAIN))
        room = mean_of_defined(self.base_ua - self.cell.values(RETRAIN, "ua"))
        return Evidence(
            is_broken=not statuses.isdisjoint(BROKEN),
            ta_share=ta / retrained if retrained else np.nan,
            differences=found,
            equivalence={at: one.p for at, one in alike.items()},
            can_be_forgotten=is_beyond(room, self.margins["ua"]),
        )

    def rows(
        self, run: str, found: Mapping[str, Difference], alike: Mapping[str, Equivalence]
    ) -> Iterator[Row]:
        """Yield the numbers of a run."""
        for seed, value in zip(self.cell.seeds, self.damage(run), strict=True):
            yield Row(run, "damage", float(value), seed, DAMAGED)
        yield Row(run, "forgetting_error", self.forgetting_error(run))
        for at, one in found.items():
            yield Row(run, "difference", one.mean, at=at)
            yield Row(run, "difference_p", one.p, at=at)
        for at in MEASURES:
            yield Row(run, "equivalence_p", alike[at].p, at=at)
            yield from _ends(run, "difference", at, found[at])
            yield from _ends(run, "equivalence", at, alike[at])

    def forgetting_error(self, run: str) -> float:
        """Return how far the means of UA and MIA are from Retrain's."""
        own, retrained = (
            {name: self.cell.values(of, name) for name in FORGETTING} for of in (run, RETRAIN)
        )
        return forgetting_error(own, retrained)


def _ends(run: str, metric: str, at: str, of: Difference | Equivalence) -> Iterator[Row]:
    """Yield the ends of an interval, within what can be."""
    low, high = np.clip((of.low, of.high), -MOST[at], MOST[at])
    yield Row(run, f"{metric}_low", float(low), at=at)
    yield Row(run, f"{metric}_high", float(high), at=at)


def _above(samples: Mapping[str, tuple[Floats, ...]], step: float) -> dict[str, Difference]:
    """Test whether all means of a run are above zero, one-sided, by Holm over the runs.

    The p-value of a run is the largest of its samples (an intersection-union test), so that Holm
    holds whichever of them is not above zero; the mean is that of the first sample.
    """
    defined = {run: [v[~np.isnan(v)] for v in of_run] for run, of_run in samples.items()}
    # Where no example is far, there is a near loss and no damage.
    tested = {r: of_run for r, of_run in defined.items() if min(map(len, of_run)) >= LEAST_SEEDS}
    p_values = [max(p_above(values, step) for values in of_run) for of_run in tested.values()]
    found = dict.fromkeys(samples, UNKNOWN)
    for (run, (first, *_)), p in zip(tested.items(), holm(np.array(p_values)), strict=True):
        found[run] = replace(UNKNOWN, mean=float(first.mean()), p=float(p), n=len(first))
    return found


def _pairs_square(differences: Floats) -> float:
    """Return the mean square over pairs of two seeds, those that are defined."""
    pairs = differences[~np.eye(len(differences), dtype=bool)]
    return mean_of_defined(pairs**2)
