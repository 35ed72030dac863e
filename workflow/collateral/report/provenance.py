"""Where each number of the page comes from: its rows in the long tables, its runs' records."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.contract.tables import Source, Table
from collateral.findings.catalogue import metric_of
from collateral.results import layout
from collateral.results.chain import read_sealed
from collateral.results.table import CellTable

# Of a record: what the page says of a run.
OF_RUN = ("method", "model", "params", "code", "versions", "numerics")
OF_SEED = ("place", "status", "inputs", "files")
HASH = 12  # digits of a hash that are shown

Lines = dict[tuple[str, Source], dict[str, "Place"]]


@dataclass(frozen=True)
class Place:
    """A row of a long table, and the number there."""

    file: str
    line: int
    value: str


def lines_of(folder: Path) -> Lines:
    """Return where every number of a benchmark stands, by cell and what it is; each by seed."""
    found: Lines = defaultdict(dict)
    for name in (layout.METRICS, layout.COSTS):
        with (folder / name).open(newline="", encoding="utf-8") as rows:
            for line, row in enumerate(csv.DictReader(rows), 2):
                source = Source(row["run"], row["metric"], row["set"], row["at"])
                found[row["cell"], source][row["seed"]] = Place(name, line, row["value"])
    return found


def provenance(
    folder: Path, cell: CellTable, tables: Iterable[Table], lines: Lines
) -> dict[str, Any]:
    """Return what the page says of the numbers in its tables, and of the runs they belong to."""
    sources = {source: lines.get((cell.name, source), {}) for source in _sources(tables)}
    runs = sorted({source.run for source, places in sources.items() if places})
    return {
        "numbers": {
            str(source): {seed: [p.file, p.line, p.value] for seed, p in places.items()}
            for source, places in sources.items()
            if places
        },
        "metrics": {
            source.metric: [metric_of(source.metric).label, _described(cell, source.metric)]
            for source in sources
        },
        "runs": {run: record for run in runs if (record := _run(folder, cell, run))},
    }


def _described(cell: CellTable, metric: str) -> str:
    text = metric_of(metric).description
    # Of the losses, which are against whatever the reference is.
    return cell.said(text) if text.startswith("Retrain's accuracy minus") else text


def _sources(tables: Iterable[Table]) -> Iterator[Source]:
    for table in tables:
        for grid in table.grids:
            for group in grid.groups:
                yield from (f.source for line in group for f in line.fields if f.source)


def _run(folder: Path, cell: CellTable, run: str) -> dict[str, Any]:
    """Return what a run's records say: once, and of each seed."""
    place = layout.BASE if run == layout.ORIGINAL else layout.RUN
    records = {}
    for seed in cell.seeds:
        path = folder / place.format(cell=cell.name, seed=seed, run=run) / layout.RECORD
        if path.exists():
            place_of_seed = path.relative_to(folder).as_posix()
            records[str(seed)] = {"place": place_of_seed, **read_sealed(path, folder)}
    if not records:
        return {}
    first = next(iter(records.values()))
    return {
        "about": {key: first[key] for key in OF_RUN if key in first},
        "seeds": {seed: _of_seed(record) for seed, record in records.items()},
    }


def _of_seed(record: dict[str, Any]) -> dict[str, Any]:
    kept = {key: record[key] for key in OF_SEED if key in record}
    for key in ("inputs", "files"):
        kept[key] = {name: str(value)[:HASH] for name, value in kept.get(key, {}).items()}
    return kept
