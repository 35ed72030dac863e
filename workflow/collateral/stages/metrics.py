"""Compute all metrics and costs of a cell from the cached outputs of its runs."""

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated

from collateral.findings.metric_index import find_metric
from collateral.findings.registry import cell_numbers, with_part, write_problems
from collateral.plan.fingerprint import fingerprint
from collateral.plugins.find import FINDING
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.provenance import INPUTS, hash_files, write_record
from collateral.results.row_cache import RowCache
from collateral.results.table import COLUMNS, COST_COLUMNS, write_cell

# Fields of CellResults that the record does not list among the options.
NOT_OPTIONS = {"folder", "cell", "reference", "_known"}


def metrics(
    *,
    results: CellResults,
    fresh: Annotated[bool, "compute every number again"] = False,
    out: Annotated[Path, "metrics.csv"],
    costs: Annotated[Path, "costs.csv"],
    problems: Annotated[Path, "problems.json"],
) -> None:
    """Compute all numbers of the cell; write metrics, costs, and the findings that failed."""
    results.check()
    findings = with_part("numbers", results.reference)
    code = {name: fingerprint([FINDING.module(name, "numbers")]) for name in findings}
    rows, failed = cell_numbers(results, None if fresh else RowCache(results, code))
    cost_rows = [row for row in rows if find_metric(row.metric).is_cost]
    others = [row for row in rows if not find_metric(row.metric).is_cost]
    write_cell(out, results, others, COLUMNS)
    write_cell(costs, results, cost_rows, COST_COLUMNS)
    write_problems(problems, failed)
    write_records(results, out, costs, problems)


def warm_up() -> None:
    """Import the findings and hash their code in advance: this is half the work of a small cell."""
    fingerprint([import_module(name).__name__ for name in FINDING.parts("numbers")])


def write_records(cell: CellResults, out: Path, costs: Path, problems: Path) -> None:
    """Write the records of both tables: their inputs, and the options to compute metrics again."""
    root = cell.folder
    files = (layout.LABELS, layout.SPLIT, layout.NEIGHBOURS)
    cells = dict.fromkeys([cell.name, *cell.rounds])
    inputs = [root / name.format(cell=one) for one in cells for name in files]
    about = {"cell": cell.name, INPUTS: hash_files([*inputs, *cell.records()], root)}
    write_record(layout.record_path(costs), about, root=root, files=[costs])
    names = [field.name for field in fields(cell) if field.name not in NOT_OPTIONS]
    options = {name: list(getattr(cell, name)) for name in names}
    reference = {} if cell.reference == layout.RETRAIN else {"reference": cell.reference}
    record = {**about, "options": options | reference}
    write_record(layout.record_path(out), record, root=root, files=[out, problems])
