"""Which runs set the scale of a picture: those that collapsed would squeeze all others."""

from collections.abc import Iterable, Sequence

import numpy as np

from collateral.results.table import CellTable

COLLAPSED = 0.0  # the first of the verdicts, as the long table has it
ROOM = 0.05  # of an axis, at either end
LEAST_HEIGHT = 5.0  # points that a panel covers at least, so that noise alone does not fill it


def sets_scale(cell: CellTable, run: str) -> bool:
    """Tell whether a run ended well, and its verdict is not that it collapsed."""
    return not cell.trouble(run) and cell.number(run, "verdict") != COLLAPSED


def reach(values: Iterable[float], least: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that holds some values, and at least what is in `least`."""
    known = np.array([*values, *least], dtype=float)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    return low - ROOM * (high - low), high + ROOM * (high - low)


def rate_limits(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis of rates: of some height, without room above 100 or below 0."""
    missing = max(LEAST_HEIGHT - (high - low), 0) / 2
    low, high = low - missing, high + missing
    low, high = max(low - max(high - 100, 0), 0), min(high, 100)
    return low - ROOM * (high - low), high + ROOM * (high - low)
