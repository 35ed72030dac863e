"""Every run against Retrain: on all examples, and on those of the affected classes."""

from collections.abc import Iterator

from collateral.contract.tables import Table
from collateral.findings._shared.compare import compare
from collateral.findings._shared.layouts import AFFECTED, MAIN, Layout
from collateral.results.table import CellTable


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the main and the affected-class table."""
    classes = "classes" if len(cell.forgotten) > 1 else "class"
    yield compare(cell, Layout("main", "All examples", (MAIN,)))
    yield compare(cell, Layout("affected", f"Examples of the affected {classes}", (AFFECTED,)))
