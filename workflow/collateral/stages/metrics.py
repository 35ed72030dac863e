"""Compute all metrics and costs of a cell from the cached outputs of its runs."""

from importlib import import_module
from pathlib import Path

from collateral.findings.metric_index import find_metric
from collateral.findings.registry import cell_numbers, with_part, write_problems
from collateral.jobs.metrics import MetricsJob
from collateral.plan.fingerprint import fingerprint
from collateral.plugins.find import FINDING
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.record import Made
from collateral.results.row_cache import RowCache
from collateral.results.table import COLUMNS, COST_COLUMNS, write_cell
from collateral.stages._workspace import Workspace


def run(job: MetricsJob, place: Workspace) -> Made:
    """Compute all numbers of the cell; write metrics, costs, and the findings that failed."""
    write_numbers(read_results(job, place.root), place.out)
    return Made({})


def read_results(job: MetricsJob, root: Path) -> CellResults:
    """Return the results of the job's cell."""
    numbers = vars(job.numbers)
    return CellResults(folder=root, cell=job.cell, by_seed=job.by_seed, **numbers)


def write_numbers(results: CellResults, out: Path, *, fresh: bool = False) -> None:
    """Write the numbers of a cell to a folder; with `fresh`, compute every number again."""
    results.check()
    findings = with_part("numbers", results.reference)
    code = {name: fingerprint([FINDING.module(name, "numbers")]) for name in findings}
    rows, failed = cell_numbers(results, None if fresh else RowCache(results, code))
    cost_rows = [row for row in rows if find_metric(row.metric).is_cost]
    others = [row for row in rows if not find_metric(row.metric).is_cost]
    write_cell(out / layout.METRICS, results, others, COLUMNS)
    write_cell(out / layout.COSTS, results, cost_rows, COST_COLUMNS)
    write_problems(out / layout.PROBLEMS, failed)


def warm_up() -> None:
    """Import the findings and hash their code in advance: this is half the work of a small cell."""
    fingerprint([import_module(name).__name__ for name in FINDING.parts("numbers")])
