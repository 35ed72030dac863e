"""Who else gets hurt: the difference from Retrain as a function of similarity to the forget set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from collateral.findings._shared.style import NOISE, NOISE_LABEL, WIDTH, Look, annotate, looks, style
from collateral.findings.gap.numbers import student_95
from collateral.findings.locality.similarity import NUM_BINS
from collateral.results.table import REFERENCE, Cell, Runs, mean, standard_error

SETS = {"retain": "Retained examples", "test": "Test examples"}
MEASURES = {"acc": "Accuracy", "conf": "True-class confidence"}
CAPTION = (
    "Difference from Retrain as a function of similarity to the forget set, seed i against seed i, "
    "in ten bins of equal width; an empty bin is a gap. Where several classes are affected, the "
    "similarity to the nearest one's forgotten examples, however few. Zero: as accurate, or as "
    "confident, as Retrain. Grey: where 95 % of differences between retrainings lie; a line inside "
    "it is no finding. Below: examples per bin, mean over seeds, on a logarithmic scale."
)
LEAST_HEIGHT = 5.0  # points on either side of zero, so that noise alone does not fill the panel


@dataclass(frozen=True)
class Bins:
    """The bins of similarity of one set."""

    edges: NDArray[np.float64]  # (NUM_BINS + 1,)
    counts: NDArray[np.float64]  # (NUM_BINS,), examples, mean over seeds

    @property
    def centres(self) -> NDArray[np.float64]:
        """The middle of each bin."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def widths(self) -> NDArray[np.float64]:
        """The width of each bin."""
        return np.diff(self.edges)


def bins_of(cell: Cell, name: str) -> Bins:
    """Return the bins of the set `name`."""
    low = [cell.number(REFERENCE, f"bin_low:{name}:{b:02}") for b in range(NUM_BINS)]
    high = cell.number(REFERENCE, f"bin_high:{name}:{NUM_BINS - 1:02}")
    counts = [mean(cell.values(REFERENCE, f"bin_count:{name}:{b:02}")) for b in range(NUM_BINS)]
    return Bins(np.array([*low, high]), np.array(counts))


def draw(cell: Cell, runs: Runs) -> Figure:
    """Draw accuracy over confidence, retained beside test, and the bins' sizes below."""
    drawn = looks(cell, runs)
    with style():
        fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
        axes = fig.subplots(3, 2, sharex="col", sharey="row", height_ratios=(4, 4, 1))
        for column, (name, title) in enumerate(SETS.items()):
            bins = bins_of(cell, name)
            for row, measure in enumerate(MEASURES):
                _draw_noise(axes[row, column], cell, f"{measure}:{name}", bins)
                _draw_lines(axes[row, column], cell, f"{measure}:{name}", bins, drawn)
            draw_counts(axes[2, column], bins, len(cell.seeds))
            axes[0, column].set_title(title)
        for row, label in enumerate(MEASURES.values()):
            axes[row, 0].set_ylabel(f"{label}:\nRetrain − unlearned (points)")
        axes[2, 0].set_ylabel("Examples")
        fig.align_ylabels(axes[:, 0])
        annotate(
            fig, axes[0, 0], cell, "Above zero: less accurate, or less confident, than Retrain."
        )
    return fig


def _draw_noise(axes: Axes, cell: Cell, place: str, bins: Bins) -> None:
    floors = [cell.number(REFERENCE, f"floor_{place}:{b:02}") for b in range(NUM_BINS)]
    limits = 100 * student_95(len(cell.seeds)) * np.array(floors)
    if not np.isnan(limits).all():
        axes.bar(bins.centres, 2 * limits, bins.widths, -limits, label=NOISE_LABEL, **NOISE)
    axes.use_sticky_edges = False
    # The panel is scaled to the lines: the noise of a nearly empty bin may leave it.
    axes.dataLim.set_points(
        np.array([[bins.edges[0], -LEAST_HEIGHT], [bins.edges[-1], LEAST_HEIGHT]])
    )


def _draw_lines(axes: Axes, cell: Cell, place: str, bins: Bins, drawn: dict[str, Look]) -> None:
    axes.grid(axis="y")
    axes.axhline(0, color="0.3", linewidth=0.8)
    for index, (run, look) in enumerate(drawn.items()):
        values = [100 * cell.values(run, f"delta_{place}:{b:02}") for b in range(NUM_BINS)]
        means = np.array([mean(in_bin) for in_bin in values])
        errors = np.array([standard_error(in_bin) for in_bin in values])
        # Side by side within a third of the bin: error bars at one place hide each other.
        x = bins.centres + bins.widths * (index / max(len(drawn) - 1, 1) - 0.5) / 3
        axes.plot(x, means, label=cell.labels[run], **look.of_line)
        axes.vlines(x, means - errors, means + errors, color=look.colour, linewidth=0.8)


def draw_counts(axes: Axes, bins: Bins, num_seeds: int) -> None:
    """Draw how many examples each bin has, over the axis of similarity."""
    axes.bar(bins.centres, bins.counts, 0.92 * bins.widths, color="0.6")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5 / num_seeds)  # one example in one seed is a visible bar
    axes.yaxis.set_major_locator(LogLocator(numticks=4))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("Similarity to the forget set")
