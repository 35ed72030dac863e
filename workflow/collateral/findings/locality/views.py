"""Each run's loss of accuracy near the forget set and far from it, as a table and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from collateral.contract.metrics import format_percent
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.captions import CHANCE, describe_spread, join_sentences
from collateral.findings._shared.compare import noise_floor_by_sd
from collateral.findings.columns import Column, TableRow, build_table, number_source, rows_by_kind
from collateral.findings.locality.numbers import BINNED
from collateral.findings.metric_index import find_metric
from collateral.results.table import CellTable, mean

COUNTS = {"near_loss": "near_count", "far_loss": "far_count"}
SETS = {"retain": "retained", "test": "test"}
CAPTION = (
    "Retrain's accuracy minus the unlearned model's, in points: {title}. Positive: less accurate "
    "than Retrain. {spread}"
)
CONVENTIONS = (
    "Near: the fewest of the ten bins of similarity, from the top, with at least 20 examples and "
    "1 % of the set; far: all others. The number of examples is in parentheses."
)
LAST_ROW = f"The last row is where 95 % of the differences between retrainings lie. {CHANCE}"
RETAIN = "retain"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of near and far."""
    columns = [_column(cell, metric, name) for name in BINNED for metric in COUNTS]
    methods, controls = rows_by_kind(cell, ("method", "control"))
    asides: list[TableRow | Line] = [*controls, *_chance_line(cell, columns)]
    table = build_table(
        "near-and-far",
        "Near and far",
        columns,
        [methods, asides],
        cell.said(CAPTION).format(title=cell.title, spread=describe_spread(cell)),
        join_sentences(CONVENTIONS, LAST_ROW if len(cell.seeds) > 1 and cell.has_retrain else ""),
    )
    records = [
        {**record, "chance": noise_floor_by_sd(cell, record["metric"], record["set"])}
        for record in table.records
    ]
    yield replace(table, records=records)


def _column(cell: CellTable, metric: str, name: str) -> Column:
    """Return the column of a loss on a set; the heading has the number of examples."""
    count = COUNTS[metric]
    size = find_metric(count).text(mean(cell.values(cell.reference, count, name)))
    heading = f"{find_metric(metric).label}, {SETS[name]} ({size})"
    return Column(metric, name, heading=heading, sign=True, chance=noise_floor_by_sd)


def _chance_line(cell: CellTable, columns: list[Column]) -> list[Line]:
    """Return the row of the 95 % ranges between retrainings; none with one seed."""
    limits = [noise_floor_by_sd(cell, column.metric, column.set) for column in columns]
    if all(map(math.isnan, limits)):
        return []
    fields = [
        Field(
            f"±{find_metric(column.metric).text(limit)}",
            source=number_source(cell.reference, f"{column.metric}_sd", column.set),
        )
        for column, limit in zip(columns, limits, strict=True)
    ]
    return [Line("Retrain vs. Retrain (95 %)", fields, is_aside=True)]


@dataclass(frozen=True)
class Loss:
    """A method's loss of accuracy against Retrain on the nearest examples; negative: a gain."""

    run: str
    label: str
    near: float
    chance: float  # the bound on 95 % of the differences between retrainings

    @property
    def is_chance(self) -> bool:
        """Whether two retrainings may well differ as much."""
        return abs(self.near) <= self.chance


def words(cell: CellTable) -> str:
    """Return a few sentences about the method with the largest loss, and about the others."""
    losses = sorted(_find_losses(cell), key=lambda loss: -loss.near)
    if not losses:
        return cell.said("No method ended well here, so there is nothing to compare with Retrain.")
    worst, *others = losses
    far = mean(cell.values(worst.run, "far_loss", RETAIN))
    if not cell.has_retrain:
        return (
            "No Retrain, so no noise floor and no claim: the largest loss of accuracy against the "
            f"base on {_describe_nearest(cell)} is {worst.label}'s, {_points(worst.near)}, and "
            f"{_points(far)} on all others."
        )
    if math.isnan(worst.chance):
        return (
            "One seed, so no noise floor and no claim: the largest loss of accuracy against "
            f"Retrain on {_describe_nearest(cell)} is {worst.label}'s, {_points(worst.near)}."
        )
    if worst.near <= worst.chance:
        return (
            f"No method is less accurate than Retrain on {_describe_nearest(cell)} by more than "
            f"chance explains (±{_points(worst.chance)}).{_list_by_effect(losses)}"
        )
    gap = cell.number(worst.run, "avg_gap")
    return (
        f"{worst.label}: an average gap of {_points(gap)}, {'but' if worst.near > gap else 'and'} "
        f"{_points(worst.near)} less accurate than Retrain on {_describe_nearest(cell)}, against "
        f"{_points(far)} on all others. {_describe_chance(worst.chance)}{_list_by_effect(others)}"
    )


def _find_losses(cell: CellTable) -> list[Loss]:
    """Return the losses of the methods that ended well in every seed."""
    chance = noise_floor_by_sd(cell, "near_loss", RETAIN)
    sound = [run for run in cell.runs("method") if not cell.failure_summary(run)]
    means = {run: mean(cell.values(run, "near_loss", RETAIN)) for run in sound}
    return [
        Loss(run, cell.labels[run], near, chance)
        for run, near in means.items()
        if not math.isnan(near)
    ]


def _describe_nearest(cell: CellTable) -> str:
    counts = ("near_count", "far_count")
    near, far = (mean(cell.values(cell.reference, count, RETAIN)) for count in counts)
    return (
        f"the {find_metric('near_count').text(near)} retained examples most similar to the "
        f"forgotten ones ({format_percent(near / (near + far))})"
    )


def _describe_chance(chance: float) -> str:
    if not _number(chance).strip("0."):
        return "Chance explains less than 0.1 points there."
    return f"Chance explains ±{_points(chance)} there."


def _list_by_effect(losses: list[Loss]) -> str:
    """List the methods that lose accuracy, those that gain, and those within chance."""
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
    return find_metric("near_loss").text(rate)
