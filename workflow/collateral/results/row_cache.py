"""Cache of metric rows per finding and run: if one run changes, only its rows are recomputed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from collateral.contract.rows import Row
from collateral.results import layout
from collateral.results.cell import CellResults, Result
from collateral.results.provenance import file_hash, read_signed, write_signed
from collateral.results.record import versions

OF_RUN = (layout.OUTPUTS, layout.RECORD)
OF_CELL = (layout.LABELS, layout.SPLIT, layout.NEIGHBOURS)


@dataclass(frozen=True)
class RowCache:
    """Cache of the rows that findings computed for the runs of a cell."""

    cell: CellResults
    code: Mapping[str, str]  # fingerprint of each finding

    def rows(self, finding: str, result: Result, make: Callable[[], Iterable[Row]]) -> list[Row]:
        """Return the cached rows if their inputs are unchanged; else compute and cache them."""
        folder = self.cell.folder / layout.ROW_CACHE.format(cell=self.cell.name) / finding
        path, made_of = folder / f"{result.run}-{result.seed}.json", self._made_of(finding, result)
        if (found := _read(path, made_of)) is None:
            found = list(make())
            rows = [_plain(row) for row in found]
            write_signed(path, {"made_of": made_of, "rows": rows}, self.cell.folder)
        return found

    def _made_of(self, finding: str, result: Result) -> str:
        """Return a hash of everything that the rows of a run may depend on."""
        files = [file_hash(result.folder / name) for name in OF_RUN]
        parts = [self.code[finding], result.run, result.seed, files, self._of_cell]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def _of_cell(self) -> list[Any]:
        paths = [self.cell.folder / name.format(cell=self.cell.name) for name in OF_CELL]
        return [*map(file_hash, paths), self.cell.attacks, versions()]


def _plain(row: Row) -> list[Any]:
    """Return the fields of a row with JSON types; a finding may use those of numpy."""
    at = row.at if row.at is None or isinstance(row.at, str) else int(row.at)
    return [row.run, row.metric, float(row.value), row.seed, row.set, at]


def _read(path: Path, made_of: str) -> list[Row] | None:
    """Return the rows of a file; None if it is missing, damaged, or of other inputs."""
    try:
        content = read_signed(path)
        rows = [Row(*row) for row in content["rows"]]
        return rows if content["made_of"] == made_of else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
