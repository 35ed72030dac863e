"""What a submission must fit: the seeds, examples and hashes of each cell of a benchmark.

They are read from results/, or from a folder that `collateral publish` wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from collateral.contract.messages import listed, printable
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels
from collateral.results.files import InvalidResultError, read_json, read_rows
from collateral.results.provenance import FILES
from collateral.results.submission import SLUG, CellStatement, hash_labels, state_references

EXAMPLES, RUNS = "examples.parquet", "runs.csv"
COLUMNS = ("benchmark", "cell", "set", "example", "label", "class")
MOST_ROWS, MOST_CLASSES = 10**8, 10**6


@dataclass(frozen=True)
class PublishedCell:
    """Seeds, labels and hashes of a cell."""

    name: str
    seeds: tuple[int, ...]
    labels: Labels
    hashes: CellStatement


def describe_cell(cell: CellResults) -> PublishedCell:
    """Return the seeds, labels and hashes of a cell in results/."""
    return PublishedCell(cell.name, tuple(cell.seeds), cell.labels, state_references(cell))


def read_published_cells(folder: Path, benchmark: str) -> dict[str, PublishedCell]:
    """Read the cells of a benchmark from a folder that `collateral publish` wrote."""
    if missing := [name for name in (RUNS, EXAMPLES) if not (folder / name).is_file()]:
        raise ValueError(f"{folder}: no {missing[0]}: not a folder of `collateral publish`")
    runs = read_rows(folder / RUNS)
    retrained = [row for row in runs if row["run"] == layout.RETRAIN]
    # These names become part of paths, also of files that are written.
    for name in (row[key] for row in retrained for key in ("benchmark", "cell")):
        if not re.fullmatch(SLUG, name):
            raise ValueError(f"{folder / RUNS}: {printable(name)} is no name of a folder")
    names = list(dict.fromkeys(row["benchmark"] for row in retrained))
    if benchmark not in names:
        raise ValueError(
            f"{folder}: no benchmark {benchmark} with Retrain; {listed('there are', names)}"
        )
    examples = _read_examples(folder / EXAMPLES)
    found: dict[str, PublishedCell] = {}
    for row in retrained:
        cell = row["cell"]
        if row["benchmark"] != benchmark or cell in found:
            continue
        seeds = {
            int(one["seed"]): int(one["base_seed"])
            for one in retrained
            if (one["benchmark"], one["cell"]) == (benchmark, cell)
        }
        is_own = (examples["benchmark"] == benchmark) & (examples["cell"] == cell)
        labels = _read_labels(examples[is_own])
        hashes = _read_hashes(folder / "results" / benchmark, cell, seeds, labels)
        found[cell] = PublishedCell(cell, tuple(seeds), labels, hashes)
    return found


def _read_examples(path: Path) -> pd.DataFrame:
    """Read the examples of all cells; a small file may state billions of equal rows."""
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise ValueError("needs pyarrow; install it: pip install 'collateral[parquet]'") from None
    try:
        if (rows := pq.read_metadata(path).num_rows) > MOST_ROWS:
            raise ValueError(f"has {rows:,} rows, more than {MOST_ROWS:,}")
        found = pd.read_parquet(path, columns=list(COLUMNS))
    except (OSError, ValueError) as error:
        raise InvalidResultError(path, str(error)) from None
    if not found["label"].between(0, MOST_CLASSES - 1).all():
        raise InvalidResultError(path, f"has labels that are not from 0 to {MOST_CLASSES - 1:,}")
    return found


def _read_labels(examples: pd.DataFrame) -> Labels:
    """Return the labels of a cell's examples in data-set order, and the names of the classes."""
    in_order = examples.sort_values("example")
    is_test = in_order["set"] == "test"
    train, test = (in_order.loc[part, "label"].to_numpy("int64") for part in (~is_test, is_test))
    classes = in_order.drop_duplicates("label").set_index("label")["class"].astype(str).to_dict()
    names = tuple(classes.get(label, str(label)) for label in range(max(classes) + 1))
    return Labels(train, test, names)


def _read_hashes(root: Path, cell: str, seeds: dict[int, int], labels: Labels) -> CellStatement:
    """Return what `state_references` returns, from the published records; `seeds` to base seeds."""
    return CellStatement(
        examples=hash_labels(labels),
        forget_set=read_json(root / layout.SPLIT.format(cell=cell))["hash"],
        base={
            seed: _read_hash(root / layout.BASE.format(seed=base)) for seed, base in seeds.items()
        },
        retrain={
            seed: _read_hash(root / layout.RUN.format(cell=cell, seed=seed, run=layout.RETRAIN))
            for seed in seeds
        },
    )


def _read_hash(folder: Path) -> str:
    """Return the hash of outputs.npz that a published record lists."""
    record = folder / layout.RECORD
    try:
        return str(read_json(record)[FILES][layout.OUTPUTS])
    except KeyError:
        raise InvalidResultError(record, f"lists no {layout.OUTPUTS}") from None
