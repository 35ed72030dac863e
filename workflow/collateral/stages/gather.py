"""Cells' metrics and costs in; the benchmark's out, with what findings say over all cells."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collateral.findings.checks import gates_of
from collateral.findings.compute import numbers_across, read_problems, write_problems
from collateral.results import layout
from collateral.results.chain import INPUTS, checked, hashes, read_sealed, write_record
from collateral.results.files import Unsound
from collateral.results.gates import write_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import read, write_benchmark


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    # Not the cells' files: a thousand of them are more than one argument of a command may hold.
    parser.add_argument("--folder", type=Path, required=True, help="the benchmark's")
    parser.add_argument("--out", type=Path, required=True, help="metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="costs.csv")
    parser.add_argument("--problems", type=Path, required=True, help="problems.json")
    parser.add_argument("--gates", type=Path, required=True, help="gates.json")


def run(args: Namespace) -> None:
    """Put the cells' files one below another, and below them the numbers over all cells."""
    root = args.folder
    plan = BenchmarkPlan.load(root / layout.PLAN)
    names = (layout.METRICS, layout.COSTS, layout.PROBLEMS)
    metrics, costs, known = ([checked(root / c / n, root) for c in plan.cells] for n in names)
    for path in metrics:
        check_plan(root / layout.PLAN, plan, read_sealed(layout.record_of(path), root))
    write_benchmark(args.out, metrics)
    write_benchmark(args.costs, costs)
    table = read(plan, args.out)
    rows, problems = numbers_across(table)
    write_benchmark(args.out, metrics, rows)
    gates, unasked = gates_of(table)
    write_problems(args.problems, [*read_problems(known), *problems, *unasked])
    write_gates(args.gates, gates)
    of_metrics = (args.out, args.problems, args.gates), [*metrics, *known]
    for made, inputs in (of_metrics, ((args.costs,), costs)):
        about = {INPUTS: hashes([root / layout.PLAN, *inputs], root)}
        write_record(layout.record_of(made[0]), about, root=root, files=made)


def check_plan(path: Path, plan: BenchmarkPlan, of_cell: Mapping[str, Any]) -> None:
    """Refuse a plan that does not know a run of a cell: tables would leave it out."""
    options = of_cell["options"]
    if unknown := {*options["methods"], *options["controls"]} - plan.labels.keys():
        raise Unsound(path, f"does not know {', '.join(sorted(unknown))} of {of_cell['cell']}")
