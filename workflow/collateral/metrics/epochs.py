"""What was measured after every epoch of a tracked run."""

from collections.abc import Iterable, Mapping

from collateral.core.record import TRACKED


def epoch_numbers(history: Iterable[Mapping[str, str]]) -> dict[str, float]:
    """Return the numbers in the rows of a history.csv as `epoch_ua:05`; 00 is the base model."""
    rows = [
        {name: text for name, text in row.items() if name.startswith(TRACKED)} for row in history
    ]
    tracked = [row for row in rows if any(row.values())]
    return {
        f"{name}:{epoch:02d}": float(text)
        for epoch, row in enumerate(tracked)
        for name, text in row.items()
    }
