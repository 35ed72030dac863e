"""Write the tables of a benchmark, for each cell and over all cells."""

from functools import partial
from itertools import chain
from pathlib import Path

from collateral.findings import registry
from collateral.findings._shared.write import write_table
from collateral.findings.registry import AnyTable, Problem
from collateral.jobs.tables import TablesJob
from collateral.results import layout
from collateral.results.record import Made
from collateral.results.table import BenchmarkTable, read_benchmark
from collateral.stages._workspace import Workspace


def run(_: TablesJob, place: Workspace) -> Made:
    """Write the tables of every finding, and record the findings that raised an error."""
    write_tables(read_benchmark(place.root), place.output("tables"), place.threads)
    return Made({})


def write_tables(table: BenchmarkTable, out: Path, processes: int = 1) -> None:
    """Write the tables of a benchmark, in several processes."""
    problems = registry.map_sources(partial(write_all, out=out), table, processes)
    registry.write_problems(out / layout.PROBLEMS, chain(*problems))


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
