"""The difference from Retrain as a function of similarity to the forget set."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.contract.pictures import Picture
from collateral.findings._shared.captions import joined
from collateral.findings._shared.panels import BARS, ZERO, Bins, draw_counts, draw_line
from collateral.findings._shared.style import NOISE, NOISE_LABEL, WIDTH, annotate, looks, style
from collateral.findings.locality.prepared import (
    MEASURES,
    NOISE_CAPTION,
    SETS,
    beyond_the_edge,
    ends,
    prepared,
)
from collateral.results.table import CellTable

CAPTION = (
    "Difference from Retrain by similarity to the forget set (where several classes are affected, "
    "to the nearest one's forgotten examples), seed i against seed i, in ten bins of equal width; "
    "an empty bin is a gap. Below: examples per bin, mean over seeds, on a logarithmic scale."
)


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figure of similarity, where there are bins and runs."""
    if looks(cell) and cell.indices(cell.reference, "bin_low", "retain"):
        noise = NOISE_CAPTION if cell.has_retrain else ""
        yield Picture("similarity", draw(cell), joined(cell.said(CAPTION), noise))


@style()
def draw(cell: CellTable) -> Figure:
    """Draw accuracy over confidence, retained beside test, and the bins' sizes below."""
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    axes = fig.subplots(3, 2, sharex="col", sharey="row", height_ratios=(4, 4, 1))
    found = prepared(cell)
    panels = dict(iter(found.groupby(["set", "metric"])))
    limits = ends(cell, found)
    for column, (name, title) in enumerate(SETS.items()):
        for row, metric in enumerate(MEASURES):
            _draw_panel(axes[row, column], cell, panels[name, metric])
            axes[row, column].set_ylim(limits[metric])
        bins, _ = _bins(panels[name, metric])
        draw_counts(axes[2, column], bins, len(cell.seeds))
        axes[0, column].set_title(title)
    for row, label in enumerate(MEASURES.values()):
        axes[row, 0].set_ylabel(cell.said(f"{label}:\nRetrain − unlearned (points)"))
    axes[2, 0].set_ylabel("Examples")
    fig.align_ylabels(axes[:, 0])
    reading = "Above zero: less accurate, or less confident, than Retrain."
    cut = beyond_the_edge(cell, "cut off at the edge")
    annotate(fig, axes[0, 0], cell, cell.said(reading) + cut)
    return fig


def _bins(rows: pd.DataFrame) -> tuple[Bins, np.ndarray]:
    """Return the bins of a panel, and what chance explains in each."""
    bins = rows.drop_duplicates("bin")
    edges = np.array([*bins["low"], bins["high"].iloc[-1]])
    return Bins(edges, bins["count"].to_numpy()), bins["chance"].to_numpy()


def _draw_panel(axes: Axes, cell: CellTable, rows: pd.DataFrame) -> None:
    bins, limits = _bins(rows)
    _draw_noise(axes, bins, limits)
    axes.grid(axis="y")
    axes.axhline(0, **ZERO)
    drawn = looks(cell)
    # Side by side within a third of the bin: error bars at one place hide each other.
    shifts = (np.arange(len(drawn)) - (len(drawn) - 1) / 2) / max(len(drawn) - 1, 1) / 3
    for (run, look), shift in zip(drawn.items(), shifts, strict=True):
        by_bin = rows[rows["run"] == run].pivot(index="bin", columns="seed", values="value")
        x = bins.centres + shift * bins.widths
        draw_line(axes, x, by_bin.to_numpy(), look, cell.labels[run], BARS)


def _draw_noise(axes: Axes, bins: Bins, limits: np.ndarray) -> None:
    if not np.isnan(limits).all():
        axes.bar(bins.centres, 2 * limits, bins.widths, -limits, label=NOISE_LABEL, **NOISE)
