"""The tables of a finding; where there is no Retrain, each says what stands in its place."""

from collections.abc import Iterator
from dataclasses import replace

from collateral.contract.plugins import FINDING
from collateral.contract.tables import Table
from collateral.findings._shared.captions import joined
from collateral.results.layout import RETRAIN
from collateral.results.table import BenchmarkTable, CellTable

WITHOUT_RETRAIN = "There is no Retrain: the reference is the base model (Original)."


def tables_of(finding: str, source: CellTable | BenchmarkTable) -> Iterator[Table]:
    """Yield what a finding has to show of a cell, or over all of them."""
    is_cell = isinstance(source, CellTable)
    plan = source.benchmark if isinstance(source, CellTable) else source.plan
    function = "tables" if is_cell else "tables_across"
    make = getattr(FINDING.load(finding, "table"), function, None)
    for table in make(source) if make else ():
        said = "" if plan.reference == RETRAIN else WITHOUT_RETRAIN
        yield replace(table, caption=joined(table.caption, said)) if said else table
