"""Turn the cached outputs of a cell's runs into its metrics and costs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from collateral.core.dataset import Labels
from collateral.core.files import read_json, write_rows
from collateral.core.neighbours import Neighbours
from collateral.core.outputs import ModelOutputs
from collateral.core.split import Split
from collateral.metrics.cell import cell_rows
from collateral.metrics.cost import costs
from collateral.metrics.result import Cell, Result
from collateral.metrics.rows import COLUMNS, COST_COLUMNS, Numbers, rows_of

RETRAIN = "retrain"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--labels", type=Path, required=True, help="labels.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--neighbours", type=Path, required=True, help="neighbours.npz")
    parser.add_argument("--cell-folder", type=Path, required=True, help="holds seed-<s>/<run>/")
    parser.add_argument("--cell", required=True, help="name of the cell")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--runs", nargs="+", required=True, help="all but retrain")
    parser.add_argument("--out", type=Path, required=True, help="metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="costs.csv")


def run(args: Namespace) -> None:
    """Read the cell's runs one at a time; write its metrics and costs."""
    split = Split.load(args.split)
    cell = Cell(args.cell, Labels.load(args.labels), split, Neighbours.load(args.neighbours))
    if cell.neighbours.seeds.tolist() != args.seeds:
        found = cell.neighbours.seeds.tolist()
        raise ValueError(f"{args.neighbours}: of seeds {found}, not {args.seeds}; make it again")
    retrained = _results(args.cell_folder, [RETRAIN], args.seeds)
    results = _results(args.cell_folder, args.runs, args.seeds)
    write_rows(args.out, COLUMNS, cell_rows(cell, retrained, results))
    numbers = _costs(args.cell_folder, [RETRAIN, *args.runs], args.seeds)
    write_rows(args.costs, COST_COLUMNS, rows_of(args.cell, split, numbers, COST_COLUMNS))


def _results(cell_folder: Path, runs: list[str], seeds: list[int]) -> Iterator[Result]:
    for folder in _folders(cell_folder, runs, seeds):
        record = read_json(folder / "record.json")
        yield Result(
            run=record["run"],
            kind=record["kind"],
            seed=record["seed"],
            status=record["status"],
            outputs=ModelOutputs.load(folder / "outputs.npz"),
            extra=record["extra"],
        )


def _costs(cell_folder: Path, runs: list[str], seeds: list[int]) -> Iterator[Numbers]:
    for folder in _folders(cell_folder, runs, seeds):
        record, cost = read_json(folder / "record.json"), read_json(folder / "cost.json")
        yield Numbers(record["run"], record["kind"], record["seed"], costs(cost))


def _folders(cell_folder: Path, runs: list[str], seeds: list[int]) -> Iterator[Path]:
    for name in runs:
        for seed in seeds:
            yield cell_folder / f"seed-{seed}" / name
