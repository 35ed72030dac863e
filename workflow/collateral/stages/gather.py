"""Merge the metrics and costs of all cells, and compute the numbers over all cells."""

from collections.abc import Iterable
from pathlib import Path

from collateral.findings.checks import run_checks
from collateral.findings.registry import numbers_across, read_problems, write_problems
from collateral.jobs.gather import GatherJob
from collateral.results import layout
from collateral.results.gates import write_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.record import Made
from collateral.results.table import read_tables, write_benchmark
from collateral.stages._workspace import Workspace


def run(job: GatherJob, place: Workspace) -> Made:
    """Join the cells' tables of metrics and costs, and append the numbers over all cells."""
    write_numbers(place.root, job.cells, place.root)
    return Made({})


def write_numbers(root: Path, cells: Iterable[str], out: Path) -> None:
    """Write the numbers of a benchmark to a folder."""
    names = (layout.METRICS, layout.COSTS, layout.PROBLEMS)
    metrics, costs, known = ([root / cell / name for cell in cells] for name in names)
    write_benchmark(out / layout.METRICS, metrics)
    write_benchmark(out / layout.COSTS, costs)
    table = read_tables(BenchmarkPlan.load(root / layout.PLAN), out / layout.METRICS)
    rows, failed = numbers_across(table)
    write_benchmark(out / layout.METRICS, metrics, rows)
    checks, unchecked = run_checks(table)
    write_problems(out / layout.PROBLEMS, [*read_problems(known), *failed, *unchecked])
    write_gates(out / layout.GATES, checks)
