"""Each run's loss of accuracy near the forget set, and far from it."""

import math
from collections.abc import Iterator
from dataclasses import replace

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import CHANCE, joined, over_seeds
from collateral.findings._shared.compare import chance_by_sd
from collateral.findings._shared.tables import csv_record, field_by_seed, line_of, source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.locality.numbers import BINNED
from collateral.results.table import CellTable, mean

COUNTS = {"near_loss": "near_count", "far_loss": "far_count"}
COLUMNS = [(metric, name) for name in BINNED for metric in COUNTS]
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


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of near and far."""
    kinds = (cell.runs("method"), cell.runs("control"))
    groups = [
        [line_of(cell, run, [_field(cell, run, *column) for column in COLUMNS]) for run in runs]
        for runs in kinds
    ]
    groups[-1] += _chance(cell)
    yield Table(
        "near-and-far",
        "Near and far",
        [
            Grid(
                "Method",
                [_heading(cell, *c) for c in COLUMNS],
                [group for group in groups if group],
            )
        ],
        cell.said(CAPTION).format(title=cell.title, spread=over_seeds(cell)),
        joined(CONVENTIONS, LAST_ROW if len(cell.seeds) > 1 and cell.has_retrain else ""),
        [
            {**csv_record(cell, run, metric, name), "chance": chance_by_sd(cell, metric, name)}
            for runs in kinds
            for run in runs
            for metric, name in COLUMNS
        ],
    )


def _field(cell: CellTable, run: str, metric: str, name: str) -> Field:
    values = cell.values(run, metric, name)
    is_chance = abs(mean(values)) <= chance_by_sd(cell, metric, name)
    return replace(field_by_seed(cell, run, metric, name, sign=True), is_chance=is_chance)


def _chance(cell: CellTable) -> list[Line]:
    """Return the row of what chance explains; none with one seed."""
    limits = {(metric, name): chance_by_sd(cell, metric, name) for metric, name in COLUMNS}
    if all(math.isnan(limit) for limit in limits.values()):
        return []
    fields = [
        Field(f"±{metric_of(m).text(limit)}", source=source_of(cell.reference, f"{m}_sd", name))
        for (m, name), limit in limits.items()
    ]
    return [Line("Retrain vs. Retrain (95 %)", fields, is_aside=True)]


def _heading(cell: CellTable, metric: str, name: str) -> str:
    count = COUNTS[metric]
    size = metric_of(count).text(mean(cell.values(cell.reference, count, name)))
    return f"{metric_of(metric).label}, {SETS[name]} ({size})"
