"""The affected classes: each run's accuracies minus Retrain's, as bars."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.contract.pictures import Picture
from collateral.findings._shared.captions import joined
from collateral.findings._shared.compare import chance
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
from collateral.findings.accuracy import METRICS
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.results.table import CellTable, mean, standard_error

RATES = TERMS["avg_gap_affected"]
FACTOR = METRICS[RATES[0]].factor
CAPTION = (
    "Accuracy on the affected classes, those that have a forgotten example, minus Retrain's: on "
    "their retained (RA), forgotten (UA) and test examples (TA). RA is undefined where all of them "
    "is forgotten."
)
NOISE_CAPTION = "Grey: where 95 % of differences between retrainings lie."
GROUP_WIDTH = 0.84


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the bars of the affected classes, where there are runs."""
    if looks(cell) and not set(RATES).isdisjoint(cell.metrics(cell.reference)):
        noise = NOISE_CAPTION if cell.has_retrain else ""
        yield Picture("affected", draw(cell), joined(cell.said(CAPTION), noise))


@style()
def draw(cell: CellTable) -> Figure:
    """Draw a group of bars for RA, UA and TA of the affected classes."""
    fig = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    axes = fig.subplots()
    axes.grid(axis="y")
    axes.axhline(0, **ZERO)
    drawn = looks(cell)
    for place, (run, look) in enumerate(drawn.items()):
        _draw_bars(axes, cell, run, look, (place, len(drawn)))
    _draw_noise(axes, cell)
    axes.set_xticks(range(len(RATES)), [_tick(cell, metric) for metric in RATES])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.55, len(RATES) - 0.45)
    axes.use_sticky_edges = False
    axes.margins(y=0.1)  # room for the numbers
    axes.set_ylabel(cell.said("Unlearned − Retrain (points)"))
    annotate(fig, axes, cell, cell.said("Below zero: less accurate than Retrain."))
    return fig


def _tick(cell: CellTable, metric: str) -> str:
    is_undefined = np.isnan(cell.values(cell.reference, metric)).all()
    return metric_of(metric).label + ("\n(undefined)" if is_undefined else "")


def _draw_bars(axes: Axes, cell: CellTable, run: str, look: Look, slot: tuple[int, int]) -> None:
    place, num_runs = slot
    width = GROUP_WIDTH / num_runs
    x = np.arange(len(RATES)) - GROUP_WIDTH / 2 + (place + 0.5) * width
    pairs = [(cell.values(run, name), cell.values(cell.reference, name)) for name in RATES]
    heights = np.array([mean(own) - mean(retrained) for own, retrained in pairs])
    errors = np.nan_to_num([standard_error(own - retrained) for own, retrained in pairs])
    bars = axes.bar(
        x,
        FACTOR * heights,
        0.86 * width,
        yerr=FACTOR * errors,
        error_kw={"ecolor": "0.2", "elinewidth": 0.8},
        label=cell.labels[run],
        **look.of_bar,
    )
    texts = [replace(metric_of(name), digits=0) for name in RATES]
    axes.bar_label(
        bars,
        [metric.text(height, sign=True) for metric, height in zip(texts, heights, strict=True)],
        padding=2,
        fontsize=6,
    )


def _draw_noise(axes: Axes, cell: CellTable) -> None:
    limits = FACTOR * np.array([chance(cell, metric) for metric in RATES])
    if not np.isnan(limits).all():
        axes.bar(range(len(limits)), 2 * limits, 0.96, -limits, label=NOISE_LABEL, **NOISE)
