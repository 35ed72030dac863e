"""Table of the scores of all membership attacks."""

from collections.abc import Iterator

from collateral.contract.tables import Table
from collateral.findings.columns import plain_table
from collateral.findings.membership import SCORES
from collateral.results.table import CellTable


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one column per attack."""
    known = set(cell.metrics(cell.reference))
    metrics = [name for name in SCORES if name in known]
    yield plain_table(cell, "membership", "Membership attacks", metrics)
