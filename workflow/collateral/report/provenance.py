"""Provenance of the page's numbers: rows of the long tables, and records of the runs."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings.metric_index import find_metric
from collateral.results import layout
from collateral.results.provenance import read_signed
from collateral.results.table import BenchmarkTable, CellTable

# Keys of a record that the page shows: common to all seeds, and per seed.
OF_RUN = ("method", "model", "params", "code", "versions", "numerics")
OF_SEED = ("place", "status", "inputs", "files")
HASH = 12  # number of characters of a hash that the page shows
CAPTION = "On the first seed; Original is the base model."  # caption of the table of runs
DIGITS = 4  # significant digits of a value; the long table has all digits

Lines = dict[tuple[str, Source], dict[str, "Place"]]


@dataclass(frozen=True)
class Place:
    """A row of a long table: its file, its line number and its value."""

    file: str
    line: int
    value: str


def index_rows(folder: Path) -> Lines:
    """Return rows of both long tables (metrics, costs) by cell and source link, then by seed."""
    found: Lines = defaultdict(dict)
    for name in (layout.METRICS, layout.COSTS):
        with (folder / name).open(newline="", encoding="utf-8") as rows:
            for line, row in enumerate(csv.DictReader(rows), 2):
                source = Source(row["run"], row["metric"], row["set"], row["at"])
                found[row["cell"], source][row["seed"]] = Place(name, line, row["value"])
    return found


def provenance(
    folder: Path, cell: CellTable, sources: Iterable[Source], lines: Lines
) -> dict[str, Any]:
    """Return the rows of the long tables behind numbers of a cell, and the records of the runs."""
    found = _find_rows(cell.name, sources, lines)
    runs = sorted({source.run for source in found})
    return {
        **_encode(found),
        "runs": {run: record for run in runs if (record := _run(folder, cell, run))},
    }


def provenance_over_cells(sources: Iterable[Source], lines: Lines) -> dict[str, Any]:
    """Return the rows of the long tables behind numbers over all cells."""
    return {**_encode(_find_rows("", sources, lines)), "runs": {}}


def describe_metrics(sources: Iterable[Source], table: BenchmarkTable) -> dict[str, list[str]]:
    """Return the label and the description of every metric."""
    found = {source.metric: find_metric(source.metric) for source in sources}
    reference = table.reference_label
    return {name: [metric.label, metric.describe(reference)] for name, metric in found.items()}


def list_sources(tables: Iterable[Table]) -> list[Source]:
    """Return the source links of all table entries, each link once."""
    fields = (
        field
        for table in tables
        for grid in table.grids
        for group in grid.groups
        for line in group
        for field in line.fields
    )
    return list(dict.fromkeys(one for f in fields if f.source for one in (f.source, *f.also)))


def _find_rows(
    cell: str, sources: Iterable[Source], lines: Lines
) -> dict[Source, Mapping[str, Place]]:
    places = ((source, lines.get((cell, replace(source, cell="")))) for source in sources)
    return {source: found for source, found in places if found}


def _encode(found: Mapping[Source, Mapping[str, Place]]) -> dict[str, Any]:
    """Group source links by file and seeds; list line number and value of every seed.

    Lines are relative to the previous seed's line, because small numbers make the page smaller.
    """
    numbers: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for source, places in found.items():
        by_seeds = numbers.setdefault(next(iter(places.values())).file, {})
        lines = [0, *(place.line for place in places.values())]
        pairs = zip(pairwise(lines), places.values(), strict=True)
        flat = [part for (a, b), place in pairs for part in (b - a, _rounded(place.value))]
        by_seeds.setdefault(" ".join(places), {})[str(source)] = flat
    return {"numbers": numbers}


def _rounded(value: str) -> float | str:
    return float(f"{float(value):.{DIGITS}g}") if value else ""


def _run(folder: Path, cell: CellTable, run: str) -> dict[str, Any]:
    """Return the records of a run: the keys that all seeds share, and those of each seed."""
    place = layout.run_folder(run)
    records = {}
    for seed in cell.seeds:
        path = folder / place.format(cell=cell.name, seed=seed, run=run) / layout.RECORD
        if path.exists():
            place_of_seed = path.relative_to(folder).as_posix()
            records[str(seed)] = {"place": place_of_seed, **read_signed(path, folder)}
    if not records:
        return {}
    first = next(iter(records.values()))
    return {
        "about": {key: first[key] for key in OF_RUN if key in first},
        "seeds": {seed: _seed_fields(record) for seed, record in records.items()},
    }


def _seed_fields(record: dict[str, Any]) -> dict[str, Any]:
    fields = {key: record[key] for key in OF_SEED if key in record}
    for key in ("inputs", "files"):
        fields[key] = {name: str(value)[:HASH] for name, value in fields.get(key, {}).items()}
    return fields


def list_runs(folder: Path, cell: CellTable) -> list[Table]:
    """Return the table of the runs' parameters; empty without records."""
    records = {label: _record(folder, cell, run) for run, label in cell.labels.items()}
    lines = [Line(label, _fields(record)) for label, record in records.items() if record]
    grid = Grid("Run", ["Method", "Parameters"], [lines], is_prose=True)
    return [Table("what-ran", "What ran", [grid], CAPTION)] if lines else []


def describe_versions(folder: Path, cell: CellTable) -> str:
    """Return the versions of packages of the reference run."""
    found = _record(folder, cell, cell.reference).get("versions", {})
    return ", ".join(f"{name} {version}" for name, version in found.items())


def find_code(folder: Path, cell: CellTable) -> str:
    """Return the fingerprint of the code that made the reference run."""
    return str(_record(folder, cell, cell.reference).get("code", ""))


def _record(folder: Path, cell: CellTable, run: str) -> dict[str, Any]:
    place = layout.run_folder(run).format(cell=cell.name, seed=cell.seeds[0], run=run)
    path = folder / place / layout.RECORD
    return read_signed(path, folder) if path.parent.exists() else {}


def _fields(record: dict[str, Any]) -> list[Field]:
    own = record.get("weights") or {}  # record of the user's weight file, if any
    values = {"weights": own["name"]} if own else record.get("params", {})
    params = ", ".join(f"{key}={value}" for key, value in values.items())
    return [Field(str(record.get("method", record.get("model", EMPTY)))), Field(params or EMPTY)]
