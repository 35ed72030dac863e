"""Tables of the trials chosen without Retrain, and of the regret of each selection rule."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from collateral.contract.conventions import PAPER, RULES
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings.columns import Column, TableRow, build_grid
from collateral.findings.metric_index import find_metric
from collateral.metrics.arrays import Floats
from collateral.metrics.statistics import interval_half_width, mean
from collateral.results.table import BenchmarkTable, CellTable

TRIALS = {"trial_chosen": "chosen", "trial_nearest": "nearest"}
METRICS = ("trial_chosen", "gap_chosen", "gap_default", "trial_nearest", "gap_nearest", "regret")
CAPTION = (
    "Tuning on the first seed. Chosen without Retrain: {rule}. Gap: mean absolute deviation from "
    "that seed's Retrain over UA, RA, TA and MIA, in points, computed afterwards. Nearest: the "
    "candidate with the lowest gap. Regret: the gap of the choice minus the nearest's."
)
RULE_TEXTS: dict[str, str] = {
    "paper": "among trials with affected RA > 70 % and RA > 90 % the lowest UA, else the "
    "highest RA",
    "interval": "as the paper's rule, but affected RA is too low only where its one-sided 95 % "
    "interval (Clopper-Pearson) ends at or below 70 %",
    "teacher": "the UA nearest to the accuracy of LTD's teacher on the forget set, among the "
    "paper's admissible trials where there are some",
}
RULE_COLUMNS = [Column("rule_regret", at=rule, heading=rule) for rule in RULES]
RULES_CAPTION = (
    "Regret, in points, of the trial that each rule chooses among the same trials: its gap minus "
    "that of the candidate nearest to Retrain. {rules}. This benchmark uses `{rule}`."
)
MEANS_CAPTION = (
    "Mean over cells and methods ± half of its 95 % interval (Student t, as if they were "
    "independent), and the same for the difference from the paper's rule."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield two tables if a method of the cell is tuned.

    They show the chosen trial of each method, and the regret of each selection rule.
    """
    if rows := _find_rows(cell, "trial_chosen"):
        yield _make_table(build_grid("Method", COLUMNS, [rows]), [cell])
    if rows := _find_rows(cell, "rule_regret"):
        yield _make_rules_table(build_grid("Method", RULE_COLUMNS, [rows]), [cell])


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield tables over all cells: the chosen trials, and each selection rule's mean regret."""
    if rows := [row for cell in table.cells for row in _find_rows(cell, "trial_chosen")]:
        lines = [Line(row.cell.name, [Field(row.label), *_fields_across(row)]) for row in rows]
        headings = ["Method", *build_grid("", COLUMNS, []).headings]
        yield _make_table(Grid("Cell", headings, [lines]), table.cells)
    if any(_find_rows(cell, "rule_regret") for cell in table.cells):
        grid = Grid("Rule", ["Choices", "Regret", "against paper's"], [_mean_lines(table.cells)])
        means = _make_rules_table(grid, table.cells)
        yield replace(means, caption=f"{means.caption} {MEANS_CAPTION}")


def _find_rows(cell: CellTable, metric: str) -> list[TableRow]:
    """Return one table row per tuned method that has this metric."""
    found = [run for run in cell.labels if {"trial_chosen", metric} <= {*cell.metrics(run)}]
    return [TableRow(cell, run, cell.labels[run]) for run in found]


def _show_trial(column: Column, row: TableRow) -> Field:
    """Return the table entry with a trial's parameters, such as "lr 0.001"."""
    values = row.cell.plan.trials[row.run][int(column.value(row))]
    text = ", ".join(f"{key} {value}" for key, value in values.items())
    return Field(text, source=column.source(row))


COLUMNS = [
    replace(column, show=partial(_show_trial, column)) if column.metric in TRIALS else column
    for column in map(Column, METRICS)
]


def _fields_across(row: TableRow) -> list[Field]:
    """Return the entries of one row of the table over cells; their source links name the cell."""
    fields = [column.field(row) for column in COLUMNS]
    return [
        replace(field, source=field.source and replace(field.source, cell=row.cell.name))
        for field in fields
    ]


def _make_table(grid: Grid, cells: Sequence[CellTable]) -> Table:
    records = [_make_record(row) for cell in cells for row in _find_rows(cell, "trial_chosen")]
    caption = CAPTION.format(rule=RULE_TEXTS[cells[0].benchmark.select])
    return Table("tuning", "Tuning", [grid], caption, records=records)


def _make_record(row: TableRow) -> dict[str, Any]:
    columns = {column.metric: column for column in COLUMNS}
    texts = {name: columns[trial].field(row).value for trial, name in TRIALS.items()}
    numbers = {name: column.value(row) for name, column in columns.items() if name not in TRIALS}
    return {"cell": row.cell.name, "run": row.run, **texts, **numbers}


def _make_rules_table(grid: Grid, cells: Sequence[CellTable]) -> Table:
    texts = ". ".join(f"{rule}: {RULE_TEXTS[rule]}" for rule in RULES)
    caption = RULES_CAPTION.format(rules=texts, rule=cells[0].benchmark.select)
    records = [
        {"cell": cell.name, "run": row.run, "rule": column.at, "regret": column.value(row)}
        for cell in cells
        for row in _find_rows(cell, "rule_regret")
        for column in RULE_COLUMNS
    ]
    return Table("tuning-rules", "Rules of selection", [grid], caption, records=records)


def _mean_lines(cells: Sequence[CellTable]) -> list[Line]:
    """Return one table row per selection rule, with its mean regret over cells and methods."""
    rows = [row for cell in cells for row in _find_rows(cell, "rule_regret")]
    regrets = {
        str(column.at): np.array([column.value(row) for row in rows]) for column in RULE_COLUMNS
    }
    return [Line(rule, _mean_fields(found, regrets[PAPER])) for rule, found in regrets.items()]


def _mean_fields(regrets: Floats, papers: Floats) -> list[Field]:
    metric, count = find_metric("rule_regret"), int(np.count_nonzero(~np.isnan(regrets)))
    more = regrets - papers
    return [
        Field(str(count), count),
        Field(metric.text(mean(regrets), interval_half_width(regrets)), mean(regrets)),
        Field(metric.text(mean(more), interval_half_width(more), sign=True), mean(more)),
    ]
