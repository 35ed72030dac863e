"""Table of the accuracies on the forgotten subclass and on its siblings."""

from collections.abc import Iterator

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption
from collateral.findings.columns import Column, build_table, rows_by_kind
from collateral.results.table import CellTable

COLUMNS = ("ua", "subclass_ta", "siblings_ra", "siblings_ta")
MOST_NAMED = 12  # maximum number of siblings with a column of their own
CAPTION = "The forgotten subclass and its siblings: {title}. {spread}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of all runs, if a subclass is forgotten."""
    siblings = [str(at) for at in cell.indices(cell.reference, "sibling_examples")]
    if not siblings:
        return
    columns = [Column(metric) for metric in COLUMNS]
    if len(siblings) <= MOST_NAMED:
        columns += [Column("sibling_ta", at=name, heading=f"TA {name} (%)") for name in siblings]
    caption, conventions = fill_caption(CAPTION, cell), describe_metrics(cell, COLUMNS)
    title = "The forgotten subclass and its siblings"
    yield build_table("siblings", title, columns, rows_by_kind(cell), caption, conventions)
