"""Merge the metrics and costs of all cells, and compute the numbers over all cells."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from collateral.findings.checks import run_checks
from collateral.findings.registry import numbers_across, read_problems, write_problems
from collateral.results import layout
from collateral.results.files import InvalidResultError
from collateral.results.gates import write_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import INPUTS, hash_files, read_signed, verify, write_record
from collateral.results.table import read_tables, write_benchmark


def gather(
    *,
    # The stage finds the cells' files itself, as a command line cannot hold a thousand paths.
    folder: Annotated[Path, "folder of the benchmark"],
    out: Annotated[Path, "metrics.csv"],
    costs: Annotated[Path, "costs.csv"],
    problems: Annotated[Path, "problems.json"],
    gates: Annotated[Path, "gates.json"],
) -> None:
    """Join the cells' tables of metrics and costs, and append the numbers over all cells."""
    root = folder
    plan = BenchmarkPlan.load(root / layout.PLAN)
    names = (layout.METRICS, layout.COSTS, layout.PROBLEMS)
    metrics, cell_costs, known = ([verify(root / c / n, root) for c in plan.cells] for n in names)
    for path in metrics:
        check_plan(root / layout.PLAN, plan, read_signed(layout.record_path(path), root))
    write_benchmark(out, metrics)
    write_benchmark(costs, cell_costs)
    table = read_tables(plan, out)
    rows, failed = numbers_across(table)
    write_benchmark(out, metrics, rows)
    checks, unchecked = run_checks(table)
    write_problems(problems, [*read_problems(known), *failed, *unchecked])
    write_gates(gates, checks)
    of_metrics = (out, problems, gates), [*metrics, *known]
    for made, inputs in (of_metrics, ((costs,), cell_costs)):
        about = {INPUTS: hash_files([root / layout.PLAN, *inputs], root)}
        write_record(layout.record_path(made[0]), about, root=root, files=made)


def check_plan(path: Path, plan: BenchmarkPlan, of_cell: Mapping[str, Any]) -> None:
    """Raise if the plan lacks a run of the cell, because tables would omit the run."""
    options = of_cell["options"]
    if unknown := {*options["methods"], *options["controls"]} - plan.labels.keys():
        raise InvalidResultError(
            path, f"does not know {', '.join(sorted(unknown))} of {of_cell['cell']}"
        )
