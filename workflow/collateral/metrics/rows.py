"""The long tables: one row a number."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collateral.core.split import Split

COST_COLUMNS = ("cell", "class", "fraction", "seed", "run", "kind", "metric", "value")
COLUMNS = (*COST_COLUMNS, "status")

Row = dict[str, str | int | float]


@dataclass(frozen=True)
class Numbers:
    """Named numbers of a run: of one seed, or over all seeds where `seed` is None."""

    run: str
    kind: str
    seed: int | None
    values: Mapping[str, float]
    status: str = "ok"


def rows_of(
    cell: str, split: Split, numbers: Iterable[Numbers], columns: Sequence[str] = COLUMNS
) -> list[Row]:
    """Return the rows of a cell, sorted by run, seed and metric; empty where undefined."""
    rows = [
        {
            "cell": cell,
            "class": split.chosen.get("class", ""),
            "fraction": split.chosen.get("fraction", ""),
            "seed": "" if of_run.seed is None else of_run.seed,
            "run": of_run.run,
            "kind": of_run.kind,
            "metric": metric,
            # A Python float: numpy's own is written with its type's name around it.
            "value": float(value) if math.isfinite(value) else "",
            "status": of_run.status,
        }
        for of_run in sorted(numbers, key=_place)
        for metric, value in sorted(of_run.values.items())
    ]
    return [{column: row[column] for column in columns} for row in rows]


def _place(numbers: Numbers) -> tuple[str, int]:
    return numbers.run, -1 if numbers.seed is None else numbers.seed
