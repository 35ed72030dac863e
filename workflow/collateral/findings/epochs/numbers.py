"""What was measured after every epoch of a tracked run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from collateral.contract.rows import TRACKED, Row

if TYPE_CHECKING:
    from collateral.results.cell import CellResults


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers of every epoch; 0 is the base model."""
    for result in cell.results():
        if result.run in cell.tracked:
            for epoch, values in enumerate(tracked(result.history())):
                for metric, value in values.items():
                    yield Row(result.run, metric, value, result.seed, at=epoch)


def tracked(history: Iterable[Mapping[str, str]]) -> list[dict[str, float]]:
    """Return the tracked numbers in the rows of a history.csv that have some."""
    rows = [{n: text for n, text in row.items() if n.startswith(TRACKED)} for row in history]
    return [{n: float(text) for n, text in row.items()} for row in rows if any(row.values())]
