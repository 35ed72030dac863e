"""Plots of LTD's teachers by support size, without Retrain and compared with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collateral.findings._shared.series import (
    average_seeds,
    count_examples,
    describe_failures,
    describe_seeds,
    find_level,
    find_look,
    mark_level,
)
from collateral.findings.metric_index import find_metric
from collateral.findings.support_size.views import Supports, find_supports, format_range
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_rates, fit_y
from collateral.plots.style import GREY, Look
from collateral.results.table import CellTable

SIZE = "Support size k"
LIGHT = "#bfbfbf"  # colour of the bars behind the points of a plot
TINT = 0.1  # opacity of the band of bins that `k: auto` includes in one seed
FREE = "support size, without Retrain"
AFTER_THE_FACT = "support size after the fact: uses Retrain"
TWO_SEEDS = "Two seeds' teachers of one k"
SPREAD = "Bands: 95 % intervals over seeds."
MARKS = (
    "Vertical lines: the k of the runs, and the k of k: auto (grey: its range over seeds). Above: "
    "the smallest similarity to the forget set in a support of that size, mean over seeds."
)
CAPTIONS = {
    "support-kl": "Without Retrain: how much the teacher's predictions for the forget set change "
    "from one support size to the next. KL divergence of its histogram of classes (the mean over "
    "the forget set of the class probabilities that the student learns) from that of the next "
    "smaller support's teacher. Grey line: the mean KL between two seeds' teachers of one size; a "
    f"change below it is no larger than that between seeds. {SPREAD} {MARKS}",
    "support-accuracy": "Without Retrain: the teacher's accuracy on the forget set, and the number "
    f"of classes in its support, by the support's size. {SPREAD} {MARKS}",
    "support-drop": "Without Retrain: accuracy that retained examples lose by one step of gradient "
    "ascent on the forget set, by similarity to it, in ten bins of equal width. Bars: mean over "
    "seeds with 95 % intervals; points: single seeds, each in its own bins. Tinted: the bins that "
    "k: auto takes, once for each seed. Below: examples per bin, on a logarithmic scale.",
    "support-retrain": "After the fact, because it uses Retrain: KL divergence of the teacher's "
    "histogram of classes on the forget set from Retrain's (left; grey: the mean KL between two "
    "seeds' Retrains), and the teacher's accuracy on the forget set beside Retrain's UA (right; "
    f"grey: the range of 95 % of the means of other retrainings). {SPREAD} No choice uses it.",
}


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plots of the teachers, if support sizes were compared."""
    supports = find_supports(cell)
    if not supports:
        return
    yield _plot(supports, "support-kl", [_kl_panel(supports)], FREE)
    yield _plot(supports, "support-accuracy", _accuracy_panels(supports), FREE)
    drop = _plot(supports, "support-drop", _drop_panels(supports), FREE)
    reading = "The stronger the tint, the more seeds take the bin."
    yield replace(drop, notes=[f"{reading} {describe_seeds(cell)}", *describe_failures(cell)])
    retrain = _plot(supports, "support-retrain", _retrain_panels(supports), AFTER_THE_FACT)
    yield replace(retrain, columns=2)


def _plot(supports: Supports, name: str, panels: Sequence[Panel], title: str) -> Plot:
    cell = supports.cell
    notes = [describe_seeds(cell), *describe_failures(cell)]
    return Plot(name, f"{cell.title}: {title}", CAPTIONS[name], panels, notes=notes)


def _kl_panel(supports: Supports) -> Panel:
    floors = supports.floors.tolist()
    seeds = Series(TWO_SEEDS, Look(GREY, dash="dashed", is_control=True), supports.sizes, floors)
    teacher = replace(_teacher(supports, "kl_previous"), noise=floors)
    title = "KL to the next smaller\nsupport's teacher (nats)"
    panel = _size_panel(supports, [seeds, teacher], title, " nats")
    return _logarithmic(replace(panel, x=_with_similarities(supports, panel.x)))


def _accuracy_panels(supports: Supports) -> list[Panel]:
    title = "Teacher's accuracy\non the forget set (%)"
    rates = _size_panel(supports, [_teacher(supports, "teacher_ua")], title, " %")
    x = replace(_with_similarities(supports, rates.x), title="")
    rates = replace(rates, x=x, y=replace(rates.y, limits=fit_rates(rates)))
    classes = _size_panel(supports, [_teacher(supports, "num_classes")], "Classes in\nthe support")
    y = replace(classes.y, limits=(0.0, fit_y(classes)[1]), is_whole=True)
    return [rates, replace(classes, y=y, height=0.4, number_format=".0f")]


def _retrain_panels(supports: Supports) -> list[Panel]:
    cell = supports.cell
    between = cell.number(supports.run, "support_kl_retrains")
    teacher = _teacher(supports, "kl_retrain")
    teacher = replace(teacher, noise=[between] * len(teacher.x))
    title = "KL of the teacher to Retrain (nats)"
    divergence = _logarithmic(_size_panel(supports, [teacher], title, " nats"))
    if math.isfinite(between):
        bands = [*divergence.bands, Band(high=between)]
        divergence = replace(divergence, bands=bands)
    levels, bands = mark_level(cell, "ua")
    teacher = _teacher(supports, "teacher_ua")
    teacher = replace(teacher, noise=[find_level(cell, "ua")[1]] * len(teacher.x))
    rates = _size_panel(supports, [teacher], "Accuracy on the forget set (%)", " %")
    rates = replace(rates, levels=[*rates.levels, *levels], bands=[*rates.bands, *bands])
    return [divergence, replace(rates, y=replace(rates.y, limits=fit_rates(rates)))]


def _drop_panels(supports: Supports) -> list[Panel]:
    """Return the panels of lost accuracy and of the number of examples by bin."""
    low, high = supports.bins("bin_low"), supports.bins("bin_high")  # (bins, seeds)
    drop = find_metric("support_drop").factor * supports.bins("drop")
    counts = supports.bins("bin_count").mean(axis=1)
    centres = ((low + high) / 2).mean(axis=1)
    ends = (float(low.min()), float(high.max()))
    own = find_look(supports.cell, supports.run)
    bars = average_seeds(
        supports.cell,
        supports.run,
        centres.tolist(),
        list(drop),
        mark="bar",
        look=Look(LIGHT),
        label=f"{supports.label}, mean over seeds",
        details={"examples": [f"{count:.0f}" for count in counts]},
    )
    single = Series(
        f"{supports.label}, single seeds",
        replace(own, marker="o"),
        ((low + high) / 2).ravel().tolist(),
        drop.ravel().tolist(),
        run=supports.run,
        mark="point",
        areas=[12.0] * drop.size,
        details={"examples": [""] * drop.size},
    )
    taken = [
        Band(step.least_similarity, float(top), colour=own.colour, opacity=TINT)
        for step, top in zip(supports.steps, high[-1], strict=True)
    ]
    taken = [replace(taken[0], label="Taken by k: auto"), *taken[1:]]
    x = Axis("Similarity to the forget set", limits=ends)
    y = Axis("Accuracy lost by one step\n(points)")
    upper = Panel([bars, single], x=x, y=y, levels=[Level(0.0)], bands=taken, value_name="loss")
    upper = replace(upper, number_format="+.1f", unit=" points")
    # Smallest axis, so that one example in one seed is a visible bar.
    least = 0.5 / len(supports.cell.seeds)
    lower = count_examples(centres.tolist(), counts.tolist(), ends, least, "Examples")
    return [upper, replace(lower, bands=taken)]


def _teacher(supports: Supports, name: str) -> Series:
    """Return the series of a teacher's metric by support size."""
    factor = find_metric(f"support_{name}").factor
    values: NDArray[np.float64] = factor * supports.values(name)
    label, look = f"{supports.label}'s teacher", find_look(supports.cell, supports.run)
    options = {"label": label, "look": look, "sets_scale": True}
    return average_seeds(supports.cell, supports.run, supports.sizes, list(values), **options)


def _size_panel(supports: Supports, series: Sequence[Series], title: str, unit: str = "") -> Panel:
    """Return a panel over support sizes, with lines at the sizes of runs and of `k: auto`."""
    own, auto = supports.own, supports.auto
    levels = [Level(mean(auto), "x", "dotted", f"k: auto: {format_range(auto, 'support_auto')}")]
    if not np.isnan(own).all():
        levels.append(
            Level(mean(own), "x", label=f"k of the runs: {format_range(own, 'support_auto')}")
        )
    return Panel(
        series,
        x=Axis(SIZE, limits=(0.0, 1.03 * max(*supports.sizes, mean(auto)))),
        y=Axis(title),
        levels=levels,
        bands=[Band(left=float(auto.min()), right=float(auto.max()))],
        interval="area",
        value_name="mean",
        x_name="k",
        number_format=".3f" if unit == " nats" else ".1f",
        unit=unit,
    )


def _logarithmic(panel: Panel) -> Panel:
    values = [value for one in panel.series for value in (*one.y, *one.low, *one.high)]
    positive = [value for value in values if value > 0] or [0.1, 1.0]
    limits = (min(positive) / 1.5, max(positive) * 1.5)
    return replace(panel, y=replace(panel.y, scale="log", limits=limits))


def _with_similarities(supports: Supports, axis: Axis) -> Axis:
    """Return the axis with a second scale on top: the smallest similarity in each support."""
    least = supports.values("least_similarity").mean(axis=1)
    every = max(1, round(len(least) / 8))
    texts = [find_metric("support_least_similarity").text(value) for value in least]
    sizes = [float(size) for size in supports.sizes[::every]]
    ticks = dict(zip(sizes, texts[::every], strict=True))
    return replace(axis, top_ticks=ticks, top_title="Least similarity in the support")
