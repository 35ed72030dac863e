"""Provenance of the page's numbers: rows of the long tables, and records of the runs."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from collateral.contract.metrics import DIGITS as DIGITS_OF
from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict.sentences import NAMES
from collateral.results import layout
from collateral.results.provenance import read_record
from collateral.results.table import BenchmarkTable, CellTable

# Keys of a record that the page shows: common to all seeds, and per seed.
OF_RUN = ("method", "model", "params", "code", "versions", "numerics")
OF_SEED = ("place", "status", "inputs", "files")
HASH = 12  # number of characters of a hash that the page shows
# Caption of the table of runs.
CAPTION = (
    "On the first seed; Original is the base model. Tuned: chosen among the values in parentheses, "
    "without Retrain (table of tuning). From the config: stated there."
)
DIGITS = 4  # significant digits of a value; the long table has all digits

# Rows of the long tables (file, seed, line number and value) by cell and source link.
Rows = dict[tuple[str, Source], list[tuple[str, str, int, str]]]


def index_rows(folder: Path) -> Rows:
    """Return the rows of both long tables (metrics, costs) by cell and source link."""
    found: Rows = defaultdict(list)
    for name in (layout.METRICS, layout.COSTS):
        with (folder / name).open(newline="", encoding="utf-8") as rows:
            for line, row in enumerate(csv.DictReader(rows), 2):
                source = Source(row["run"], row["metric"], row["set"], row["at"])
                found[row["cell"], source].append((name, row["seed"], line, row["value"]))
    return found


def provenance(
    folder: Path, cell: CellTable | None, sources: Iterable[Source], rows: Rows
) -> dict[str, Any]:
    """Return the long-table rows from which the page's numbers come, and the records of the runs.

    Without a cell, the rows are those of numbers over all cells, and there are no records.
    """
    name = cell.name if cell else ""
    places = {source: (name, replace(source, cell="")) for source in sources}
    found = {source: rows[place] for source, place in places.items() if place in rows}
    runs = sorted({source.run for source in found}) if cell else []
    records = {run: _describe_run(read_records(folder, cell, run)) for run in runs if cell}
    return {
        "numbers": {str(source): _encode(own) for source, own in found.items()},
        "runs": {run: record for run, record in records.items() if record},
    }


def _encode(rows: list[tuple[str, str, int, str]]) -> list[tuple[str, str, int, float | str]]:
    """Return the file, seed, line number and rounded value of each row.

    To make the page smaller, a line number is counted from the line of the previous row.
    """
    before = [0, *(line for _, _, line, _ in rows)]
    return [
        (file, seed, line - last, float(f"{float(value):.{DIGITS}g}") if value else "")
        for last, (file, seed, line, value) in zip(before, rows, strict=False)
    ]


def describe_metrics(sources: Iterable[Source], table: BenchmarkTable) -> dict[str, list[Any]]:
    """Return label, description, unit, factor and digits of every metric among the source links.

    The factor converts a stored number to the unit; the digits are None if they depend on it.
    """
    found = {source.metric: find_metric(source.metric) for source in sources}
    reference = table.reference_label
    return {
        name: [
            metric.label,
            metric.describe(reference),
            metric.unit,
            metric.factor,
            DIGITS_OF[metric.unit] if metric.digits is None else metric.digits,
        ]
        for name, metric in found.items()
    }


def name_places(table: BenchmarkTable) -> dict[str, dict[str, str]]:
    """Return the words of the page for the keys of a source link: runs, sets, and measures."""
    sets = {"retain": "retained examples", "test": "test examples", "forget": "forgotten examples"}
    gaps = {name: find_metric(name).label for name in TERMS}
    runs = {table.reference: table.reference_label, **table.plan.labels}
    return {"runs": runs, "sets": sets, "at": {**NAMES, **gaps}}


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


def read_records(folder: Path, cell: CellTable, run: str) -> dict[int, dict[str, Any]]:
    """Return the records of all seeds of a run that have one, each with its path."""
    place = f"{layout.run_folder(run)}/{layout.RECORD}"
    files = {seed: folder / place.format(cell=cell.name, seed=seed, run=run) for seed in cell.seeds}
    return {
        seed: {"place": file.relative_to(folder).as_posix(), **read_record(file, folder)}
        for seed, file in files.items()
        if file.exists()
    }


def _describe_run(records: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """Return the record entries that all seeds of a run share, and the entries of each seed."""
    if not records:
        return {}
    first = next(iter(records.values()))
    return {
        "about": {key: first[key] for key in OF_RUN if key in first},
        "seeds": {str(seed): _seed_fields(record) for seed, record in records.items()},
    }


def _seed_fields(record: dict[str, Any]) -> dict[str, Any]:
    fields = {key: record[key] for key in OF_SEED if key in record}
    for key in ("inputs", "files"):
        fields[key] = {name: str(value)[:HASH] for name, value in fields.get(key, {}).items()}
    return fields


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run as texts, by the origin of their values."""

    method: str  # name of the method's code, or of the model
    tuned: str  # tuned parameters, each with the values that were tried
    given: str  # parameters that the config states
    defaults: str  # all other parameters


def list_parameters(folder: Path, cell: CellTable) -> dict[str, Parameters]:
    """Return the parameters of each run on the first seed; runs without a record are left out."""
    records = {run: first_record(folder, cell, run) for run in cell.labels}
    return {run: _sort_parameters(cell, run, record) for run, record in records.items() if record}


def _sort_parameters(cell: CellTable, run: str, record: Mapping[str, Any]) -> Parameters:
    method = str(record.get("method", record.get("model", EMPTY)))
    own = record.get("weights") or {}  # record of the user's weight file, if any
    values = {"weights": own["name"]} if own else record.get("params", {})
    # All runs of a sweep share the tuning of one method; the varied parameter is not tuned.
    grid = cell.plan.grid(tuned) if (tuned := run.partition("@")[0]) in cell.plan.trials else []
    tried = {key: [trial[key] for trial in grid] for key in (grid[0] if grid else {})}
    varied = run.partition("@")[2].partition("=")[0]
    given = cell.plan.given.get(run, ())
    parts: dict[str, list[str]] = {"tuned": [], "given": [], "defaults": []}
    for key, value in values.items():
        text = f"{key}={_as_in_config(value)}"
        if key in tried and key != varied:
            texts = dict.fromkeys(map(_as_in_config, tried[key]))
            parts["tuned"].append(f"{text} (tried: {', '.join(texts)})")
        else:
            parts["given" if key in given else "defaults"].append(text)
    return Parameters(method, **{name: ", ".join(texts) for name, texts in parts.items()})


def _as_in_config(value: Any) -> str:
    """Return a value as a config spells it: `null`, `true` and `false` in place of Python's."""
    is_word = value is None or isinstance(value, bool)
    return {None: "null", True: "true", False: "false"}[value] if is_word else str(value)


def list_runs(cell: CellTable, parameters: Mapping[str, Parameters]) -> list[Table]:
    """Return the table of the runs' parameters on the first seed; empty without records."""
    lines = [
        Line(cell.labels[run], [Field(text or EMPTY) for text in astuple(one)])
        for run, one in parameters.items()
    ]
    headings = ["Method", "Tuned", "From the config", "Defaults"]
    grid = Grid("Run", headings, [lines], is_prose=True)
    title = "What ran, and where its values come from"
    return [Table("what-ran", title, [grid], CAPTION)] if lines else []


def first_record(folder: Path, cell: CellTable, run: str) -> dict[str, Any]:
    """Return the record of a run on the first seed; empty if the run's folder is missing."""
    place = layout.run_folder(run).format(cell=cell.name, seed=cell.seeds[0], run=run)
    file = folder / place / layout.RECORD
    return read_record(file, folder) if file.parent.exists() else {}
