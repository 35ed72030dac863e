"""How exposed examples are by similarity to the forget set, and the forgotten ones themselves."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import LEVEL, ZERO, Bins, draw_counts
from collateral.findings._shared.style import (
    WIDTH,
    as_text,
    look_of,
    put_legend,
    put_notes,
    style,
)
from collateral.findings.exposure.views import COVERAGE, count_models, find_attacked
from collateral.results.table import CellTable

CAPTION = (
    "U-LiRA on shadow models. Left: how much better, in AUC, retained examples can be told to have "
    "been seen after unlearning than before, by similarity to the forget set, in ten bins of equal "
    "width; below, examples per bin. Right: the AUC of the forgotten examples after unlearning."
)
READING = (
    "Left, above zero: more exposed than before. Right, 0.5: nobody can tell who was forgotten; "
    "dashed: before unlearning. Bars: intervals over {models} shadow models, right by Holm. "
    f"{COVERAGE}"
)
LEAST_REACH = 0.05  # of AUC on either side of zero, so that noise alone does not fill the panel
ROOM = 1.1


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figure, where there is a pool."""
    if find_attacked(cell) and cell.indices(cell.reference, "bin_low", "retain"):
        yield Picture("exposure", draw(cell), CAPTION)


@style()
def draw(cell: CellTable) -> Figure:
    """Draw changes over the bins' sizes, and the forgotten examples beside them."""
    runs = find_attacked(cell)
    fig = Figure(figsize=(WIDTH, max(3.6, 2.2 + 0.13 * len(runs))), layout="constrained")
    grid = fig.add_gridspec(2, 2, height_ratios=(5, 1), width_ratios=(3, 2))
    changes = fig.add_subplot(grid[0, 0])
    counts = fig.add_subplot(grid[1, 0], sharex=changes)
    bins = _bins(cell)
    _draw_changes(changes, cell, runs, bins)
    draw_counts(counts, bins, 1)
    counts.set_ylabel("Examples")
    _draw_forgotten(fig.add_subplot(grid[:, 1]), cell, runs)
    put_legend(fig, changes, f"{cell.title}: exposure to membership attacks")
    put_notes(fig, READING.format(models=count_models(cell)))
    return fig


def _bins(cell: CellTable) -> Bins:
    bins = cell.indices(cell.reference, "bin_low", "retain")
    lows = [cell.number(cell.reference, "bin_low", "retain", b) for b in bins]
    last = cell.number(cell.reference, "bin_high", "retain", bins[-1])
    counts = [cell.number(cell.reference, "exposure_count", "retain", b) for b in bins]
    return Bins(np.array([*lows, last]), np.array(counts))


def _draw_changes(axes: Axes, cell: CellTable, runs: list[str], bins: Bins) -> None:
    """Draw a line a method, side by side within a third of each bin."""
    axes.axhline(0, **ZERO)
    axes.grid(axis="y")
    shifts = (np.arange(len(runs)) - (len(runs) - 1) / 2) / max(len(runs) - 1, 1) / 3
    reach = LEAST_REACH
    for run, shift in zip(runs, shifts, strict=True):
        found = np.array([_ends(cell, run, "exposure_change", b) for b in range(len(bins.counts))])
        x, look = bins.centres + shift * bins.widths, look_of(cell, run)
        label = as_text(cell.labels[run])
        errors = _errors(found)
        axes.errorbar(x, found[:, 0], errors, label=label, elinewidth=0.6, **look.of_line)
        # Of a bin of few examples an interval may be as wide as all others together.
        far, farther = (float(np.nanmax(np.abs(part), initial=0)) for part in (found[:, 0], found))
        reach = max(reach, min(farther, 2 * far))
    axes.set_ylim(-ROOM * reach, ROOM * reach)
    axes.set_ylabel("AUC after − before")
    axes.set_title("Retained examples")
    axes.tick_params(labelbottom=False)


def _draw_forgotten(axes: Axes, cell: CellTable, runs: list[str]) -> None:
    """Draw a row a method, the first on top."""
    for place, run in enumerate(reversed(runs)):
        found = np.array([_ends(cell, run, "ulira_auc", None, "forget")])
        look = look_of(cell, run)
        axes.errorbar(
            found[:, 0],
            [place],
            xerr=_errors(found),
            color=look.colour,
            marker=look.marker,
            markersize=5,
            linewidth=0.8,
        )
    axes.axvline(0.5, **ZERO)
    axes.axvline(cell.number(cell.reference, "lira_auc", "forget"), **LEVEL)
    axes.set_yticks(range(len(runs)), [as_text(cell.labels[run]) for run in reversed(runs)])
    axes.set_xlabel("AUC")
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.grid(axis="x")
    axes.set_title("Forgotten examples")


def _ends(
    cell: CellTable, run: str, metric: str, at: int | None, set: str = "retain"
) -> list[float]:
    return [cell.number(run, f"{metric}{end}", set, at) for end in ("", "_low", "_high")]


def _errors(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the ends are from the middle, (2, n), as matplotlib wants them."""
    return np.abs(found[:, 1:] - found[:, :1]).T
