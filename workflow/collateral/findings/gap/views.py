"""Tables that compare every run with Retrain: on all examples, and on affected classes."""

from collections.abc import Iterator

from collateral.contract.tables import Table
from collateral.findings._shared.compare import AFFECTED, MAIN, compare
from collateral.results.table import CellTable


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the main table and the table of the affected classes."""
    classes = "classes" if len(cell.forgotten) > 1 else "class"
    yield compare(cell, "main", "All examples", MAIN)
    yield compare(cell, "affected", f"Examples of the affected {classes}", AFFECTED)
