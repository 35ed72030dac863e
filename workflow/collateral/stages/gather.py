"""Cells' metrics and costs in; the benchmark's out, with what findings say over all cells."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collateral.findings.compute import numbers_across, read_problems, write_problems
from collateral.results import layout
from collateral.results.chain import INPUTS, checked, hashes, read_sealed, write_record
from collateral.results.files import Unsound
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import read, write_benchmark


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--plan", type=Path, required=True, help="plan.json")
    parser.add_argument("--metrics", type=Path, nargs="+", required=True, help="cells' metrics.csv")
    parser.add_argument("--costs", type=Path, nargs="+", required=True, help="cells' costs.csv")
    parser.add_argument("--problems", type=Path, nargs="+", required=True, help="cells'")
    parser.add_argument("--out-metrics", type=Path, required=True)
    parser.add_argument("--out-costs", type=Path, required=True)
    parser.add_argument("--out-problems", type=Path, required=True)


def run(args: Namespace) -> None:
    """Put the cells' files one below another, and below them the numbers over all cells."""
    root = args.plan.parent
    plan = BenchmarkPlan.load(args.plan)
    for path in [*args.metrics, *args.costs, *args.problems]:
        checked(path, root)
    for path in args.metrics:
        check_plan(args.plan, plan, read_sealed(layout.record_of(path), root))
    write_benchmark(args.out_metrics, args.metrics)
    write_benchmark(args.out_costs, args.costs)
    rows, problems = numbers_across(read(plan, args.out_metrics))
    write_benchmark(args.out_metrics, args.metrics, rows)
    write_problems(args.out_problems, [*read_problems(args.problems), *problems])
    about = {INPUTS: hashes([args.plan, *args.metrics, *args.problems], root)}
    made = [args.out_metrics, args.out_problems]
    write_record(layout.record_of(args.out_metrics), about, root=root, files=made)
    about = {INPUTS: hashes([args.plan, *args.costs], root)}
    write_record(layout.record_of(args.out_costs), about, root=root, files=[args.out_costs])


def check_plan(path: Path, plan: BenchmarkPlan, of_cell: Mapping[str, Any]) -> None:
    """Refuse a plan that does not know a cell, or one of its runs: tables would leave it out."""
    cell, options = of_cell["cell"], of_cell["options"]
    unknown = {*options["methods"], *options["controls"]} - plan.labels.keys()
    if cell not in plan.cells or unknown:
        raise Unsound(path, f"does not know {' '.join([cell, *sorted(unknown)])}")
