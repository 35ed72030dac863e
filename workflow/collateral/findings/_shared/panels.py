"""What several figures draw: a line over seeds, Retrain's level and noise, bins and their sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from collateral.findings._shared.scale import rate_limits
from collateral.findings._shared.statistics import Floats
from collateral.findings._shared.style import NOISE, NOISE_LABEL, Look

# How seaborn draws the spread over seeds.
BARS: dict[str, Any] = {"errorbar": "se", "err_style": "bars", "err_kws": {"linewidth": 0.8}}
BAND: dict[str, Any] = {"errorbar": "se", "err_style": "band", "err_kws": {"linewidth": 0}}
RANGE: dict[str, Any] = {**BAND, "errorbar": ("pi", 100)}  # from the least to the largest
BAND_NOTE = "Bands: standard error"
RANGE_NOTE = "Band: the range"

TICKS = MaxNLocator(5, steps=[1, 2, 5, 10])
ZERO: dict[str, Any] = {"color": "0.3", "linewidth": 0.8}
LEVEL: dict[str, Any] = {"color": "0.3", "linestyle": "--", "linewidth": 1}  # of Retrain


def draw_line(
    axes: Axes,
    x: Sequence[float] | Floats,
    values: Sequence[Floats] | Floats,
    look: Look,
    label: str,
    spread: dict[str, Any],
) -> None:
    """Draw the mean of `values` (places, seeds) at every place; where none is known is a gap."""
    pieces = np.cumsum([np.isnan(of_seeds).all() for of_seeds in values])
    rows = [
        (place, value, piece)
        for place, of_seeds, piece in zip(x, values, pieces, strict=True)
        for value in of_seeds
    ]
    known = pd.DataFrame(rows, columns=["x", "y", "piece"]).dropna()
    # A line a piece: seaborn bridges gaps.
    for _, piece in known.groupby("piece"):
        of_piece = {"x": piece["x"].to_numpy(), "y": piece["y"].to_numpy(), "label": label}
        sns.lineplot(**of_piece, ax=axes, legend=False, **look.of_line, **spread)
        label = "_nolegend_"


def draw_level(axes: Axes, level: float, limit: float, label: str = "Retrain") -> None:
    """Draw Retrain's mean, dashed, and around it where 95 % of other retrainings' means lie."""
    if np.isnan(level):
        axes.text(0.5, 0.5, "undefined", transform=axes.transAxes, ha="center", color="0.5")
        axes.set_yticks([])
        return
    axes.axhline(level, label=label, **LEVEL)
    if not np.isnan(limit):
        # No rate is below 0 or above 100.
        axes.axhspan(max(level - limit, 0), min(level + limit, 100), label=NOISE_LABEL, **NOISE)


def fit_rates(axes: Axes) -> None:
    """Give a panel of rates some height, and no room above 100 or below 0."""
    low, high = axes.dataLim.intervaly
    if not np.isfinite(low):
        return  # nothing is drawn
    low, high = rate_limits(low, high)
    ticks = TICKS.tick_values(low, high)
    axes.set_yticks([tick for tick in ticks if max(low, 0) <= tick <= min(high, 100)])
    axes.set_ylim(low, high)


@dataclass(frozen=True)
class Bins:
    """Bins of similarity to the forget set."""

    edges: NDArray[np.float64]  # (bins + 1,)
    counts: NDArray[np.float64]  # (bins,), examples, mean over seeds

    @property
    def centres(self) -> NDArray[np.float64]:
        """The middle of each bin."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def widths(self) -> NDArray[np.float64]:
        """The width of each bin."""
        return np.diff(self.edges)


def draw_counts(axes: Axes, bins: Bins, num_seeds: int) -> None:
    """Draw how many examples each bin has, over the axis of similarity."""
    axes.bar(bins.centres, bins.counts, 0.92 * bins.widths, color="0.6", linewidth=0)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5 / num_seeds)  # one example in one seed is a visible bar
    axes.yaxis.set_major_locator(LogLocator(numticks=4))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("Similarity to the forget set")
