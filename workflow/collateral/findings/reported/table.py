"""What the methods say of themselves."""

from collections.abc import Iterator

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import joined, over_seeds
from collateral.findings._shared.tables import csv_record, field_by_seed
from collateral.findings.catalogue import is_known, metric_of
from collateral.findings.reported import METRICS
from collateral.results.table import CellTable, mean

CAPTION = (
    "Numbers that the methods report: {title}. {spread} Shares are in [0, 1] where no unit is "
    "given."
)
HELD = "A teacher's accuracy on the forget set is to be held against Retrain's UA of {ua} %."
ESTIMATE = "A teacher's accuracy on the forget set is an estimate of Retrain's UA."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of what is reported; nothing where nothing is."""
    found = [(run, metric) for run in cell.labels for metric in _reported(cell, run)]
    if found:
        ua = metric_of("ua").text(mean(cell.values(cell.reference, "ua")))
        held = HELD.format(ua=ua) if cell.has_retrain else ESTIMATE
        yield Table(
            "reported",
            "What methods report",
            [Grid("Method", ["Number", "Value"], [[_line(cell, *one) for one in found]])],
            joined(CAPTION.format(title=cell.title, spread=over_seeds(cell)), held),
            records=[csv_record(cell, run, metric) for run, metric in found],
        )


def _reported(cell: CellTable, run: str) -> list[str]:
    return [name for name in cell.metrics(run) if name in METRICS or not is_known(name)]


def _line(cell: CellTable, run: str, metric: str) -> Line:
    shown = metric_of(metric)
    name = Field(shown.heading or metric)
    return Line(cell.labels[run], [name, field_by_seed(cell, run, metric)])
