"""The scores of all attacks."""

from collections.abc import Iterator

from collateral.findings._shared.plain import plain_table
from collateral.findings._shared.tables import Table
from collateral.findings.membership import METRICS
from collateral.results.table import CellTable


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a column for each attack."""
    yield plain_table(cell, "membership", "Membership attacks", list(METRICS))
