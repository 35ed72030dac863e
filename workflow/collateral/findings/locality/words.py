"""How far each method is from Retrain near the forget set, and elsewhere: a cell in a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from collateral.contract.metrics import percent
from collateral.findings._shared.statistics import student_95
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean

SET = "retain"
SIDES = ("near", "far")


@dataclass(frozen=True)
class Loss:
    """How much less accurate than Retrain a method is on the nearest; negative: more accurate."""

    run: str
    label: str
    near: float
    chance: float  # 95 % of differences between retrainings are smaller

    @property
    def is_chance(self) -> bool:
        """Whether retraining again may well differ as much."""
        return abs(self.near) <= self.chance


def words(cell: CellTable) -> str:
    """Say in a few sentences who else gets hurt, from the numbers."""
    losses = sorted(_losses(cell), key=lambda loss: -loss.near)
    if not losses:
        return cell.said("No method ended well here, so there is nothing to compare with Retrain.")
    worst, *others = losses
    if not cell.has_retrain:
        return (
            "No Retrain, so no noise floor and no claim: the largest loss of accuracy against the "
            f"base on {_nearest(cell)} is {worst.label}'s, {_points(worst.near)}, and "
            f"{_points(mean(cell.values(worst.run, 'far_loss', SET)))} on all others."
        )
    if math.isnan(worst.chance):
        return (
            "One seed, so no noise floor and no claim: the largest loss of accuracy against "
            f"Retrain on {_nearest(cell)} is {worst.label}'s, {_points(worst.near)}."
        )
    if worst.near <= worst.chance:
        return (
            f"No method is less accurate than Retrain on {_nearest(cell)} by more than chance "
            f"explains (±{_points(worst.chance)}).{_sorted_out(losses)}"
        )
    gap, far = cell.number(worst.run, "avg_gap"), mean(cell.values(worst.run, "far_loss", SET))
    return (
        f"{worst.label}: an average gap of {_points(gap)}, {'but' if worst.near > gap else 'and'} "
        f"{_points(worst.near)} less accurate than Retrain on {_nearest(cell)}, against "
        f"{_points(far)} on all others. {_explained(worst.chance)}{_sorted_out(others)}"
    )


def _losses(cell: CellTable) -> list[Loss]:
    """Return the losses of the methods that ended well in every seed."""
    noise = cell.number(cell.reference, "near_loss_sd", SET)
    chance = student_95(len(cell.seeds)) * noise
    sound = [run for run in cell.runs("method") if not cell.trouble(run)]
    means = {run: mean(cell.values(run, "near_loss", SET)) for run in sound}
    return [
        Loss(run, cell.labels[run], near, chance)
        for run, near in means.items()
        if not math.isnan(near)
    ]


def _nearest(cell: CellTable) -> str:
    near, far = (mean(cell.values(cell.reference, f"{part}_count", SET)) for part in SIDES)
    return (
        f"the {metric_of('near_count').text(near)} retained examples most similar to the forgotten "
        f"ones ({percent(near / (near + far))})"
    )


def _explained(chance: float) -> str:
    if not _number(chance).strip("0."):
        return "Chance explains less than 0.1 points there."
    return f"Chance explains ±{_points(chance)} there."


def _sorted_out(losses: list[Loss]) -> str:
    """Sort methods into hurt, better than Retrain, and within chance."""
    groups = {
        "Also less accurate there": [
            loss for loss in losses if not loss.is_chance and loss.near > 0
        ],
        "More accurate than Retrain there": [
            loss for loss in losses if not loss.is_chance and loss.near < 0
        ],
        "Within chance": [loss for loss in losses if loss.is_chance],
    }
    texts = {
        name: ", ".join(f"{loss.label} ({_number(abs(loss.near))})" for loss in group)
        for name, group in groups.items()
    }
    return "".join(f" {name}: {text}." for name, text in texts.items() if text)


def _points(rate: float) -> str:
    return f"{_number(rate)} points"


def _number(rate: float) -> str:
    return metric_of("near_loss").text(rate)
