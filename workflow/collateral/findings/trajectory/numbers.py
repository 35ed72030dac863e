"""Where a tracked run is after every epoch, and what it has to show within a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import TRACKED, Row
from collateral.findings._shared.gaps import BySeed, average_gaps, forgetting_error
from collateral.findings.gap import TERMS
from collateral.findings.trajectory import SHARES
from collateral.findings.verdict import DAMAGED
from collateral.results.layout import RETRAIN
from collateral.results.record import EPOCH_SECONDS

if TYPE_CHECKING:
    from collateral.results.cell import CellResults

RATES = tuple(dict.fromkeys(name for terms in TERMS.values() for name in terms))

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the course of every tracked run, and what it has within each budget."""
    retrained = {name: cell.values(RETRAIN, name) for name in RATES}
    for run in cell.tracked:
        course = Course.read(cell, run)
        places = [place(course.at(epoch), retrained) for epoch in range(course.num_epochs + 1)]
        for epoch, found in enumerate(places):
            for name, value in found.items():
                yield Row(run, f"{TRACKED}{name}", value, at=epoch)
        # Seconds of another device than Retrain's are no share of its own.
        is_known = not np.isnan(cell.number(run, "rte_share"))
        cost = float(cell.values(RETRAIN, "rte").mean())
        for share in SHARES:
            epoch = course.latest(share / 100 * cost) if is_known else 0
            gap = places[epoch]["avg_gap"] if epoch else np.nan
            yield Row(run, "budget_gap", gap, at=share)
            yield Row(run, "budget_epoch", epoch or np.nan, at=share)


@dataclass(frozen=True)
class Course:
    """What was measured of a run, by epoch and seed; a seed that ended stays where it was."""

    seconds: Floats  # (epochs + 1, seeds)
    values: Mapping[str, Floats]  # likewise

    @staticmethod
    def read(cell: CellResults, run: str) -> Course:
        """Read it from the numbers of the findings before."""
        seconds = _by_epoch(cell, run, EPOCH_SECONDS)
        ends = np.count_nonzero(~np.isnan(seconds), axis=0) - 1
        epochs = np.minimum(np.arange(len(seconds))[:, None], ends)  # (epochs + 1, seeds)
        read = {name: _by_epoch(cell, run, f"{TRACKED}{name}", len(seconds)) for name in RATES}
        near, far = (
            _by_epoch(cell, run, f"{TRACKED}{name}", len(seconds), DAMAGED)
            for name in ("near_loss", "far_loss")
        )
        every = {**read, "damage": near - far}
        seeds = np.arange(len(cell.seeds))
        return Course(
            seconds[epochs, seeds], {name: found[epochs, seeds] for name, found in every.items()}
        )

    @property
    def num_epochs(self) -> int:
        """The number of epochs."""
        return len(self.seconds) - 1

    def at(self, epoch: int) -> BySeed:
        """Return what was measured after an epoch; 0 is the base model."""
        return {name: values[epoch] for name, values in self.values.items()}

    def latest(self, seconds: float) -> int:
        """Return the last epoch that ended by then, in the mean over seeds; 0: none."""
        return int(np.count_nonzero(self.seconds[1:].mean(axis=1) <= seconds))


def place(run: BySeed, retrained: BySeed) -> dict[str, float]:
    """Return how far a model is from Retrain; a rate that is undefined in a seed is left out.

    `run` has the rates of both gaps, and the damage.
    """
    return {
        **average_gaps(run, retrained),
        "forgetting_error": forgetting_error(run, retrained),
        "damage": float(run["damage"].mean()),
    }


def _by_epoch(
    cell: CellResults, run: str, metric: str, count: int | None = None, set: str = ""
) -> Floats:
    """Return a number (epochs + 1, seeds): of so many epochs, or until no seed has one."""
    found: list[Floats] = []
    while count is None or len(found) < count:
        values = cell.values(run, metric, set, at=len(found))
        if count is None and np.isnan(values).all():
            break
        found.append(values)
    return np.reshape(found, (len(found), len(cell.seeds)))
