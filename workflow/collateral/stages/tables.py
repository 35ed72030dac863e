"""Write the tables of a benchmark, for each cell and over all cells."""

from functools import partial
from pathlib import Path
from typing import Annotated

from collateral.findings._shared.write import write
from collateral.findings.registry import in_page_order, make_tables, run_safely, write_problems
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import sign_folder, verify
from collateral.results.table import BenchmarkTable, CellTable, read_tables

Source = BenchmarkTable | CellTable


def tables(
    *,
    plan: Annotated[Path, "plan.json"],
    metrics: Annotated[Path, "the benchmark's metrics.csv"],
    costs: Annotated[Path, "the benchmark's costs.csv"],
    out: Annotated[Path, "folder of the tables"],
) -> None:
    """Write the tables of every finding, and record which could not be made."""
    root = metrics.parent
    metrics, costs = verify(metrics, root), verify(costs, root)
    table = read_tables(BenchmarkPlan.load(plan), metrics, costs)
    sources: list[Source] = [table, *table.cells]
    owners: dict[Path, str] = {}
    problems = []
    for finding in in_page_order("views", reference=table.plan.reference):
        for source in sources:
            make = partial(_write, finding, source, out, owners)
            problems.append(run_safely(make, finding, "table", _cell_of(source))[1])
    write_problems(out / layout.PROBLEMS, filter(None, problems))
    sign_folder(out, [plan, metrics, costs])


def _write(finding: str, source: Source, out: Path, owners: dict[Path, str]) -> None:
    """Write the tables of a finding for a cell or over all; `owners` maps tables to findings."""
    cell = _cell_of(source)
    for table in make_tables(finding, source):
        if (owner := owners.setdefault(out / cell / table.name, finding)) != finding:
            raise ValueError(f"finding {owner} has a table '{table.name}' already; rename it")
        write(table, out / cell, cell)


def _cell_of(source: Source) -> str:
    return source.name if isinstance(source, CellTable) else ""
