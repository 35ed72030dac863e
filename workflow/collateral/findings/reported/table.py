"""What the methods say of themselves."""

from collections.abc import Iterator

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import over_seeds
from collateral.findings._shared.tables import csv_record, field_by_seed
from collateral.findings.catalogue import is_known, metric_of
from collateral.findings.reported import METRICS
from collateral.results.table import REFERENCE, CellTable, mean

CAPTION = (
    "Numbers that the methods report: {title}. {spread} Shares are in [0, 1] where no unit is "
    "given. A teacher's accuracy on the forget set is to be held against Retrain's UA of {ua} %."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of what is reported; nothing where nothing is."""
    found = [(run, metric) for run in cell.labels for metric in _reported(cell, run)]
    if found:
        ua = metric_of("ua").text(mean(cell.values(REFERENCE, "ua")))
        yield Table(
            "reported",
            "What methods report",
            [Grid("Method", ["Number", "Value"], [[_line(cell, *one) for one in found]])],
            CAPTION.format(title=cell.title, spread=over_seeds(cell), ua=ua),
            records=[csv_record(cell, run, metric) for run, metric in found],
        )


def _reported(cell: CellTable, run: str) -> list[str]:
    return [name for name in cell.metrics(run) if name in METRICS or not is_known(name)]


def _line(cell: CellTable, run: str, metric: str) -> Line:
    shown = metric_of(metric)
    name = Field(shown.heading or metric)
    return Line(cell.labels[run], [name, field_by_seed(cell, run, metric)])
