"""Table of the tug of war: ToW and ToW-MIA of every run."""

from collections.abc import Iterator

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import NEXT_SEED_NOTE, Column, build_table, rows_with_next_seed
from collateral.findings.tug_of_war import METRICS
from collateral.results.table import CellTable

CAPTION = "Tug of war: {title}. {spread}"
COLUMNS = [Column(name) for name in METRICS]


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one column for ToW and one for ToW-MIA, if they were computed."""
    groups = rows_with_next_seed(cell)
    if any(groups) and "tow" in cell.metrics(cell.reference):
        caption = fill_caption(CAPTION, cell)
        conventions = join_sentences(describe_metrics(cell, METRICS), NEXT_SEED_NOTE)
        yield build_table("tow", "Tug of war", COLUMNS, groups, caption, conventions)
