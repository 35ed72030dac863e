"""How large LTD's support should be: without Retrain, and, apart, held against it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import (
    LEVEL,
    RANGE,
    RANGE_NOTE,
    ZERO,
    Bins,
    draw_counts,
    draw_level,
    draw_line,
    fit_rates,
)
from collateral.findings._shared.prepared import level_of
from collateral.findings._shared.style import NOISE, WIDTH, Look, annotate, look_of, style
from collateral.findings.catalogue import metric_of
from collateral.findings.support_size.reading import Supports, span, supports_of
from collateral.results.table import CellTable, mean

SIZE = "Support size k"
TINT = 0.1  # of what one seed takes
FREE = "support size, without Retrain"
AFTER_THE_FACT = "support size after the fact: uses Retrain"
MARKS = (
    "Vertical lines: the k of the runs, and what k: auto takes (grey: the range of the seeds). "
    "Above: the least similarity to the forget set in a support of that size, mean over seeds."
)
WHAT = {  # print and page draw
    "support-kl": "Without Retrain: how much the teacher's predictions for the forget set change "
    "from one support size to the next. KL divergence of its histogram of classes (the mean over "
    "the forget set of the class probabilities that the student is shown) from that of the next "
    "smaller support's teacher. Grey: the mean KL between two seeds' teachers of one size; below "
    "it a change is no more than another seed makes of it.",
    "support-accuracy": "Without Retrain: the teacher's accuracy on the forget set, and the number "
    "of classes in its support, by the support's size.",
    "support-drop": "Without Retrain: accuracy that retained examples lose by one step of gradient "
    "ascent on the forget set, by similarity to it, in ten bins of equal width. Bars: mean over "
    "seeds; points: single seeds, each in its own bins. Tinted: what k: auto takes, once for each "
    "seed.",
    "support-retrain": "After the fact, because it uses Retrain: KL divergence of the teacher's "
    "histogram of classes on the forget set from Retrain's (left; grey: the mean KL between two "
    "seeds' Retrains), and the teacher's accuracy on the forget set beside Retrain's UA (right; "
    "grey: where 95 % of other retrainings' means lie). Nothing is chosen by it.",
}
CAPTIONS = {
    "support-kl": f"{WHAT['support-kl']} {MARKS}",
    "support-accuracy": f"{WHAT['support-accuracy']} {MARKS}",
    "support-drop": f"{WHAT['support-drop']} Below: examples per bin, on a logarithmic scale.",
    "support-retrain": WHAT["support-retrain"],
}


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figures of the teachers, where supports of several sizes were tried."""
    if supports := supports_of(cell):
        look = look_of(cell, supports.run)
        for name, caption in CAPTIONS.items():
            yield Picture(name, DRAW[name](supports, look), caption)


@style()
def draw_kl(supports: Supports, look: Look) -> Figure:
    """Draw how much the teacher changes from one size to the next."""
    fig = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    axes = fig.subplots()
    _draw_teacher(axes, supports, supports.values("kl_previous"), look)
    _draw_marks(axes, supports)
    if not np.isnan(supports.floors).all():
        noise = {**NOISE, "label": "Two seeds' teachers of one k"}
        axes.fill_between(supports.sizes, supports.floors, 0, **noise)
    _log(axes, supports.values("kl_previous"))
    axes.set_ylabel("KL to the next smaller\nsupport's teacher (nats)")
    axes.set_xlabel(SIZE)
    _write_similarities(axes, supports)
    reading = "In the grey: no more than another seed changes."
    annotate(fig, axes, supports.cell, reading, RANGE_NOTE, title=FREE)
    return fig


@style()
def draw_accuracy(supports: Supports, look: Look) -> Figure:
    """Draw the teacher's accuracy on the forget set, and the classes of its support."""
    fig = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    upper, lower = fig.subplots(2, sharex=True, height_ratios=(3, 1))
    _draw_teacher(upper, supports, _teacher_accuracy(supports), look)
    _draw_teacher(lower, supports, supports.values("num_classes"), look)
    fit_rates(upper)
    upper.set_ylabel("Teacher's accuracy\non the forget set (%)")
    lower.set_ylabel("Classes in\nthe support")
    lower.set_ylim(bottom=0)
    lower.set_xlabel(SIZE)
    for axes in (upper, lower):
        _draw_marks(axes, supports)
    _write_similarities(upper, supports)
    fig.align_ylabels()
    annotate(fig, upper, supports.cell, "", RANGE_NOTE, title=FREE)
    return fig


@style()
def draw_drop(supports: Supports, look: Look) -> Figure:
    """Draw whom one step of gradient ascent hurts, and what `k: auto` takes of them."""
    fig = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    upper, lower = fig.subplots(2, sharex=True, height_ratios=(3, 1))
    low, high = supports.bins("bin_low"), supports.bins("bin_high")  # (bins, seeds)
    drop = metric_of("support_drop").factor * supports.bins("drop")
    counts = supports.bins("bin_count")
    bins = Bins(np.append(low.mean(axis=1), high[-1].mean()), counts.mean(axis=1))
    means = [mean(of_seeds) for of_seeds in drop]
    upper.bar(bins.centres, means, 0.92 * bins.widths, color="0.75", label="Mean over seeds")
    points: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 3}
    upper.plot((low + high) / 2, drop, color=look.colour, **points)
    upper.plot([], [], color=look.colour, label="Single seeds", **points)
    _draw_taken((upper, lower), supports, look)
    upper.axhline(0, **ZERO)
    upper.grid(axis="y")
    upper.set_ylabel("Accuracy lost by one step\n(points)")
    draw_counts(lower, bins, len(supports.cell.seeds))
    lower.set_ylabel("Examples")
    fig.align_ylabels()
    reading = "The stronger the tint, the more seeds take the bin."
    spread = "Points: single seeds, in their own bins. Bars: mean"
    annotate(fig, upper, supports.cell, reading, spread, title=FREE)
    return fig


@style()
def draw_retrain(supports: Supports, look: Look) -> Figure:
    """Draw how near the teacher is to Retrain, after the fact."""
    fig = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    left, right = fig.subplots(1, 2)
    divergences = supports.values("kl_retrain")
    _draw_teacher(left, supports, divergences, look)
    _log(left, divergences)
    floor = supports.cell.number(supports.run, "support_kl_retrains")
    if not np.isnan(floor):
        left.axhspan(0, floor, **NOISE)
    left.set_ylabel("KL of the teacher to Retrain (nats)")
    _draw_teacher(right, supports, _teacher_accuracy(supports), look)
    draw_level(right, *level_of(supports.cell, "ua"))
    fit_rates(right)
    right.set_ylabel("Accuracy on the forget set (%)")
    for axes in (left, right):
        axes.set_xlabel(SIZE)
        _draw_marks(axes, supports)
    left.plot([], [], label="Retrain", **LEVEL)
    reading = "Grey: two Retrains' mean KL (left), 95 % of other retrainings' means (right)."
    annotate(fig, left, supports.cell, reading, RANGE_NOTE, title=AFTER_THE_FACT)
    return fig


DRAW = {
    "support-kl": draw_kl,
    "support-accuracy": draw_accuracy,
    "support-drop": draw_drop,
    "support-retrain": draw_retrain,
}


def _teacher_accuracy(supports: Supports) -> NDArray[np.float64]:
    return metric_of("support_teacher_ua").factor * supports.values("teacher_ua")


def _draw_teacher(axes: Axes, supports: Supports, values: NDArray[np.float64], look: Look) -> None:
    axes.grid(axis="y")
    draw_line(axes, supports.sizes, values, look, f"{supports.label}'s teacher", RANGE)


def _draw_taken(panels: tuple[Axes, ...], supports: Supports, look: Look) -> None:
    """Tint what `k: auto` takes, once for each seed."""
    tint: dict[str, Any] = {"color": look.colour, "alpha": TINT, "linewidth": 0, "zorder": 0.5}
    for axes in panels:
        for step, top in zip(supports.steps, supports.bins("bin_high")[-1], strict=True):
            axes.axvspan(step.least_similarity, top, **tint)
    panels[0].fill_between([], [], label="Taken by k: auto", **{**tint, "alpha": 2 * TINT})


def _draw_marks(axes: Axes, supports: Supports) -> None:
    own, auto = supports.own, supports.auto
    if not np.isnan(own).all():
        label = f"k of the runs: {span(own, 'support_auto')}"
        axes.axvline(mean(own), color="0.3", linewidth=1, label=label)
    axes.axvspan(auto.min(), auto.max(), color="0.5", alpha=0.3, linewidth=0)
    label = f"k: auto: {span(auto, 'support_auto')}"
    axes.axvline(mean(auto), color="0.3", linewidth=1, linestyle=":", label=label)
    axes.set_xlim(0, max([*supports.sizes, mean(auto)]) * 1.03)


def _write_similarities(axes: Axes, supports: Supports) -> None:
    """Write above the panel how similar the last example of a support still is."""
    least = supports.values("least_similarity").mean(axis=1)
    every = max(1, round(len(least) / 8))
    top = axes.secondary_xaxis("top")
    texts = [metric_of("support_least_similarity").text(value) for value in least]
    top.set_xticks(supports.sizes[::every], texts[::every])
    top.set_xlabel("Least similarity in the support")


def _log(axes: Axes, values: NDArray[np.float64]) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    positive = values[values > 0]
    if positive.size:
        axes.set_ylim(positive.min() / 1.5, positive.max() * 1.5)
