"""What tuning chose without looking at Retrain, and how much nearer it could have come."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.selection import PAPER, RULES
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.statistics import half_width
from collateral.findings._shared.tables import source_of
from collateral.findings.catalogue import metric_of
from collateral.results.table import BenchmarkTable, CellTable, mean

TRIALS = {"trial_chosen": "chosen", "trial_nearest": "nearest"}
COLUMNS = ("trial_chosen", "gap_chosen", "gap_default", "trial_nearest", "gap_nearest", "regret")
CAPTION = (
    "Tuning on the first seed. Chosen without Retrain: {rule}. Gap: mean absolute deviation from "
    "that seed's Retrain over UA, RA, TA and MIA, in points, computed afterwards. Nearest: the "
    "candidate with the lowest gap. Regret: the gap of the choice minus the nearest's."
)
IN_WORDS: dict[str, str] = {
    "paper": "among trials with affected RA > 70 % and RA > 90 % the lowest UA, else the "
    "highest RA",
    "interval": "as the paper's rule, but affected RA is too low only where its one-sided 95 % "
    "interval (Clopper-Pearson) ends at or below 70 %",
    "teacher": "the UA nearest to the accuracy of LTD's teacher on the forget set, among the "
    "paper's admissible trials where there are some",
}
RULE_METRIC = "rule_regret"
Floats = NDArray[np.float64]
RULES_CAPTION = (
    "Regret, in points, of what each rule chooses among the same trials: its gap minus that of "
    "the candidate nearest to Retrain. {rules}. Here `{rule}` chose."
)
OVER_ALL = (
    "Mean over cells and methods ± half of its 95 % interval (Student t, as if they were "
    "independent), and the same of the difference from the paper's rule."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield what was chosen in a cell; nothing where nothing is tuned."""
    lines = [Line(cell.labels[run], _fields(cell, run)) for run in _tuned(cell)]
    if lines:
        yield _table("Method", _headings(), lines, [cell])
    if _ruled(cell):
        yield _rules_table("Method", [*RULES], _rule_lines(cell), [cell])


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield what was chosen in every cell; nothing where nothing is tuned."""
    lines = [
        Line(cell.name, [Field(cell.labels[run]), *_of_cell(cell, _fields(cell, run))])
        for cell in table.cells
        for run in _tuned(cell)
    ]
    if lines:
        yield _table("Cell", ["Method", *_headings()], lines, list(table.cells))
    if any(map(_ruled, table.cells)):
        headings = ["Choices", "Regret", "against paper's"]
        means = _rules_table("Rule", headings, _mean_lines(table.cells), table.cells)
        yield replace(means, caption=f"{means.caption} {OVER_ALL}")


def _tuned(cell: CellTable) -> list[str]:
    return [run for run in cell.labels if "trial_chosen" in cell.metrics(run)]


def _ruled(cell: CellTable) -> list[str]:
    return [run for run in _tuned(cell) if RULE_METRIC in cell.metrics(run)]


def _headings() -> list[str]:
    return [metric_of(name).heading for name in COLUMNS]


def _fields(cell: CellTable, run: str) -> list[Field]:
    numbers = {name: _number(cell, run, name) for name in COLUMNS}
    return [
        Field(_values(cell, run, name), source=source_of(run, name))
        if name in TRIALS
        else Field(metric_of(name).text(number), number, source=source_of(run, name))
        for name, number in numbers.items()
    ]


def _of_cell(cell: CellTable, fields: list[Field]) -> list[Field]:
    """Return fields of a table over cells: their numbers stand in this one."""
    return [
        replace(one, source=replace(one.source, cell=cell.name)) if one.source else one
        for one in fields
    ]


def _number(cell: CellTable, run: str, metric: str) -> float:
    """Return what the first seed, which alone is tuned on, has."""
    return mean(cell.values(run, metric))


def _values(cell: CellTable, run: str, trial: str) -> str:
    """Return the values of a trial: "lr 0.001"."""
    values = cell.plan.trials[run][int(_number(cell, run, trial))]
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _table(corner: str, headings: list[str], lines: list[Line], cells: list[CellTable]) -> Table:
    records = [_record(cell, run) for cell in cells for run in _tuned(cell)]
    caption = CAPTION.format(rule=IN_WORDS[cells[0].benchmark.select])
    return Table("tuning", "Tuning", [Grid(corner, headings, [lines])], caption, records=records)


def _rules_table(
    corner: str, headings: list[str], lines: list[Line], cells: Sequence[CellTable]
) -> Table:
    words = ". ".join(f"{rule}: {IN_WORDS[rule]}" for rule in RULES)
    caption = RULES_CAPTION.format(rules=words, rule=cells[0].benchmark.select)
    records = [
        {"cell": cell.name, "run": run, "rule": rule, "regret": _rule_regret(cell, run, rule)}
        for cell in cells
        for run in _ruled(cell)
        for rule in RULES
    ]
    grid = Grid(corner, headings, [lines])
    return Table("tuning-rules", "Rules of selection", [grid], caption, records=records)


def _rule_lines(cell: CellTable) -> list[Line]:
    """Return what each rule would have lost, a row a method."""
    metric = metric_of(RULE_METRIC)
    found = {run: [_rule_regret(cell, run, rule) for rule in RULES] for run in _ruled(cell)}
    return [
        Line(
            cell.labels[run],
            [
                Field(metric.text(value), value, source=source_of(run, RULE_METRIC, at=rule))
                for rule, value in zip(RULES, values, strict=True)
            ],
        )
        for run, values in found.items()
    ]


def _mean_lines(cells: Sequence[CellTable]) -> list[Line]:
    """Return the mean of each rule, a row a rule."""
    found = {rule: _regrets(cells, rule) for rule in RULES}
    return [Line(rule, _mean_fields(found[rule], found[PAPER])) for rule in RULES]


def _regrets(cells: Sequence[CellTable], rule: str) -> Floats:
    return np.array([_rule_regret(cell, run, rule) for cell in cells for run in _ruled(cell)])


def _rule_regret(cell: CellTable, run: str, rule: str) -> float:
    return mean(cell.values(run, RULE_METRIC, at=rule))


def _mean_fields(regrets: Floats, papers: Floats) -> list[Field]:
    metric, count = metric_of(RULE_METRIC), int(np.count_nonzero(~np.isnan(regrets)))
    more = regrets - papers
    return [
        Field(str(count), count),
        Field(metric.text(mean(regrets), half_width(regrets)), mean(regrets)),
        Field(metric.text(mean(more), half_width(more), sign=True), mean(more)),
    ]


def _record(cell: CellTable, run: str) -> dict[str, Any]:
    texts = {name: _values(cell, run, trial) for trial, name in TRIALS.items()}
    numbers = {name: _number(cell, run, name) for name in COLUMNS if name not in TRIALS}
    return {"cell": cell.name, "run": run, **texts, **numbers}
