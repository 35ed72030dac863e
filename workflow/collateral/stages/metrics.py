"""Turn the cached outputs of a cell's runs into its metrics and costs: ask every finding."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.contract.plugins import FINDING
from collateral.findings.catalogue import metric_of
from collateral.findings.compute import cell_numbers, having, write_problems
from collateral.plan.fingerprint import fingerprint
from collateral.results.cell import CellResults
from collateral.results.kept import Kept
from collateral.results.table import COLUMNS, COST_COLUMNS, write_cell


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what goes in and comes out."""
    parser.add_argument("--folder", type=Path, required=True, help="the benchmark's")
    parser.add_argument("--cell", required=True, help="name of the cell")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument(
        "--base-seeds", type=int, nargs="+", required=True, help="whose base each seed starts from"
    )
    parser.add_argument("--methods", nargs="*", default=[], help="runs of methods")
    parser.add_argument("--controls", nargs="*", default=[], help="runs of controls")
    parser.add_argument("--tuned", nargs="*", default=[], help="methods that were tuned")
    parser.add_argument("--tracked", nargs="*", default=[], help="runs measured after every epoch")
    parser.add_argument("--support-sized", nargs="*", default=[], help="LTD, if its support was")
    parser.add_argument("--attacks", nargs="*", default=[], help="on membership")
    parser.add_argument("--out", type=Path, required=True, help="metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="costs.csv")
    parser.add_argument("--problems", type=Path, required=True, help="problems.json")


def run(args: Namespace) -> None:
    """Compute all numbers of the cell; write them, its costs, and what could not be computed."""
    cell = CellResults(
        folder=args.folder,
        name=args.cell,
        seeds=tuple(args.seeds),
        base_seeds=tuple(args.base_seeds),
        kinds=dict.fromkeys(args.methods, "method") | dict.fromkeys(args.controls, "control"),
        tuned=tuple(args.tuned),
        tracked=tuple(args.tracked),
        support_sized=tuple(args.support_sized),
        attacks=tuple(args.attacks),
    )
    cell.check()
    code = {name: fingerprint([FINDING.module(name, "numbers")]) for name in having("numbers")}
    rows, problems = cell_numbers(cell, Kept(cell, code))
    costs = [row for row in rows if metric_of(row.metric).is_cost]
    metrics = [row for row in rows if not metric_of(row.metric).is_cost]
    write_cell(args.out, cell, metrics, COLUMNS)
    write_cell(args.costs, cell, costs, COST_COLUMNS)
    write_problems(args.problems, problems)
