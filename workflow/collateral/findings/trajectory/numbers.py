"""Distances from Retrain of tracked runs: after every epoch, and within each budget of time."""

from collections.abc import Iterator

import numpy as np

from collateral.contract.rows import TRACKED, Row
from collateral.findings.gap import FORGETTING, TERMS
from collateral.findings.inputs import CellResults
from collateral.findings.trajectory import SHARES
from collateral.findings.verdict import DAMAGED
from collateral.metrics.statistics import BySeed, Floats, average_gap
from collateral.results.record import EPOCH_SECONDS

RATES = tuple(dict.fromkeys(name for terms in TERMS.values() for name in terms))


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield every tracked run's distances from Retrain after each epoch.

    Also yield the average gap of its latest model within each budget of time.
    """
    retrained = {name: cell.values(cell.reference, name) for name in RATES}
    for run in cell.tracked:
        history = read_history(cell, run)
        distances = [
            distance_from_retrain(
                {name: values[epoch] for name, values in history.items()}, retrained
            )
            for epoch in range(len(history["seconds"]))
        ]
        for epoch, by_metric in enumerate(distances):
            for name, value in by_metric.items():
                yield Row(run, f"{TRACKED}{name}", value, at=epoch)
        # If run and Retrain used different devices, seconds cannot be compared: budgets are NaN.
        is_known = not np.isnan(cell.number(run, "rte_share"))
        cost = float(cell.values(cell.reference, "rte").mean())
        for share in SHARES:
            epoch = latest_epoch(history["seconds"], share / 100 * cost) if is_known else 0
            gap = distances[epoch]["avg_gap"] if epoch else np.nan
            yield Row(run, "budget_gap", gap, at=share)
            yield Row(run, "budget_epoch", epoch or np.nan, at=share)


def read_history(cell: CellResults, run: str) -> dict[str, Floats]:
    """Return a run's seconds, accuracies, MIA and damage by epoch, arrays (epochs + 1, seeds).

    They are read from the rows of earlier findings. If a seed has fewer epochs, its last values
    are repeated.
    """
    count = 0
    while not np.isnan(cell.values(run, EPOCH_SECONDS, at=count)).all():
        count += 1
    places = {
        "seconds": (EPOCH_SECONDS, ""),
        **{name: (f"{TRACKED}{name}", "") for name in RATES},
        **{name: (f"{TRACKED}{name}", DAMAGED) for name in ("near_loss", "far_loss")},
    }
    seeds = np.arange(len(cell.seeds))
    found = {
        name: np.reshape(
            [cell.values(run, *place, at=e) for e in range(count)], (count, len(seeds))
        )
        for name, place in places.items()
    }
    last = np.count_nonzero(~np.isnan(found["seconds"]), axis=0) - 1
    epochs = np.minimum(np.arange(count)[:, None], last)  # (epochs + 1, seeds)
    filled = {name: values[epochs, seeds] for name, values in found.items()}
    return {**filled, "damage": filled["near_loss"] - filled["far_loss"]}


def latest_epoch(by_epoch: Floats, seconds: float) -> int:
    """Return the last epoch that ends, on average over seeds, within `seconds`; 0 if none does."""
    return int(np.count_nonzero(by_epoch[1:].mean(axis=1) <= seconds))


def distance_from_retrain(run: BySeed, retrained: BySeed) -> dict[str, float]:
    """Return a run's distances from Retrain after one epoch, by name of the distance.

    They are the average gaps, the forgetting error and the damage. A metric that is undefined in
    any seed is left out of the gaps and of the forgetting error.
    """
    return {
        **{gap: average_gap(run, retrained, terms) for gap, terms in TERMS.items()},
        "forgetting_error": average_gap(run, retrained, FORGETTING),
        "damage": float(run["damage"].mean()),
    }
