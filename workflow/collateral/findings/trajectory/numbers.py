"""Distance from Retrain after every epoch of the tracked runs, and within each budget of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import TRACKED, Row
from collateral.findings.gap import FORGETTING, TERMS
from collateral.findings.inputs import CellResults
from collateral.findings.trajectory import SHARES
from collateral.findings.verdict import DAMAGED
from collateral.metrics.statistics import BySeed, average_gap
from collateral.results.record import EPOCH_SECONDS

RATES = tuple(dict.fromkeys(name for terms in TERMS.values() for name in terms))

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield every tracked run's distances from Retrain by epoch, and its gap within each budget."""
    retrained = {name: cell.values(cell.reference, name) for name in RATES}
    for run in cell.tracked:
        history = History.read(cell, run)
        distances = [
            distance_from_retrain(history.at(epoch), retrained)
            for epoch in range(history.num_epochs + 1)
        ]
        for epoch, by_metric in enumerate(distances):
            for name, value in by_metric.items():
                yield Row(run, f"{TRACKED}{name}", value, at=epoch)
        # If Retrain ran on another device, seconds are not comparable and budgets are undefined.
        is_known = not np.isnan(cell.number(run, "rte_share"))
        cost = float(cell.values(cell.reference, "rte").mean())
        for share in SHARES:
            epoch = history.latest_epoch(share / 100 * cost) if is_known else 0
            gap = distances[epoch]["avg_gap"] if epoch else np.nan
            yield Row(run, "budget_gap", gap, at=share)
            yield Row(run, "budget_epoch", epoch or np.nan, at=share)


@dataclass(frozen=True)
class History:
    """Seconds and metrics of a run by epoch and seed; a seed that ended repeats its last values."""

    seconds: Floats  # (epochs + 1, seeds)
    values: Mapping[str, Floats]  # shape of each metric: (epochs + 1, seeds)

    @staticmethod
    def read(cell: CellResults, run: str) -> History:
        """Read a run's history from the rows of earlier findings."""
        seconds = _read_epochs(cell, run, EPOCH_SECONDS)
        last = np.count_nonzero(~np.isnan(seconds), axis=0) - 1
        epochs = np.minimum(np.arange(len(seconds))[:, None], last)  # (epochs + 1, seeds)
        rates = {name: _read_epochs(cell, run, f"{TRACKED}{name}", len(seconds)) for name in RATES}
        near, far = (
            _read_epochs(cell, run, f"{TRACKED}{name}", len(seconds), DAMAGED)
            for name in ("near_loss", "far_loss")
        )
        seeds = np.arange(len(cell.seeds))
        by_metric = {**rates, "damage": near - far}
        filled = {name: values[epochs, seeds] for name, values in by_metric.items()}
        return History(seconds[epochs, seeds], filled)

    @property
    def num_epochs(self) -> int:
        """Number of epochs; epoch 0, the base model, is not counted."""
        return len(self.seconds) - 1

    def at(self, epoch: int) -> BySeed:
        """Return all metrics after an epoch, by seed; epoch 0 is the base model."""
        return {name: values[epoch] for name, values in self.values.items()}

    def latest_epoch(self, seconds: float) -> int:
        """Return the last epoch that ends within these seconds on average over seeds; 0 if none."""
        return int(np.count_nonzero(self.seconds[1:].mean(axis=1) <= seconds))


def distance_from_retrain(run: BySeed, retrained: BySeed) -> dict[str, float]:
    """Return a dict from name to value of a run's distances from Retrain at one epoch.

    They are the average gaps, the forgetting error and the damage. A metric that is undefined in
    any seed is left out of the gaps and of the forgetting error.
    """
    return {
        **{gap: average_gap(run, retrained, terms) for gap, terms in TERMS.items()},
        "forgetting_error": average_gap(run, retrained, FORGETTING),
        "damage": float(run["damage"].mean()),
    }


def _read_epochs(
    cell: CellResults, run: str, metric: str, count: int | None = None, subset: str = ""
) -> Floats:
    """Return a metric by epoch and seed; without `count`, up to the first epoch that is all NaN."""
    rows: list[Floats] = []
    while count is None or len(rows) < count:
        values = cell.values(run, metric, subset, at=len(rows))
        if count is None and np.isnan(values).all():
            break
        rows.append(values)
    return np.reshape(rows, (len(rows), len(cell.seeds)))
