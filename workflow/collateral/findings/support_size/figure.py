"""How large LTD's support should be: without Retrain, and, apart, held against it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from collateral.findings._shared.panels import LEVEL, draw_level, fit_rates
from collateral.findings.locality.figure import Bins, draw_counts
from collateral.findings._shared.style import NOISE, WIDTH, Look, annotate, look_of, style
from collateral.results.table import Cell, Runs, mean
from collateral.findings.support_size.words import Supports, span, supports_of

SIZE = "Support size k"
TINT = 0.1  # of what one seed takes
BAND = "Band: the range"
FREE = "support size, without Retrain"
AFTER = "support size after the fact: uses Retrain"
MARKS = (
    "Vertical lines: the k of the runs, and what k: auto takes (grey: the range of the seeds). "
    "Above: the least similarity to the forget set in a support of that size, mean over seeds."
)
AFTER_THE_FACT = "support-retrain"  # the one figure that may know Retrain
CAPTIONS = {
    "support-kl": "Without Retrain: how much the teacher's predictions for the forget set change "
    "from one support size to the next. KL divergence of its histogram of classes from that of the "
    "next smaller support's teacher; a histogram is the mean over the forget set of the class "
    "probabilities as the student is shown them, the largest few, renormalised. Grey: the mean KL "
    "between two seeds' teachers of one size; below it a change is no more than another seed makes "
    f"of it. {MARKS}",
    "support-accuracy": "Without Retrain: the teacher's accuracy on the forget set, and the number "
    f"of classes in its support, by the support's size. {MARKS}",
    "support-drop": "Without Retrain: accuracy that retained examples lose by one step of gradient "
    "ascent on the forget set, by similarity to it, in ten bins of equal width. Bars: mean over "
    "seeds; points: single seeds, each in its own bins. Tinted: what k: auto takes, once for each "
    "seed. Below: examples per bin, on a logarithmic scale.",
    AFTER_THE_FACT: "After the fact, because it uses Retrain: KL divergence of the teacher's "
    "histogram of classes on the forget set from Retrain's, which is treated alike (left; grey: "
    "the mean KL between two seeds' Retrains), and the teacher's accuracy on the forget set beside "
    "Retrain's UA (right; grey: where 95 % of other retrainings' means lie). Nothing is chosen "
    "by it.",
}


@style()
def draw_kl(cell: Cell, runs: Runs) -> Figure:
    """Draw how much the teacher changes from one size to the next."""
    supports, look = _given(cell, runs)
    fig = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    axes = fig.subplots()
    floors = supports.floors()
    if not np.isnan(floors).all():
        axes.fill_between(supports.sizes, floors, 0, label="Two seeds' teachers of one k", **NOISE)
    _draw_line(axes, supports, supports.values("kl_previous"), look)
    _log(axes, supports.values("kl_previous"))
    axes.set_ylabel("KL to the next smaller\nsupport's teacher (nats)")
    axes.set_xlabel(SIZE)
    _draw_marks(axes, supports)
    _write_similarities(axes, supports)
    reading = "In the grey: no more than another seed changes."
    annotate(fig, axes, cell, reading, BAND, title=FREE)
    return fig


@style()
def draw_accuracy(cell: Cell, runs: Runs) -> Figure:
    """Draw the teacher's accuracy on the forget set, and the classes of its support."""
    supports, look = _given(cell, runs)
    fig = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    upper, lower = fig.subplots(2, sharex=True, height_ratios=(3, 1))
    _draw_line(upper, supports, 100 * supports.values("teacher_ua"), look)
    _draw_line(lower, supports, supports.values("num_classes"), look)
    fit_rates(upper)
    upper.set_ylabel("Teacher's accuracy\non the forget set (%)")
    lower.set_ylabel("Classes in\nthe support")
    lower.set_ylim(bottom=0)
    lower.set_xlabel(SIZE)
    for axes in (upper, lower):
        _draw_marks(axes, supports)
    _write_similarities(upper, supports)
    fig.align_ylabels()
    annotate(fig, upper, cell, "", BAND, title=FREE)
    return fig


@style()
def draw_drop(cell: Cell, runs: Runs) -> Figure:
    """Draw whom one step of gradient ascent hurts, and what `k: auto` takes of them."""
    supports, look = _given(cell, runs)
    fig = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    upper, lower = fig.subplots(2, sharex=True, height_ratios=(3, 1))
    low, high = supports.bins("bin_low"), supports.bins("bin_high")  # (NUM_BINS, S)
    drop, counts = 100 * supports.bins("drop"), supports.bins("bin_count")
    bins = Bins(np.append(low.mean(axis=1), high[-1].mean()), counts.mean(axis=1))
    _draw_taken((upper, lower), supports, look)
    heights = [mean(of_seeds) for of_seeds in drop]
    upper.bar(bins.centres, heights, 0.92 * bins.widths, color="0.75", label="Mean over seeds")
    look_of_seeds: dict[str, Any] = {
        "color": look.colour,
        "linestyle": "",
        "marker": "o",
        "markersize": 3,
    }
    upper.plot((low + high) / 2, drop, **look_of_seeds)
    upper.plot([], [], label="Single seeds", **look_of_seeds)
    upper.axhline(0, color="0.3", linewidth=0.8)
    upper.grid(axis="y")
    upper.set_ylabel("Accuracy lost by one step\n(points)")
    draw_counts(lower, bins, len(cell.seeds))
    lower.set_ylabel("Examples")
    fig.align_ylabels()
    reading = "The stronger the tint, the more seeds take the bin."
    annotate(fig, upper, cell, reading, "Points: single seeds, in their own bins. Bars: mean", FREE)
    return fig


@style()
def draw_retrain(cell: Cell, runs: Runs) -> Figure:
    """Draw how near the teacher is to Retrain, after the fact."""
    supports, look = _given(cell, runs)
    fig = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    left, right = fig.subplots(1, 2)
    divergences = supports.values("kl_retrain")
    floor = cell.number(supports.run, "support_floor_retrain")
    if not np.isnan(floor):
        left.axhspan(0, floor, **NOISE)
    _draw_line(left, supports, divergences, look)
    _log(left, divergences)
    left.set_ylabel("KL of the teacher to Retrain (nats)")
    _draw_line(right, supports, 100 * supports.values("teacher_ua"), look)
    draw_level(right, cell, "ua")
    fit_rates(right)
    right.set_ylabel("Accuracy on the forget set (%)")
    for axes in (left, right):
        axes.set_xlabel(SIZE)
        _draw_marks(axes, supports)
    reading = "Grey: two Retrains' mean KL (left), 95 % of other retrainings' means (right)."
    left.plot([], [], label="Retrain", **LEVEL)
    annotate(fig, left, cell, reading, BAND, title=AFTER)
    return fig


def _given(cell: Cell, runs: Runs) -> tuple[Supports, Look]:
    supports = supports_of(cell)
    assert supports is not None, "no supports of several sizes"
    return supports, look_of(supports.run, runs)


def _draw_taken(panels: tuple[Axes, ...], supports: Supports, look: Look) -> None:
    """Tint what `k: auto` takes, once for each seed."""
    tint: dict[str, Any] = {"color": look.colour, "alpha": TINT, "linewidth": 0}
    for axes in panels:
        for step, top in zip(supports.steps, supports.bins("bin_high")[-1], strict=True):
            axes.axvspan(step.least_similarity, top, **tint)
    panels[0].fill_between([], [], label="Taken by k: auto", **{**tint, "alpha": 2 * TINT})


def _draw_line(axes: Axes, supports: Supports, values: NDArray[np.float64], look: Look) -> None:
    """Draw the mean over seeds by size, and the range of the seeds."""
    known = ~np.isnan(values).all(axis=1)
    x, values = np.array(supports.sizes)[known], values[known]
    means = [mean(of_seeds) for of_seeds in values]
    low, high = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
    axes.grid(axis="y")
    axes.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0)
    axes.plot(x, means, label=f"{supports.label}'s teacher", **look.of_line)


def _draw_marks(axes: Axes, supports: Supports) -> None:
    own, auto = supports.own, supports.auto
    if not np.isnan(own).all():
        label = f"k of the runs: {mean(own):.0f}"
        axes.axvline(mean(own), color="0.3", linewidth=1, label=label)
    axes.axvspan(auto.min(), auto.max(), color="0.5", alpha=0.3, linewidth=0)
    label = f"k: auto: {span(auto, '.0f')}"
    axes.axvline(mean(auto), color="0.3", linewidth=1, linestyle=":", label=label)
    axes.set_xlim(0, max([*supports.sizes, mean(auto)]) * 1.03)


def _write_similarities(axes: Axes, supports: Supports) -> None:
    """Write above the panel how similar the last example of a support still is."""
    least = supports.values("least_similarity").mean(axis=1)
    every = max(1, round(len(least) / 8))
    top = axes.secondary_xaxis("top")
    places = list(zip(supports.sizes, least, strict=True))[::every]
    top.set_xticks([size for size, _ in places], [f"{value:.2f}" for _, value in places])
    top.set_xlabel("Least similarity in the support")


def _log(axes: Axes, values: NDArray[np.float64]) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    positive = values[values > 0]
    if positive.size:
        axes.set_ylim(positive.min() / 1.5, positive.max() * 1.5)


FIGURES = {
    "support-kl": draw_kl,
    "support-accuracy": draw_accuracy,
    "support-drop": draw_drop,
    AFTER_THE_FACT: draw_retrain,
}
