"""Write the tables of a benchmark, for each cell and over all cells."""

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

from collateral.findings import registry
from collateral.findings._shared.write import write_table
from collateral.findings.registry import AnyTable, Problem
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import sign_folder, verify
from collateral.results.table import read_tables


def tables(
    *,
    plan: Annotated[Path, "plan.json"],
    metrics: Annotated[Path, "the benchmark's metrics.csv"],
    costs: Annotated[Path, "the benchmark's costs.csv"],
    out: Annotated[Path, "folder of the tables"],
    processes: Annotated[int, "number of processes that write at the same time"] = 1,
) -> None:
    """Write the tables of every finding, and record the findings that raised an error."""
    root = metrics.parent
    metrics, costs = verify(metrics, root), verify(costs, root)
    table = read_tables(BenchmarkPlan.load(plan), metrics, costs)
    problems = registry.map_sources(partial(write_all, out=out), table, processes)
    registry.write_problems(out / layout.PROBLEMS, chain(*problems))
    sign_folder(out, [plan, metrics, costs])


def write_all(source: AnyTable, out: Path) -> list[Problem]:
    """Write the tables of a cell, or over all cells; return the findings that raised an error."""
    owners: dict[str, str] = {}
    problems = []
    for finding in registry.in_page_order("views", reference=source.reference):
        make = partial(_write, finding, source, out, owners)
        problems.append(registry.run_safely(make, finding, "table", registry.cell_name(source))[1])
    return list(filter(None, problems))


def _write(finding: str, source: AnyTable, out: Path, owners: dict[str, str]) -> None:
    """Write the tables of one finding; raise if another finding has a table of the same name.

    `owners` is a dict from the name of each table to the name of its finding; it is updated.
    """
    cell = registry.cell_name(source)
    for table in registry.make_tables(finding, source):
        if (owner := owners.setdefault(table.name, finding)) != finding:
            raise ValueError(f"finding {owner} has a table '{table.name}' already; rename it")
        write_table(table, out / cell, cell)
