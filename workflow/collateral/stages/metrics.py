"""Turn the cached outputs of a cell's runs into its metrics and costs: ask every finding."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from collateral.contract.plugins import FINDING
from collateral.findings.catalogue import metric_of
from collateral.findings.compute import cell_numbers, having, write_problems
from collateral.plan.fingerprint import fingerprint
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.chain import INPUTS, hashes, write_record
from collateral.results.kept import Kept
from collateral.results.table import COLUMNS, COST_COLUMNS, write_cell

# Options that say what the cell's runs are.
LISTS = (
    *("seeds", "base_seeds", "methods", "controls"),
    *("tuned", "tracked", "support_sized", "exposed", "attacks", "probed"),
)


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
    parser.add_argument("--exposed", nargs="*", default=[], help="methods on shadow models")
    parser.add_argument("--attacks", nargs="*", default=[], help="on membership")
    parser.add_argument("--probed", nargs="*", default=[], help="what models were asked once more")
    parser.add_argument("--reference", default=layout.RETRAIN, help="whom runs are held against")
    parser.add_argument("--fresh", action="store_true", help="use no number that was kept")
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
        exposed=tuple(args.exposed),
        attacks=tuple(args.attacks),
        probed=tuple(args.probed),
        reference=args.reference,
    )
    cell.check()
    asked = having("numbers", cell.reference)
    code = {name: fingerprint([FINDING.module(name, "numbers")]) for name in asked}
    rows, problems = cell_numbers(cell, None if args.fresh else Kept(cell, code))
    costs = [row for row in rows if metric_of(row.metric).is_cost]
    metrics = [row for row in rows if not metric_of(row.metric).is_cost]
    write_cell(args.out, cell, metrics, COLUMNS)
    write_cell(args.costs, cell, costs, COST_COLUMNS)
    write_problems(args.problems, problems)
    write_records(args, cell)


def write_records(args: Namespace, cell: CellResults) -> None:
    """Write what the numbers were made from, and how to make them again."""
    root = args.folder
    of_cell = (layout.LABELS, layout.SPLIT, layout.NEIGHBOURS)
    inputs = [root / name.format(cell=cell.name) for name in of_cell]
    about = {"cell": cell.name, INPUTS: hashes([*inputs, *cell.records()], root)}
    write_record(layout.record_of(args.costs), about, root=root, files=[args.costs])
    options: dict[str, Any] = {name: list(getattr(args, name)) for name in LISTS}
    if args.reference != layout.RETRAIN:
        options["reference"] = args.reference
    about["options"] = options
    write_record(layout.record_of(args.out), about, root=root, files=[args.out, args.problems])
