"""Write the tables of a benchmark, for each cell and over all cells."""

from functools import partial
from pathlib import Path
from typing import Annotated

from collateral.findings._shared.write import write
from collateral.findings.compute import attempt, make_tables, presented, write_problems
from collateral.results import layout
from collateral.results.chain import checked, seal_folder
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, CellTable, read

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
    metrics, costs = checked(metrics, root), checked(costs, root)
    table = read(BenchmarkPlan.load(plan), metrics, costs)
    sources: list[Source] = [table, *table.cells]
    owners: dict[Path, str] = {}
    problems = []
    for finding in presented("views", reference=table.plan.reference):
        for source in sources:
            make = partial(_write, finding, source, out, owners)
            problems.append(attempt(make, finding, "table", _cell_of(source))[1])
    write_problems(out / layout.PROBLEMS, filter(None, problems))
    seal_folder(out, [plan, metrics, costs])


def _write(finding: str, source: Source, out: Path, owners: dict[Path, str]) -> None:
    """Write the tables of a finding for a cell or over all; `owners` maps tables to findings."""
    cell = _cell_of(source)
    for table in make_tables(finding, source):
        if (owner := owners.setdefault(out / cell / table.name, finding)) != finding:
            raise ValueError(f"finding {owner} has a table '{table.name}' already; rename it")
        write(table, out / cell, cell)


def _cell_of(source: Source) -> str:
    return source.name if isinstance(source, CellTable) else ""
