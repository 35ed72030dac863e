"""A number of the long table: what it is of, and its value."""

import math
from dataclasses import dataclass

At = int | str | None


@dataclass(frozen=True)
class Row:
    """One number of a run: of one seed, or over all seeds where `seed` is None."""

    run: str
    metric: str
    value: float = math.nan  # NaN: undefined
    seed: int | None = None
    set: str = ""  # retain, test or forget, where the number is of one of them
    at: At = None  # an index: a bin, an epoch, a size, a class


def undefined(row: Row) -> Row:
    """Return the row without its value."""
    return Row(row.run, row.metric, math.nan, row.seed, row.set, row.at)
