"""A benchmark's plan, metrics and costs in; the tables of each cell and over all of them out."""

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from collateral.findings._shared.write import write
from collateral.findings.compute import attempt, make_tables, presented, write_problems
from collateral.results import layout
from collateral.results.chain import checked, seal_folder
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, CellTable, read

Source = BenchmarkTable | CellTable


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in, and where the tables go."""
    parser.add_argument("--plan", type=Path, required=True, help="plan.json")
    parser.add_argument("--metrics", type=Path, required=True, help="the benchmark's metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="the benchmark's costs.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder of the tables")


def run(args: Namespace) -> None:
    """Write every finding's tables, and the list of those that failed."""
    root = args.metrics.parent
    metrics, costs = checked(args.metrics, root), checked(args.costs, root)
    table = read(BenchmarkPlan.load(args.plan), metrics, costs)
    sources: list[Source] = [table, *table.cells]
    owners: dict[Path, str] = {}
    problems = []
    for finding in presented("views", reference=table.plan.reference):
        for source in sources:
            make = partial(_write, finding, source, args.out, owners)
            problems.append(attempt(make, finding, "table", _cell_of(source))[1])
    write_problems(args.out / layout.PROBLEMS, filter(None, problems))
    seal_folder(args.out, [args.plan, metrics, costs])


def _write(finding: str, source: Source, out: Path, owners: dict[Path, str]) -> None:
    """Write a finding's tables of a cell, or over all cells; `owners` are the findings by table."""
    cell = _cell_of(source)
    for table in make_tables(finding, source):
        if (owner := owners.setdefault(out / cell / table.name, finding)) != finding:
            raise ValueError(f"finding {owner} has a table '{table.name}' already; rename it")
        write(table, out / cell, cell)


def _cell_of(source: Source) -> str:
    return source.name if isinstance(source, CellTable) else ""
