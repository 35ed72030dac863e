"""Both products of the tug of war, for every run."""

from collections.abc import Iterator
from itertools import chain

from collateral.contract.tables import Table
from collateral.findings._shared.captions import described, joined, over_seeds
from collateral.findings.columns import (
    NEXT_SEED_NOTE,
    Column,
    build_grid,
    build_records,
    rows_with_next_seed,
)
from collateral.findings.tow import METRICS
from collateral.results.table import CellTable

CAPTION = "Tug of war: {title}. {spread}"
COLUMNS = [Column(name) for name in METRICS]


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one column per product, if there are numbers."""
    groups = rows_with_next_seed(cell)
    if not any(groups) or "tow" not in cell.metrics(cell.reference):
        return
    yield Table(
        "tow",
        "Tug of war",
        [build_grid("Method", COLUMNS, groups)],
        CAPTION.format(title=cell.title, spread=over_seeds(cell)),
        joined(described(METRICS), NEXT_SEED_NOTE),
        build_records(chain(*groups), COLUMNS),
    )
