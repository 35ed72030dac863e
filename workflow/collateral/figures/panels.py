"""A number of a run along an axis, with a band over seeds, held against Retrain's level."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from collateral.figures.style import NOISE, NOISE_LABEL, Look
from collateral.tables.compare import chance
from collateral.tables.results import REFERENCE, Cell, mean, standard_error

BAND = "Bands: standard error"
LEAST_HEIGHT = 5.0  # points that a panel covers at least, so that noise alone does not fill it


def draw_line(
    axes: Axes, x: Sequence[float], values: Sequence[NDArray[np.float64]], look: Look, label: str
) -> None:
    """Draw the mean over seeds at every place, and its standard error as a band."""
    means = np.array([mean(of_seeds) for of_seeds in values])
    errors = np.nan_to_num([standard_error(of_seeds) for of_seeds in values])
    axes.fill_between(x, means - errors, means + errors, color=look.colour, alpha=0.2, linewidth=0)
    axes.plot(x, means, label=label, **look.of_line)


def draw_level(axes: Axes, cell: Cell, metric: str) -> None:
    """Draw Retrain's mean, dashed, and around it where 95 % of other retrainings' means lie."""
    level = 100 * mean(cell.values(REFERENCE, metric))
    limit = 100 * chance(cell, metric)
    if np.isnan(level):
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", color="0.5")
        axes.set_yticks([])
        return
    axes.axhline(level, color="0.3", linestyle="--", linewidth=1, label="Retrain")
    if not np.isnan(limit):
        axes.axhspan(level - limit, level + limit, label=NOISE_LABEL, **NOISE)


def scale_to_lines(axes: Axes) -> None:
    """Fit a panel of rates to its lines and their bands; the noise may leave it."""
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    paths = [path for band in axes.collections for path in band.get_paths()]
    heights += [np.asarray(path.vertices)[:, 1] for path in paths]
    known = np.concatenate(heights) if heights else np.array([])
    known = known[~np.isnan(known)]
    if not known.size:
        return
    middle = (known.min() + known.max()) / 2
    half = 0.55 * max(known.max() - known.min(), LEAST_HEIGHT)
    axes.set_ylim(max(middle - half, -2), min(middle + half, 102))
