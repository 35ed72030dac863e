"""Table of the numbers that methods report about themselves."""

from collections.abc import Iterator

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import fill_caption, join_sentences
from collateral.findings.columns import Column, all_rows
from collateral.findings.metric_index import find_metric, is_known
from collateral.findings.reported import LABELS, METRICS
from collateral.metrics.statistics import mean
from collateral.results.table import CellTable

CAPTION = (
    "Numbers that the methods report: {title}. {spread} Shares are in [0, 1] where no unit is "
    "given."
)
COMPARED = "Compare a teacher's accuracy on the forget set with Retrain's UA of {ua} %."
ESTIMATE = "A teacher's accuracy on the forget set is an estimate of Retrain's UA."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one row per run and reported number, if any run reports a number."""
    found = [
        (row, Column(name))
        for row in all_rows(cell)
        for name in cell.metrics(row.run)
        if name in METRICS or not is_known(name)
    ]
    if found:
        ua = find_metric("ua").text(mean(cell.values(cell.reference, "ua")))
        note = COMPARED.format(ua=ua) if cell.has_retrain else ESTIMATE
        lines = [Line(row.label, [_name(column), column.field(row)]) for row, column in found]
        yield Table(
            "reported",
            "What methods report",
            [Grid("Method", ["Number", "Value"], [lines])],
            join_sentences(fill_caption(CAPTION, cell), note),
            records=[column.record(row) for row, column in found],
        )


def _name(column: Column) -> Field:
    heading = find_metric(column.metric).heading or LABELS.get(column.metric)
    return Field(heading or column.metric.replace("_", " "))
