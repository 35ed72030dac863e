"""A number of a run along an axis, with a band over seeds, held against Retrain's level."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from collateral.findings._shared.style import NOISE, NOISE_LABEL, Look
from collateral.findings._shared.compare import chance
from collateral.results.table import REFERENCE, Cell, mean, standard_error

BAND = "Bands: standard error"
TICKS = MaxNLocator(5, steps=[1, 2, 5, 10])
LEVEL: dict[str, Any] = {"color": "0.3", "linestyle": "--", "linewidth": 1}  # of Retrain
LEAST_HEIGHT = 5.0  # points that a panel covers at least, so that noise alone does not fill it


def draw_line(
    axes: Axes, x: Sequence[float], values: Sequence[NDArray[np.float64]], look: Look, label: str
) -> None:
    """Draw the mean over seeds at every place, and its standard error as a band."""
    means = np.array([mean(of_seeds) for of_seeds in values])
    errors = np.nan_to_num([standard_error(of_seeds) for of_seeds in values])
    # With an edge: the band of a black line is grey, as the noise is.
    band = axes.fill_between(x, means - errors, means + errors, linewidth=0.6)
    band.set(facecolor=(look.colour, 0.18), edgecolor=(look.colour, 0.5))
    axes.plot(x, means, label=label, **look.of_line)


def draw_level(axes: Axes, cell: Cell, metric: str) -> None:
    """Draw Retrain's mean, dashed, and around it where 95 % of other retrainings' means lie."""
    level = 100 * mean(cell.values(REFERENCE, metric))
    limit = 100 * chance(cell, metric)
    if np.isnan(level):
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", color="0.5")
        axes.set_yticks([])
        return
    axes.axhline(level, label="Retrain", **LEVEL)
    if not np.isnan(limit):
        # No rate is below 0 or above 100.
        axes.axhspan(max(level - limit, 0), min(level + limit, 100), label=NOISE_LABEL, **NOISE)


def fit_rates(axes: Axes) -> None:
    """Give a panel of rates some height, and no room above 100 or below 0."""
    low, high = axes.dataLim.intervaly
    if not np.isfinite(low):
        return  # nothing is drawn
    missing = max(LEAST_HEIGHT - (high - low), 0) / 2
    low, high = low - missing, high + missing
    low, high = max(low - max(high - 100, 0), 0), min(high, 100)
    edge = 0.05 * (high - low)
    low, high = low - edge, high + edge
    ticks = TICKS.tick_values(low, high)
    axes.set_yticks([tick for tick in ticks if max(low, 0) <= tick <= min(high, 100)])
    axes.set_ylim(low, high)
