"""Turn the cached outputs of a cell's runs into its metrics and costs."""

import csv
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collateral.core.dataset import Labels
from collateral.core.diagnosis import Diagnosis
from collateral.core.files import read_json, write_rows
from collateral.core.neighbours import Neighbours
from collateral.core.outputs import ModelOutputs
from collateral.core.split import Split
from collateral.metrics.cell import cell_rows
from collateral.metrics.cost import costs
from collateral.metrics.epochs import epoch_numbers
from collateral.metrics.regret import regret
from collateral.metrics.result import Cell, Result
from collateral.metrics.rows import COLUMNS, COST_COLUMNS, Numbers, Row, rows_of
from collateral.paths import COST, DIAGNOSIS, HISTORY, SELECTED, TRIALS

RETRAIN = "retrain"
DIAGNOSE = "diagnose"
TUNING_COLUMNS = (
    *("cell", "run", "chosen", "nearest"),
    *("gap_chosen", "gap_default", "gap_nearest", "regret"),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--labels", type=Path, required=True, help="labels.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--neighbours", type=Path, required=True, help="neighbours.npz")
    parser.add_argument("--cell-folder", type=Path, required=True, help="holds seed-<s>/<run>/")
    parser.add_argument("--cell", required=True, help="name of the cell")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--runs", nargs="+", required=True, help="all but retrain")
    parser.add_argument("--tuned", nargs="*", default=[], help="methods that were tuned")
    parser.add_argument("--diagnosed", nargs="*", default=[], help="LTD, if its support size was")
    parser.add_argument("--tracked", nargs="*", default=[], help="runs measured after every epoch")
    parser.add_argument("--out", type=Path, required=True, help="metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="costs.csv")
    parser.add_argument("--tuning", type=Path, required=True, help="tuning.csv")


def run(args: Namespace) -> None:
    """Read the cell's runs one at a time; write its metrics, its tuning and its costs."""
    split = Split.load(args.split)
    cell = Cell(args.cell, Labels.load(args.labels), split, Neighbours.load(args.neighbours))
    if cell.neighbours.seeds.tolist() != args.seeds:
        found = cell.neighbours.seeds.tolist()
        raise ValueError(f"{args.neighbours}: of seeds {found}, not {args.seeds}; make it again")
    retrained = _results(args.cell_folder, [RETRAIN], args.seeds)
    results = _results(args.cell_folder, args.runs, args.seeds, args.diagnosed, args.tracked)
    rows = cell_rows(cell, retrained, results)
    write_rows(args.out, COLUMNS, rows)
    write_rows(args.tuning, TUNING_COLUMNS, _tuning(args, rows))
    numbers = [
        *_costs(args.cell_folder, [RETRAIN, *args.runs], args.seeds),
        *_tuning_costs(args.cell_folder, args.tuned, args.seeds[0]),
        *_diagnosis_costs(args.cell_folder, args.diagnosed, args.seeds),
    ]
    write_rows(args.costs, COST_COLUMNS, rows_of(args.cell, split, numbers, COST_COLUMNS))


def _tuning(args: Namespace, rows: list[Row]) -> Iterator[dict[str, object]]:
    """Yield what every tuned method's choice was, and what it cost against Retrain."""
    first = {
        str(row["metric"]): math.nan if row["value"] == "" else float(row["value"])
        for row in rows
        if row["run"] == RETRAIN and row["seed"] == args.seeds[0]
    }
    for method in args.tuned:
        folder = args.cell_folder / "tune" / method
        with (folder / TRIALS).open(newline="") as file:
            found = regret(list(csv.DictReader(file)), first)
        names = read_json(folder / SELECTED)["params"]
        chosen, nearest = (
            ", ".join(f"{name} {trial[name]}" for name in names)
            for trial in (found.chosen, found.nearest)
        )
        numbers = {name: "" if math.isnan(v) else v for name, v in found.numbers.items()}
        yield {"cell": args.cell, "run": method, "chosen": chosen, "nearest": nearest} | numbers


def _tuning_costs(cell_folder: Path, tuned: list[str], seed: int) -> Iterator[Numbers]:
    for method in tuned:
        cost = read_json(cell_folder / "tune" / method / COST)
        yield Numbers(method, "method", seed, {"tuning_seconds": cost["total_seconds"]})


def _diagnosis_costs(cell_folder: Path, runs: list[str], seeds: list[int]) -> Iterator[Numbers]:
    for run in runs:
        for seed in seeds:
            cost = read_json(cell_folder / DIAGNOSE / f"seed-{seed}" / COST)
            yield Numbers(run, "method", seed, {"diagnosis_seconds": cost["total_seconds"]})


def _results(
    cell_folder: Path,
    runs: list[str],
    seeds: list[int],
    diagnosed: Sequence[str] = (),
    tracked: Sequence[str] = (),
) -> Iterator[Result]:
    for folder in _folders(cell_folder, runs, seeds):
        record = read_json(folder / "record.json")
        epochs = _epochs(folder / HISTORY) if record["run"] in tracked else {}
        yield Result(
            run=record["run"],
            kind=record["kind"],
            seed=record["seed"],
            status=record["status"],
            outputs=ModelOutputs.load(folder / "outputs.npz"),
            extra=record["extra"] | epochs,
            diagnosis=_diagnosis(cell_folder, record) if record["run"] in diagnosed else None,
        )


def _epochs(history: Path) -> dict[str, float]:
    with history.open(newline="") as file:
        return epoch_numbers(csv.DictReader(file))


def _diagnosis(cell_folder: Path, record: Mapping[str, Any]) -> Diagnosis:
    return Diagnosis.load(cell_folder / DIAGNOSE / f"seed-{record['seed']}" / DIAGNOSIS)


def _costs(cell_folder: Path, runs: list[str], seeds: list[int]) -> Iterator[Numbers]:
    for folder in _folders(cell_folder, runs, seeds):
        record, cost = read_json(folder / "record.json"), read_json(folder / "cost.json")
        yield Numbers(record["run"], record["kind"], record["seed"], costs(cost))


def _folders(cell_folder: Path, runs: list[str], seeds: list[int]) -> Iterator[Path]:
    for name in runs:
        for seed in seeds:
            yield cell_folder / f"seed-{seed}" / name
