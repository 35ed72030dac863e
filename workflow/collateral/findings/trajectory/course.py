"""The courses of a cell's tracked runs, as table, figure and words read them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import FACTORS
from collateral.contract.rows import TRACKED
from collateral.findings.trajectory import SHARES
from collateral.results.record import EPOCH_SECONDS
from collateral.results.table import CellTable, mean

POINTS = FACTORS["points"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Leg:
    """A run's way: by epoch, of which 0 is the base model."""

    run: str
    seconds: Floats
    gap: Floats
    error: Floats
    damage: Floats
    is_paced: bool
    _within: dict[int, tuple[float, int]]  # by share of Retrain's cost: gap and epoch

    def in_points(self) -> Leg:
        """Return what a figure draws."""
        parts = {name: POINTS * getattr(self, name) for name in ("gap", "error", "damage")}
        return replace(self, **parts)

    def within(self, share: int) -> tuple[float, int]:
        """Return the gap of the latest model within a share of Retrain's cost, and its epoch.

        0: it has none. Where epochs depend on how many there are, the last is the only one.
        """
        gap, epoch = self._within[share]
        is_run = epoch == len(self.gap) - 1 if self.is_paced else epoch > 0
        return (gap, epoch) if is_run else (math.nan, 0)


def legs(cell: CellTable) -> dict[str, Leg]:
    """Return the way of every tracked run, methods first."""
    runs = [*cell.runs("method"), *cell.runs("control")]
    return {run: _leg(cell, run) for run in runs if cell.indices(run, f"{TRACKED}avg_gap")}


def leaders(cell: CellTable) -> dict[int, list[str]]:
    """Return the ranked methods with the smallest gap within each share, ties all.

    Nobody leads with a gap that is not below that of doing nothing, or that is above the smallest
    within a smaller share: whoever may spend more may stop earlier, or not start.
    """
    ranked = {run: leg for run, leg in legs(cell).items() if is_ranked(cell, leg)}
    idle = least = idle_gap(cell)
    found = {}
    for share in SHARES:
        gaps = {run: leg.within(share)[0] for run, leg in ranked.items()}
        known = (gap for gap in (least, *gaps.values()) if not math.isnan(gap))
        least = min(known, default=math.nan)
        found[share] = [run for run, gap in gaps.items() if gap == least < idle]
    return found


def idle_gap(cell: CellTable) -> float:
    """Return the average gap of doing nothing, that of Original, where every run starts."""
    return next((float(leg.gap[0]) for leg in legs(cell).values()), math.nan)


def is_ranked(cell: CellTable, leg: Leg) -> bool:
    """Tell whether a run takes part: a method that ended well, of which any epoch is a run."""
    is_sound = cell.kinds[leg.run] == "method" and not cell.failure_summary(leg.run)
    return is_sound and not leg.is_paced


def _leg(cell: CellTable, run: str) -> Leg:
    epochs = cell.indices(run, f"{TRACKED}avg_gap")
    parts = ("avg_gap", "forgetting_error", "damage")
    gap, error, damage = (
        np.array([cell.number(run, f"{TRACKED}{part}", at=epoch) for epoch in epochs])
        for part in parts
    )
    seconds = np.array([mean(cell.values(run, EPOCH_SECONDS, at=epoch)) for epoch in epochs])
    within = {share: _within(cell, run, share) for share in SHARES}
    return Leg(run, seconds, gap, error, damage, run in cell.plan.paced, within)


def _within(cell: CellTable, run: str, share: int) -> tuple[float, int]:
    epoch = cell.number(run, "budget_epoch", at=share)
    return cell.number(run, "budget_gap", at=share), 0 if math.isnan(epoch) else int(epoch)
