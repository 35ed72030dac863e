"""The difference from Retrain as a function of similarity to the forget set."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.contract.pictures import Picture
from collateral.findings._shared.compare import chance_by_sd
from collateral.findings._shared.panels import BARS, ZERO, Bins, draw_counts, draw_line
from collateral.findings._shared.style import NOISE, NOISE_LABEL, WIDTH, annotate, looks, style
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable, mean

SETS = {"retain": "Retained examples", "test": "Test examples"}
MEASURES = {"delta_acc": "Accuracy", "delta_conf": "True-class confidence"}
CAPTION = (
    "Difference from Retrain by similarity to the forget set (where several classes are affected, "
    "to the nearest one's forgotten examples), seed i against seed i, in ten bins of equal width; "
    "an empty bin is a gap. Grey: where 95 % of differences between retrainings lie; a line inside "
    "it is no finding. Below: examples per bin, mean over seeds, on a logarithmic scale."
)
LEAST_REACH = 5.0  # points on either side of zero, so that noise alone does not fill the panel


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figure of similarity, where there are bins and runs."""
    if looks(cell) and cell.indices(REFERENCE, "bin_low", "retain"):
        yield Picture("similarity", draw(cell), CAPTION)


@style()
def draw(cell: CellTable) -> Figure:
    """Draw accuracy over confidence, retained beside test, and the bins' sizes below."""
    fig = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    axes = fig.subplots(3, 2, sharex="col", sharey="row", height_ratios=(4, 4, 1))
    for column, (name, title) in enumerate(SETS.items()):
        bins = _bins(cell, name)
        for row, metric in enumerate(MEASURES):
            _draw_panel(axes[row, column], cell, metric, name, bins)
        draw_counts(axes[2, column], bins, len(cell.seeds))
        axes[0, column].set_title(title)
    for row, label in enumerate(MEASURES.values()):
        axes[row, 0].set_ylabel(f"{label}:\nRetrain − unlearned (points)")
    axes[2, 0].set_ylabel("Examples")
    fig.align_ylabels(axes[:, 0])
    annotate(fig, axes[0, 0], cell, "Above zero: less accurate, or less confident, than Retrain.")
    return fig


def _bins(cell: CellTable, name: str) -> Bins:
    """Return the bins of the set `name`."""
    indices = cell.indices(REFERENCE, "bin_low", name)
    low = [cell.number(REFERENCE, "bin_low", name, b) for b in indices]
    high = cell.number(REFERENCE, "bin_high", name, indices[-1])
    counts = [mean(cell.values(REFERENCE, "bin_count", name, b)) for b in indices]
    return Bins(np.array([*low, high]), np.array(counts))


def _draw_panel(axes: Axes, cell: CellTable, metric: str, name: str, bins: Bins) -> None:
    _draw_noise(axes, cell, metric, name, bins)
    axes.grid(axis="y")
    axes.axhline(0, **ZERO)
    drawn, factor = looks(cell), metric_of(metric).factor
    # Side by side within a third of the bin: error bars at one place hide each other.
    shifts = (np.arange(len(drawn)) - (len(drawn) - 1) / 2) / max(len(drawn) - 1, 1) / 3
    for (run, look), shift in zip(drawn.items(), shifts, strict=True):
        values = [factor * cell.values(run, metric, name, b) for b in range(len(bins.counts))]
        x = bins.centres + shift * bins.widths
        draw_line(axes, x, values, look, cell.labels[run], BARS)


def _draw_noise(axes: Axes, cell: CellTable, metric: str, name: str, bins: Bins) -> None:
    chances = [chance_by_sd(cell, metric, name, b) for b in range(len(bins.counts))]
    limits = metric_of(metric).factor * np.array(chances)
    if not np.isnan(limits).all():
        axes.bar(bins.centres, 2 * limits, bins.widths, -limits, label=NOISE_LABEL, **NOISE)
    # The panel is scaled to the lines: the noise of a nearly empty bin may leave it.
    axes.use_sticky_edges = False
    ends = bins.edges[[0, -1]]
    axes.dataLim.set_points(np.column_stack((ends, (-LEAST_REACH, LEAST_REACH))))
