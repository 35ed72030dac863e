"""Which runs set the scale of a picture: those that collapsed would squeeze all others."""

from collections.abc import Iterable, Sequence

import numpy as np

from collateral.results.table import CellTable

COLLAPSED = 0.0  # the first of the verdicts, as the long table has it
ROOM = 0.05  # of an axis, at either end


def sets_scale(cell: CellTable, run: str) -> bool:
    """Tell whether a run ended well, and its verdict is not that it collapsed."""
    return not cell.trouble(run) and cell.number(run, "verdict") != COLLAPSED


def reach(values: Iterable[float], least: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that holds some values, and at least what is in `least`."""
    known = np.array([*values, *least], dtype=float)
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    return low - ROOM * (high - low), high + ROOM * (high - low)
