"""A benchmark's plan, metrics and costs in; the tables of each cell and over all of them out."""

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from collateral.contract.plugins import FINDING
from collateral.findings._shared.write import write
from collateral.findings.compute import attempt, presented, write_problems
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, CellTable, read


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in, and where the tables go."""
    parser.add_argument("--plan", type=Path, required=True, help="plan.json")
    parser.add_argument("--metrics", type=Path, required=True, help="the benchmark's metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="the benchmark's costs.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder of the tables")


def run(args: Namespace) -> None:
    """Write every finding's tables, and what could not be made."""
    table = read(BenchmarkPlan.load(args.plan), args.metrics, args.costs)
    problems = []
    for finding in presented("table"):
        across = partial(_write, finding, "tables_across", table, args.out, "")
        problems.append(attempt(across, finding, "table", "")[1])
        for cell in table.cells:
            of_cell = partial(_write, finding, "tables", cell, args.out / cell.name, cell.name)
            problems.append(attempt(of_cell, finding, "table", cell.name)[1])
    write_problems(args.out / layout.PROBLEMS, filter(None, problems))


def _write(
    finding: str, function: str, source: BenchmarkTable | CellTable, folder: Path, cell: str
) -> None:
    """Write the tables that this function of a finding makes, if it has one."""
    make = getattr(FINDING.load(finding, "table"), function, None)
    for table in make(source) if make else ():
        write(table, folder, cell)
