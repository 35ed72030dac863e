"""Offline RMIA on confidences: scores, their AUC with intervals, and TPR at 1 % FPR."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import rankdata

from collateral.contract.rows import Row
from collateral.findings._shared.inference.differences import interval
from collateral.findings._shared.statistics import tpr_at_one_percent
from collateral.results.layout import RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

LEAST = 1e-30  # below the logarithms
NORMAL_95 = 1.96
UNKNOWN = (math.nan, math.nan)

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield AUC and TPR of every run by seed, and the intervals of the AUC."""
    attack = Attack(cell)
    yield Row(RETRAIN, "rmia_non_members", float(len(attack.non_members)))
    everyone = list(cell.all_results())
    for run in (RETRAIN, *cell.runs):
        found = [attack.on(result) for result in everyone if result.run == run]
        for seed, one in zip(cell.seeds, found, strict=True):
            yield Row(run, "rmia_auc", one.auc if one else math.nan, seed)
            yield Row(run, "rmia_tpr", one.tpr if one else math.nan, seed)
        # As a gap, an interval is undefined for a run that is so in one seed.
        known = [one for one in found if one and not math.isnan(one.auc)]
        whole = known if len(known) == len(found) else []
        ends = {"": over_seeds(whole), "examples_": over_examples(whole)}
        for kind, (low, high) in ends.items():
            yield Row(run, f"rmia_auc_{kind}low", low)
            yield Row(run, f"rmia_auc_{kind}high", high)


@dataclass(frozen=True)
class Attack:
    """Who is attacked, and with what."""

    cell: CellResults

    @cached_property
    def non_members(self) -> NDArray[np.int64]:
        """The test examples of the affected classes."""
        return np.flatnonzero(np.isin(self.cell.labels.test, self.cell.split.affected))

    @cached_property
    def out(self) -> dict[int, tuple[Floats, Floats]]:
        """The confidences of each Retrain that did not diverge, by seed."""
        sound = [result for result in self.cell.retrained() if not result.is_diverged]
        return {result.seed: self.confidences(result) for result in sound}

    def confidences(self, result: Result) -> tuple[Floats, Floats]:
        """Return those in the true class, of the forget set and of the non-members."""
        forget, test = (self.cell.split.forget, self.non_members)
        return (
            result.train.confidence[forget].astype(np.float64),
            result.test.confidence[test].astype(np.float64),
        )

    def on(self, result: Result) -> Told | None:
        """Attack a run by the Retrains of other seeds; None where it or all of these diverged."""
        out = [both for seed, both in self.out.items() if seed != result.seed]
        if result.is_diverged or not out:
            return None
        members, non_members = (
            scores(own, others)
            for own, others in zip(self.confidences(result), zip(*out, strict=True), strict=True)
        )
        return Told(members, non_members)


def scores(confidence: Floats, out: Sequence[Floats]) -> Floats:
    """Return log p(y|x) minus the logarithm of the mean over OUT models."""
    # One logarithm of the ratio: what is equal stays so to the last bit, and counts as a tie.
    score: Floats = np.log(np.maximum(confidence, LEAST) / np.maximum(np.mean(out, axis=0), LEAST))
    return score


@dataclass(frozen=True)
class Told:
    """The scores of the forget set and of the non-members."""

    members: Floats
    non_members: Floats

    @property
    def auc(self) -> float:
        """The chance that a member's score is the larger one, of equal ones half; NaN of nobody."""
        return float(self.placements[0].mean()) if len(self.members) else math.nan

    @cached_property
    def placements(self) -> tuple[Floats, Floats]:
        """Of each member the share of non-members below it, of those that of members above."""
        count, others = len(self.members), len(self.non_members)
        if not count or not others:
            return np.full(count, np.nan), np.full(others, np.nan)
        ranks = rankdata(np.concatenate([self.members, self.non_members]))
        below = (ranks[:count] - rankdata(self.members)) / others
        above = 1 - (ranks[count:] - rankdata(self.non_members)) / count
        return below, above

    @property
    def tpr(self) -> float:
        """The share of members that are told at the price of 1 % of the non-members."""
        return tpr_at_one_percent(self.members, self.non_members)


def over_seeds(found: Sequence[Told]) -> tuple[float, float]:
    """Return the 95 % interval of the mean AUC over seeds, within [0, 1]; NaN for one."""
    if len(found) < 2:
        return UNKNOWN
    low, high = np.clip(interval(np.array([one.auc for one in found])), 0, 1)
    return float(low), float(high)


def over_examples(found: Sequence[Told]) -> tuple[float, float]:
    """Return that of these very models over examples: DeLong's, in logits, of the mean AUC.

    Examples are the same in all seeds, so that their shares are averaged over seeds first. NaN
    where the shares do not vary: of sets apart nothing tells how far.
    """
    if not found or min(len(found[0].members), len(found[0].non_members)) < 2:
        return UNKNOWN
    sides = [np.mean([one.placements[side] for one in found], axis=0) for side in (0, 1)]
    auc = float(sides[0].mean())
    variance = sum(float(side.var(ddof=1)) / len(side) for side in sides)
    if variance <= 0 or not 0 < auc < 1:
        return UNKNOWN
    half = NORMAL_95 * math.sqrt(variance) / (auc * (1 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))
