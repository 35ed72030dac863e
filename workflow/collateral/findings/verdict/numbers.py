"""What is tested for a verdict, and the verdict: all methods of a cell are one family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collateral.contract.protocols import CellResults, Result
from collateral.contract.rows import Row
from collateral.contract.skipping import SKIPPED
from collateral.findings._shared.inference.differences import (
    LEAST_SEEDS,
    UNKNOWN,
    Difference,
    compare,
    holm,
    p_above,
)
from collateral.findings._shared.inference.equivalence import equivalence_p, margin_of
from collateral.findings._shared.near import near_by_seed
from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.verdict import VERDICTS
from collateral.findings.verdict.deciding import Evidence, decide
from collateral.results.layout import ORIGINAL, RETRAIN

Floats = NDArray[np.float64]
SET = "retain"  # whose damage it is
MOST = {"ua": 1.0, "damage": 2.0}  # that a difference can be, either way: intervals end there
MEASURES = tuple(MOST)
FORGETTING = ("ua", "mia")
BROKEN = ("diverged", "collapsed")


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the margins, every run's damage and differences, and the verdicts on methods."""
    held = Held(cell)
    for at, square in held.squares.items():
        yield Row(RETRAIN, "margin", float(margin_of(square)), at=at)
    kinds = {result.run: result.kind for result in cell.results() if _is_judged(result)}
    methods = [run for run, kind in kinds.items() if kind == "method"]
    # A control is tested by itself: it does not make the methods' tests stricter.
    for family in (methods, *([run] for run in kinds if run not in methods)):
        found = held.differences(family)
        for run in family:
            yield from held.rows(run, found[run])
            if run in methods:
                verdict = decide(held.evidence(run, found[run]))
                yield Row(run, "verdict", float(VERDICTS.index(verdict)))


def _is_judged(result: Result) -> bool:
    """Tell whether a run is neither of a sweep nor of a method that could not work here."""
    return "@" not in result.run and result.record["status"] != SKIPPED


@dataclass(frozen=True)
class Held:
    """The runs of a cell, held against Retrain seed by seed."""

    cell: CellResults

    @cached_property
    def squares(self) -> dict[str, float]:
        """Mean square of the difference between two retrainings, of each measure."""
        ua = self.cell.values(RETRAIN, "ua")
        return {"ua": _pairs_square(np.subtract.outer(ua, ua)), "damage": self._damage_square()}

    def _damage_square(self) -> float:
        """Return it for damage: that of seed j's Retrain against seed i's, in i's near and far."""
        retain, retrained = self.cell.split.retain, self.cell.retrained()
        sound = [i for i, result in enumerate(retrained) if not result.is_diverged]
        labels, near = self.cell.labels.train[retain], near_by_seed(self.cell, SET)
        is_right = [retrained[i].train.prediction[retain] == labels for i in sound]
        excess = [_near_minus_far(right, near[i]) for i in sound for right in is_right]
        by_seeds = np.reshape(excess, (len(sound), len(sound)))
        return _pairs_square(np.diagonal(by_seeds)[:, None] - by_seeds)

    def results(self, run: str) -> list[Result]:
        """Return the run's results, one a seed."""
        return [result for result in self.cell.results() if result.run == run]

    def damage(self, run: str) -> Floats:
        """Return by seed how much more the near ones lost than the far ones."""
        near, far = (self.cell.values(run, f"{part}_loss", SET) for part in ("near", "far"))
        return near - far

    def samples(self, run: str) -> dict[str, Floats]:
        """Return the differences from Retrain by seed; none of a run that diverged in a seed."""
        ua = self.cell.values(run, "ua") - self.cell.values(RETRAIN, "ua")
        is_lost = any(result.is_diverged for result in self.results(run))
        found = {"ua": ua, "damage": self.damage(run)}
        return {at: np.full_like(v, np.nan) if is_lost else v for at, v in found.items()}

    def above_midpoint(self, run: str) -> Floats:
        """Return by seed how far UA is above the midpoint of Original's and Retrain's."""
        ends = [self.cell.values(end, "ua") for end in (ORIGINAL, RETRAIN)]
        own = self.samples(run)["ua"] + ends[1]
        above: Floats = own - np.mean(ends, axis=0)
        return above

    def differences(self, family: list[str]) -> dict[str, dict[str, Difference]]:
        """Test a family: both measures together, and UA against the midpoint."""
        samples = {(run, at): v for run in family for at, v in self.samples(run).items()}
        found = compare(samples)
        midpoints = _above({run: self.above_midpoint(run) for run in family})
        return {
            run: {**{at: found[run, at] for at in MEASURES}, "midpoint": midpoints[run]}
            for run in family
        }

    def equivalence(self, run: str) -> dict[str, float]:
        """Return the p-values of being as Retrain is; NaN where nothing can be tested."""
        p = {}
        for at, values in self.samples(run).items():
            known = values[~np.isnan(values)]
            has_seeds = len(known) >= LEAST_SEEDS
            margin = margin_of(self.squares[at])
            p[at] = float(equivalence_p(known, margin)) if has_seeds else np.nan
        return p

    def evidence(self, run: str, found: Mapping[str, Difference]) -> Evidence:
        """Return what the verdict is made of."""
        statuses = {result.record["status"] for result in self.results(run)}
        ta, retrained = (mean_of_defined(self.cell.values(r, "ta")) for r in (run, RETRAIN))
        room = mean_of_defined(self.samples(ORIGINAL)["ua"])
        return Evidence(
            is_broken=not statuses.isdisjoint(BROKEN),
            ta_share=ta / retrained if retrained else np.nan,
            differences=found,
            equivalence=self.equivalence(run),
            can_be_forgotten=bool(room > margin_of(self.squares["ua"])),
        )

    def rows(self, run: str, found: Mapping[str, Difference]) -> Iterator[Row]:
        """Yield the numbers of a run."""
        for seed, value in zip(self.cell.seeds, self.damage(run), strict=True):
            yield Row(run, "damage", float(value), seed, SET)
        yield Row(run, "forgetting_error", self._forgetting_error(run))
        for at, one in found.items():
            yield Row(run, "difference", one.mean, at=at)
            yield Row(run, "difference_p", one.p, at=at)
        for at, most in MOST.items():
            low, high = np.clip((found[at].low, found[at].high), -most, most)
            yield Row(run, "difference_low", float(low), at=at)
            yield Row(run, "difference_high", float(high), at=at)
        for at, p in self.equivalence(run).items():
            yield Row(run, "equivalence_p", p, at=at)

    def _forgetting_error(self, run: str) -> float:
        pairs = [[self.cell.values(r, name).mean() for r in (run, RETRAIN)] for name in FORGETTING]
        return mean_of_defined(abs(own - retrained) for own, retrained in pairs)


def _above(samples: Mapping[str, Floats]) -> dict[str, Difference]:
    """Test whether each mean is above zero, one-sided, by Holm over all of them."""
    defined = {run: values[~np.isnan(values)] for run, values in samples.items()}
    tested = {run: values for run, values in defined.items() if len(values) >= LEAST_SEEDS}
    adjusted = holm(np.array([p_above(values) for values in tested.values()]))
    found = dict.fromkeys(samples, UNKNOWN)
    for (run, values), p in zip(tested.items(), adjusted, strict=True):
        found[run] = replace(UNKNOWN, mean=float(values.mean()), p=float(p), n=len(values))
    return found


def _near_minus_far(values: NDArray[np.bool_], near: NDArray[np.bool_]) -> float:
    if near.all() or not near.any():
        return float("nan")
    return float(values[near].mean() - values[~near].mean())


def _pairs_square(differences: Floats) -> float:
    """Return the mean square over pairs of two seeds, those that are defined."""
    pairs = differences[~np.eye(len(differences), dtype=bool)]
    return mean_of_defined(pairs**2)
