"""The affected classes: each run's accuracies minus Retrain's, as bars."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from collateral.contract.metrics import Metric
from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import ZERO
from collateral.findings._shared.style import (
    NOISE,
    NOISE_LABEL,
    WIDTH,
    Look,
    annotate,
    looks,
    style,
)
from collateral.findings.accuracy.prepared import RATES, bounds, caption, differences, titles
from collateral.results.table import CellTable

GROUP_WIDTH = 0.84
WHOLE = Metric("", "", "points", digits=0)  # of the numbers at the bars


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the bars of the affected classes, where there are runs."""
    if looks(cell) and not set(RATES).isdisjoint(cell.metrics(cell.reference)):
        yield Picture("affected", draw(cell), caption(cell))


@style()
def draw(cell: CellTable) -> Figure:
    """Draw a group of bars for RA, UA and TA of the affected classes."""
    fig = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    axes = fig.subplots()
    axes.grid(axis="y")
    axes.axhline(0, **ZERO)
    drawn = looks(cell)
    by_run = dict(iter(differences(cell, list(drawn)).groupby("run")))
    for place, (run, look) in enumerate(drawn.items()):
        _draw_bars(axes, by_run[run], look, (place, len(drawn)))
    _draw_noise(axes, np.array(bounds(cell)))
    axes.set_xticks(range(len(RATES)), titles(cell))
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.55, len(RATES) - 0.45)
    axes.use_sticky_edges = False
    axes.margins(y=0.1)  # room for the numbers
    axes.set_ylabel(cell.said("Unlearned − Retrain (points)"))
    annotate(fig, axes, cell, cell.said("Below zero: less accurate than Retrain."))
    return fig


def _draw_bars(axes: Axes, rows: pd.DataFrame, look: Look, slot: tuple[int, int]) -> None:
    place, num_runs = slot
    width = GROUP_WIDTH / num_runs
    x = np.arange(len(RATES)) - GROUP_WIDTH / 2 + (place + 0.5) * width
    bars = axes.bar(
        x,
        rows["mean"],
        0.86 * width,
        yerr=np.nan_to_num(rows["error"]),
        error_kw={"ecolor": "0.2", "elinewidth": 0.8},
        label=rows["label"].iloc[0],
        **look.of_bar,
    )
    texts = [WHOLE.text(height / WHOLE.factor, sign=True) for height in rows["mean"]]
    axes.bar_label(bars, texts, padding=2, fontsize=6)


def _draw_noise(axes: Axes, limits: NDArray[np.float64]) -> None:
    if not np.isnan(limits).all():
        axes.bar(range(len(limits)), 2 * limits, 0.96, -limits, label=NOISE_LABEL, **NOISE)
