"""Accuracies after every epoch of the tracked runs, read from history.csv."""

from collections.abc import Iterable, Iterator, Mapping

from collateral.contract.rows import TRACKED, Row
from collateral.findings.inputs import CellResults


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield one accuracy per tracked run, seed, metric and epoch; epoch 0 is the base model."""
    for result in cell.results():
        if result.run in cell.tracked:
            for epoch, values in enumerate(read_tracked(result.history())):
                for metric, value in values.items():
                    yield Row(result.run, metric, value, result.seed, at=epoch)


def read_tracked(history: Iterable[Mapping[str, str]]) -> list[dict[str, float]]:
    """Return one dict (metric to accuracy) per row of history.csv; skip rows without accuracies."""
    rows = [{n: text for n, text in row.items() if n.startswith(TRACKED)} for row in history]
    return [{n: float(text) for n, text in row.items()} for row in rows if any(row.values())]
