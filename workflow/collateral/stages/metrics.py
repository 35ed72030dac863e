"""Compute all metrics and costs of a cell from the cached outputs of its runs."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from collateral.findings.metric_index import find_metric
from collateral.findings.registry import cell_numbers, with_part, write_problems
from collateral.plan.fingerprint import fingerprint
from collateral.plugins.find import FINDING
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.provenance import INPUTS, hash_files, write_record
from collateral.results.row_cache import RowCache
from collateral.results.table import COLUMNS, COST_COLUMNS, write_cell

# Options of the stage that are also fields of CellResults.
LISTS = (
    *("seeds", "base_seeds"),
    *("tuned", "tracked", "support_sized", "exposed", "attacks", "probed", "margins", "looks"),
    *("groups", "positive", "rounds"),
)


def metrics(
    *,
    folder: Annotated[Path, "the benchmark's"],
    cell: Annotated[str, "name of the cell"],
    seeds: Annotated[Sequence[int], "seeds of the runs"],
    base_seeds: Annotated[Sequence[int], "whose base each seed starts from"],
    methods: Annotated[Sequence[str], "runs of methods"] = (),
    controls: Annotated[Sequence[str], "runs of controls"] = (),
    tuned: Annotated[Sequence[str], "methods that were tuned"] = (),
    tracked: Annotated[Sequence[str], "runs measured after every epoch"] = (),
    support_sized: Annotated[Sequence[str], "LTD, if its support was"] = (),
    exposed: Annotated[Sequence[str], "methods on shadow models"] = (),
    attacks: Annotated[Sequence[str], "on membership"] = (),
    probed: Annotated[Sequence[str], "probes of the models"] = (),
    margins: Annotated[Sequence[str], "stated margins in points, as ua=5"] = (),
    looks: Annotated[Sequence[int], "numbers of seeds at which verdicts are looked at"] = (),
    groups: Annotated[Sequence[str], "columns whose values are groups of examples"] = (),
    positive: Annotated[Sequence[str], "class whose false negatives are counted"] = (),
    rounds: Annotated[Sequence[str], "cells of all rounds, if this is the last"] = (),
    reference: Annotated[str, "the run that all others are compared with"] = layout.RETRAIN,
    fresh: Annotated[bool, "compute every number again"] = False,
    out: Annotated[Path, "metrics.csv"],
    costs: Annotated[Path, "costs.csv"],
    problems: Annotated[Path, "problems.json"],
) -> None:
    """Compute all numbers of the cell; write metrics, costs, and the findings that failed."""
    results = CellResults(
        folder=folder,
        name=cell,
        seeds=tuple(seeds),
        base_seeds=tuple(base_seeds),
        kinds=dict.fromkeys(methods, "method") | dict.fromkeys(controls, "control"),
        tuned=tuple(tuned),
        tracked=tuple(tracked),
        support_sized=tuple(support_sized),
        exposed=tuple(exposed),
        attacks=tuple(attacks),
        probed=tuple(probed),
        margins=tuple(margins),
        looks=tuple(looks),
        groups=tuple(groups),
        positive=tuple(positive),
        rounds=tuple(rounds),
        reference=reference,
    )
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
    """Import the findings and hash their code, which takes half of the time of a small cell."""
    fingerprint([import_module(name).__name__ for name in FINDING.parts("numbers")])


def write_records(cell: CellResults, out: Path, costs: Path, problems: Path) -> None:
    """Write the records: the inputs of the numbers, and the options to compute them again."""
    root = cell.folder
    files = (layout.LABELS, layout.SPLIT, layout.NEIGHBOURS)
    cells = dict.fromkeys([cell.name, *cell.rounds])
    inputs = [root / name.format(cell=one) for one in cells for name in files]
    about = {"cell": cell.name, INPUTS: hash_files([*inputs, *cell.records()], root)}
    write_record(layout.record_path(costs), about, root=root, files=[costs])
    options: dict[str, Any] = {name: list(getattr(cell, name)) for name in LISTS}
    for kind in ("method", "control"):
        options[f"{kind}s"] = [run for run, its_kind in cell.kinds.items() if its_kind == kind]
    if cell.reference != layout.RETRAIN:
        options["reference"] = cell.reference
    about["options"] = options
    write_record(layout.record_path(out), about, root=root, files=[out, problems])
