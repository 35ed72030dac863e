"""The affected classes: each run's accuracies minus Retrain's, as bars."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.findings._shared.style import NOISE, NOISE_LABEL, WIDTH, Look, annotate, looks, style
from collateral.findings.catalogue import METRICS
from collateral.findings._shared.compare import AFFECTED, chance
from collateral.results.table import REFERENCE, Cell, Runs, mean, standard_error

METRIC_NAMES = AFFECTED.metrics
CAPTION = (
    "Accuracy on the affected classes, those that have a forgotten example, minus Retrain's: on "
    "their retained (RA), forgotten (UA) and test examples (TA). Zero: as Retrain. Grey: where "
    "95 % of differences between retrainings lie. RA is undefined where all of them is forgotten."
)
GROUP_WIDTH = 0.84


def draw(cell: Cell, runs: Runs) -> Figure:
    """Draw a group of bars for RA, UA and TA of the affected classes."""
    drawn = looks(cell, runs)
    with style():
        fig = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        axes = fig.subplots()
        axes.grid(axis="y")
        for group, metric in enumerate(METRIC_NAMES):
            _draw_noise(axes, cell, metric, group)
        for index, (run, look) in enumerate(drawn.items()):
            _draw_bars(axes, cell, run, look, (index, len(drawn)))
        axes.axhline(0, color="0.3", linewidth=0.8)
        labels = [_tick(cell, metric) for metric in METRIC_NAMES]
        axes.set_xticks(range(len(labels)), labels)
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.55, len(labels) - 0.45)
        axes.use_sticky_edges = False
        axes.margins(y=0.1)  # room for the numbers
        axes.set_ylabel("Unlearned − Retrain (points)")
        annotate(fig, axes, cell, "Below zero: less accurate than Retrain.")
    return fig


def _tick(cell: Cell, metric: str) -> str:
    is_undefined = np.isnan(cell.values(REFERENCE, metric)).all()
    return METRICS[metric].label + ("\n(undefined)" if is_undefined else "")


def _draw_noise(axes: Axes, cell: Cell, metric: str, group: int) -> None:
    limit = 100 * chance(cell, metric)
    if not np.isnan(limit):
        label = NOISE_LABEL if group == 0 else None
        axes.bar(group, 2 * limit, 0.96, -limit, label=label, **NOISE)


def _draw_bars(axes: Axes, cell: Cell, run: str, look: Look, slot: tuple[int, int]) -> None:
    index, num_runs = slot
    width = GROUP_WIDTH / num_runs
    x = np.arange(len(METRIC_NAMES)) - GROUP_WIDTH / 2 + (index + 0.5) * width
    pairs = [(cell.values(run, name), cell.values(REFERENCE, name)) for name in METRIC_NAMES]
    heights = np.array([100 * (mean(own) - mean(retrain)) for own, retrain in pairs])
    errors = np.array([100 * standard_error(own - retrain) for own, retrain in pairs])
    axes.bar(x, heights, 0.86 * width, label=cell.labels[run], **look.of_bar)
    axes.vlines(x, heights - errors, heights + errors, color="0.2", linewidth=0.8)
    for place, height, error in zip(x, heights, np.nan_to_num(errors), strict=True):
        if not np.isnan(height):
            _write_number(axes, place, height, height + np.copysign(error, height))


def _write_number(axes: Axes, x: float, height: float, end: float) -> None:
    axes.annotate(
        f"{height:+.0f}".replace("-", "−") if abs(height) >= 0.5 else "0",
        (x, end),
        xytext=(0, np.copysign(2, height)),
        textcoords="offset points",
        ha="center",
        va="bottom" if height >= 0 else "top",
        fontsize=6,
    )
