"""Cache of metric rows per finding and run: if one run changes, only its rows are recomputed."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from collateral.contract.rows import Row
from collateral.results import layout
from collateral.results.cell import CellResults, Result
from collateral.results.plan import CellNumbers
from collateral.results.provenance import file_hash, read_signed, write_signed
from collateral.results.record import versions

RUN_INPUTS = (layout.OUTPUTS, layout.RECORD)  # files of a run from which metrics are computed
CELL_INPUTS = (layout.LABELS, layout.SPLIT, layout.NEIGHBOURS)  # files of a cell that metrics read
# Fields of CellNumbers that name runs, seeds or cells: the rows of a run depend on no other run.
NAMES = frozenset(
    (
        *("seeds", "base_seeds", "methods", "controls", "tuned", "tracked", "support_sized"),
        *("exposed", "probed", "rounds"),
    )
)
# What metrics are computed with: figures are also made where torch is not installed.
NUMERIC = ("python", "numpy", "scikit-learn", "scipy")

# Type of `RowCache.rows` if its first argument, the name of the finding, is already given.
Cached = Callable[[str, Iterable[Result], Callable[[], Iterable[Row]]], list[Row]]


@dataclass(frozen=True)
class RowCache:
    """Cache of the rows that findings compute for the runs of a cell."""

    cell: CellResults
    code: Mapping[str, str]  # fingerprint of each finding's code, by the finding's name

    def rows(
        self, finding: str, name: str, results: Iterable[Result], make: Callable[[], Iterable[Row]]
    ) -> list[Row]:
        """Return the cached rows if their inputs are unchanged; else compute and cache them.

        The rows may depend on the model outputs and records of these results only.
        """
        folder = self.cell.folder / layout.ROW_CACHE.format(cell=self.cell.name) / finding
        path = folder / f"{name}.json"
        inputs = self._inputs_hash(finding, name, results)
        if (found := _read(path, inputs)) is None:
            found = list(make())
            rows = [_plain(row) for row in found]
            write_signed(path, {"made_of": inputs, "rows": rows}, self.cell.folder)
        return found

    def _inputs_hash(self, finding: str, name: str, results: Iterable[Result]) -> str:
        """Return a hash of everything that the rows may depend on."""
        used = [
            [result.run, result.seed, *(file_hash(result.folder / file) for file in RUN_INPUTS)]
            for result in results
        ]
        parts = [self.code[finding], name, used, self._cell_inputs]
        return hashlib.sha256(json.dumps(parts, default=asdict).encode()).hexdigest()

    @cached_property
    def _cell_inputs(self) -> list[Any]:
        paths = [self.cell.folder / name.format(cell=self.cell.name) for name in CELL_INPUTS]
        # All other fields count, also a new one; near examples, for instance, depend on the looks.
        names = [one.name for one in fields(CellNumbers) if one.name not in NAMES]
        keys = {name: getattr(self.cell, name) for name in names}
        used = {name: one for name, one in versions().items() if name in NUMERIC}
        return [*map(file_hash, paths), keys, used]


def _plain(row: Row) -> list[Any]:
    """Return the fields of a row with numpy types converted to JSON types."""
    at = row.at if row.at is None or isinstance(row.at, str) else int(row.at)
    return [row.run, row.metric, float(row.value), row.seed, row.set, at]


def _read(path: Path, inputs: str) -> list[Row] | None:
    """Return the rows in a cache file; None if the file is missing, damaged or outdated."""
    try:
        content = read_signed(path)
        rows = [Row(*row) for row in content["rows"]]
        return rows if content["made_of"] == inputs else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
