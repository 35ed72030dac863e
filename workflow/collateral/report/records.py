"""The page's table of runs with their methods and parameters, and the versions of packages."""

from pathlib import Path
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.results import layout
from collateral.results.chain import read_sealed
from collateral.results.table import CellTable

CAPTION = "On the first seed; Original is the base model."


def what_ran(folder: Path, cell: CellTable) -> list[Table]:
    """Return the table of parameters; empty without records."""
    records = {label: _record(folder, cell, run) for run, label in cell.labels.items()}
    lines = [Line(label, _fields(record)) for label, record in records.items() if record]
    grid = Grid("Run", ["Method", "Parameters"], [lines], is_prose=True)
    return [Table("what-ran", "What ran", [grid], CAPTION)] if lines else []


def computed_with(folder: Path, cell: CellTable) -> str:
    """Return the versions of packages of the reference run."""
    found = _record(folder, cell, cell.reference).get("versions", {})
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _record(folder: Path, cell: CellTable, run: str) -> dict[str, Any]:
    place = layout.folder_of(run).format(cell=cell.name, seed=cell.seeds[0], run=run)
    path = folder / place / layout.RECORD
    return read_sealed(path, folder) if path.parent.exists() else {}


def _fields(record: dict[str, Any]) -> list[Field]:
    own = record.get("weights") or {}  # of a model that the user supplied
    values = {"weights": own["name"]} if own else record.get("params", {})
    params = ", ".join(f"{key}={value}" for key, value in values.items())
    return [Field(str(record.get("method", record.get("model", EMPTY)))), Field(params or EMPTY)]
