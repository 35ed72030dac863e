"""Tables, plots and sentences on LTD's teachers by support size, partly compared with Retrain."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, list_seeds
from collateral.findings._shared.series import (
    average_seeds,
    count_examples,
    find_look,
    plot_cell,
    with_level,
)
from collateral.findings.columns import Column, TableRow, build_table, number_field, number_source
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import Floats, mean, std
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_rates, fit_y
from collateral.plots.style import GREY, Look
from collateral.results.table import CellTable

# Metrics of the table by support size.
SIZE_METRICS = (
    *("support_least_similarity", "support_num_classes", "support_epochs"),
    *("support_accuracy", "support_teacher_ua", "support_top_mass"),
    *("support_kl_previous", "support_kl_seeds"),
)
# Columns of the table on `k: auto`. For each key in the CSV file: heading, and metric or "".
AUTO_COLUMNS = {
    "rate": ("Rate", "support_step_rate"),
    "top_drop": ("Top bin loses", "support_drop"),
    "largest_drop": ("Largest loss", "support_drop"),
    "largest_drop_count": ("in a bin of", "support_bin_count"),
    "num_bins": ("Bins", ""),
    "least_similarity": ("From", "support_bin_low"),
    "k": ("Auto's k", "support_auto"),
}
KL = "support_kl_retrain"
DIFFERENCE = Metric("Teacher's accuracy − Retrain's UA", "", "points")
SIZES = "{method}'s teachers by the size k of their support, without Retrain: {title}. {spread}"
AUTO = (
    "How k: auto chooses the support size in each seed: {title}. It takes one step of gradient "
    "ascent on the forget set, and then the bins of similarity that the step hurts. Losses are in "
    "points of accuracy, sizes of bins in examples."
)
AFTER_THE_FACT = "{method}'s teachers compared with Retrain, after the fact: {title}. {spread}"
# `k: auto` uses the first learning rate that costs the most similar examples this accuracy.
MIN_DROP = 0.05

LIGHT = "#bfbfbf"  # colour of the bars behind the points of a plot
TINT = 0.1  # opacity of the band over the bins that `k: auto` takes in one seed
FREE = "support size, without Retrain"
RETRAINED = "support size after the fact: uses Retrain"
MARKS = (
    "Bands: 95 % intervals over seeds; arrows: they go on beyond the axis. Vertical lines: the k "
    "of the runs, and the k of k: auto (grey: its range over seeds). Above: the least similarity "
    "in a support of that size."
)
CAPTIONS = {
    "support-kl": "Without Retrain: KL divergence of the teacher's histogram of classes on the "
    "forget set (the mean of the probabilities that the student learns) from that of the next "
    "smaller support's teacher. Grey line: the mean KL between two seeds' teachers of one size; a "
    f"change below it is no larger than that between seeds. {MARKS}",
    "support-accuracy": "Without Retrain: the teacher's accuracy on the forget set, and the number "
    f"of classes in its support, by the support's size. {MARKS}",
    "support-drop": "Without Retrain: accuracy that retained examples lose by one step of gradient "
    "ascent on the forget set, by similarity to it, in ten bins of equal width. Bars: mean over "
    "seeds with 95 % intervals; points: single seeds, each in its own bins. Tinted: the bins that "
    "k: auto takes, once for each seed. Below: examples per bin, on a logarithmic scale.",
    "support-retrain": "After the fact, because it uses Retrain: KL divergence of the teacher's "
    "histogram of classes on the forget set from Retrain's (left; grey: the mean KL between two "
    "seeds' Retrains), and the teacher's accuracy on the forget set beside Retrain's UA (right; "
    "grey: the range of 95 % of the means of other retrainings). Bands: 95 % intervals over seeds; "
    "arrows: they go on beyond the axis.",
}


@dataclass(frozen=True)
class Supports:
    """Metrics of LTD's teachers in a cell: by support size, and on the choice of `k: auto`."""

    cell: CellTable
    run: str
    sizes: tuple[int, ...]

    def values(self, name: str) -> Floats:
        """Return a metric as an array (support sizes, seeds), or (bins of similarity, seeds)."""
        places = self.cell.indices(self.run, f"support_{name}")
        return np.array([self.cell.values(self.run, f"support_{name}", at=at) for at in places])

    def by_seed(self, name: str) -> Floats:
        """Return a metric that has one value per seed."""
        return self.cell.values(self.run, f"support_{name}")


def find_supports(cell: CellTable) -> Supports | None:
    """Return the support sizes that were compared in a cell; None if none were compared."""
    for run in sorted(cell.labels):
        if sizes := cell.indices(run, "support_teacher_ua"):
            return Supports(cell, run, tuple(int(size) for size in sizes))
    return None


def format_range(values: Iterable[float], metric: str) -> str:
    """Return the range of values as text, such as "3 to 5", or "3" if all are equal."""
    known = [float(value) for value in values if not np.isnan(value)]
    low, high = (find_metric(metric).text(end) for end in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield three tables if support sizes were compared.

    They show the teachers by size, how `k: auto` chose the size, and the teachers beside Retrain.
    """
    supports = find_supports(cell)
    if supports is None:
        return
    rows = [TableRow(cell, supports.run, str(size), size) for size in supports.sizes]
    fill = partial(fill_caption, cell=cell, method=cell.labels[supports.run])
    title, described = "Support size, without Retrain", describe_metrics(cell, SIZE_METRICS)
    columns = {"k": [Column(metric) for metric in SIZE_METRICS]}
    yield build_table("support-sizes", title, columns, [rows], fill(SIZES), described)
    steps = find_steps(supports).to_dict("records")
    lines = [Line(str(step["seed"]), _show_step(supports, step)) for step in steps]
    grid = Grid("Seed", [heading for heading, _ in AUTO_COLUMNS.values()], [lines])
    records = [{key: step[key] for key in ("seed", *AUTO_COLUMNS)} for step in steps]
    yield Table("support-auto", "k: auto", [grid], fill(AUTO), records=records)
    columns = {"k": [Column(KL), Column(heading=DIFFERENCE.heading, show=_show_difference)]}
    between = Column("support_kl_retrains").field(TableRow(cell, supports.run, ""))
    last = []
    if len(cell.seeds) > 1:
        last = [Line("two Retrains", [between, Field("")], is_aside=True)]
    title = "Support size after the fact: this uses Retrain"
    described = describe_metrics(cell, [KL])
    yield build_table(
        "support-retrain", title, columns, [rows, last], fill(AFTER_THE_FACT), described
    )


def _show_difference(row: TableRow) -> Field:
    """Return a table entry: the teacher's accuracy on the forget set minus Retrain's."""
    teacher, reference = Column("support_teacher_ua"), row.cell.reference
    values = teacher.values(row) - row.cell.values(reference, "ua")
    text = DIFFERENCE.text(mean(values), std(values), sign=True)
    also = (number_source(reference, "ua"),)
    return Field(text, mean(values), source=teacher.source(row), also=also)


def find_steps(supports: Supports) -> pd.DataFrame:
    """Return a table with one row per seed on how `k: auto` chose the support size.

    It has the accuracy lost by the step of gradient ascent, and the bins that were then taken.
    """
    drops, lows, counts = (supports.values(name).T for name in ("drop", "bin_low", "bin_count"))
    seeds, auto, worst = range(len(drops)), supports.by_seed("auto"), np.nanargmax(drops, axis=1)
    # `k: auto` takes whole bins, from the most similar bin down, until they have k examples.
    taken = [int(np.searchsorted(counts[i, ::-1].cumsum(), auto[i])) + 1 for i in seeds]
    columns = {
        "seed": supports.cell.seeds,
        "rate": supports.by_seed("step_rate"),
        "top_drop": drops[:, -1],
        "largest_drop": drops[seeds, worst],
        "largest_drop_count": counts[seeds, worst],
        "num_bins": taken,
        "least_similarity": [lows[i, -taken[i]] for i in seeds],
        "k": auto.astype(int),
        "worst": worst,  # index of the bin with the largest loss
    }
    return pd.DataFrame(columns)


def _show_step(supports: Supports, step: Mapping[str, Any]) -> list[Field]:
    """Return one seed's entries in the table on `k: auto`.

    The source link of a loss of accuracy names the bin that has the loss.
    """
    bins = supports.cell.indices(supports.run, "support_drop")
    places = {"top_drop": bins[-1], "least_similarity": bins[-step["num_bins"]]}
    places |= dict.fromkeys(("largest_drop", "largest_drop_count"), bins[step["worst"]])
    return [
        number_field(supports.run, metric, step[key], at=places.get(key))
        if metric
        else Field(str(step[key]), step[key])
        for key, (_, metric) in AUTO_COLUMNS.items()
    ]


def words(cell: CellTable) -> str:
    """Return sentences on the size that `k: auto` chooses; empty if no sizes were compared."""
    supports = find_supports(cell)
    if supports is None:
        return ""
    steps = find_steps(supports)
    rates, losses, least, sizes = (
        format_range(steps[key], AUTO_COLUMNS[key][1])
        for key in ("rate", "top_drop", "least_similarity", "k")
    )
    text = (
        f"k: auto takes {sizes} examples. One step of gradient ascent on the forget set is taken "
        f"at the first of a series of doubling rates (here {rates}) that costs the most similar "
        f"bin of retained examples 5 points; it cost it {losses}. From that bin down, the bins "
        "that lose at least half of the largest loss are taken: here those from similarity "
        f"{least} up."
    )
    if short := list_seeds(list(steps["seed"][steps["top_drop"] < steps["largest_drop"] / 2])):
        text += f" In {short} another bin loses more than twice as much as the most similar one, "
        text += "which is taken alone, because it always is."
    if weak := list_seeds(list(steps["seed"][steps["top_drop"] < MIN_DROP])):
        text += f" In {weak} no rate of the series costs it 5 points; the last was taken."
    by_size = zip(supports.sizes, supports.values("num_classes"), strict=True)
    alone = [size for size, counts in by_size if mean(counts) == 1]
    if alone:
        text += f" A support of {max(alone)} or fewer is of one class in every seed."
    return text


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plots of the teachers, if support sizes were compared."""
    supports = find_supports(cell)
    if not supports:
        return
    tint = "The stronger the tint, the more seeds take the bin."
    for name, panels, subject, reading, columns in (
        ("support-kl", [_kl_panel(supports)], FREE, "", 1),
        ("support-accuracy", _accuracy_panels(supports), FREE, "", 1),
        ("support-drop", _drop_panels(supports), FREE, tint, 1),
        ("support-retrain", _retrain_panels(supports), RETRAINED, "", 2),
    ):
        yield plot_cell(cell, name, panels, CAPTIONS[name], subject, reading, columns=columns)


def _kl_panel(supports: Supports) -> Panel:
    floors = [
        supports.cell.number(supports.run, "support_kl_seeds", at=size) for size in supports.sizes
    ]
    look = Look(GREY, dash="dashed", is_control=True)
    seeds = Series("Two seeds' teachers of one k", look, supports.sizes, floors)
    title = "KL to the next smaller\nsupport's teacher (nats)"
    panel = _size_panel(supports, "kl_previous", title, " nats", floors)
    panel = replace(panel, series=[seeds, *panel.series], x=_with_similarities(supports, panel.x))
    return _logarithmic(panel)


def _accuracy_panels(supports: Supports) -> list[Panel]:
    rates = _size_panel(supports, "teacher_ua", "Teacher's accuracy\non the forget set (%)", " %")
    x = replace(_with_similarities(supports, rates.x), title="")
    rates = replace(rates, x=x, y=replace(rates.y, limits=fit_rates(rates)))
    classes = _size_panel(supports, "num_classes", "Classes in\nthe support")
    y = replace(classes.y, limits=(0.0, fit_y(classes)[1]), is_whole=True)
    return [rates, replace(classes, y=y, height=0.4, number_format=".0f")]


def _retrain_panels(supports: Supports) -> list[Panel]:
    cell, count = supports.cell, len(supports.sizes)
    between = cell.number(supports.run, "support_kl_retrains")
    title = "KL of the teacher to Retrain (nats)"
    panel = _size_panel(supports, "kl_retrain", title, " nats", [between] * count)
    band = [Band(high=between)] if math.isfinite(between) else []
    divergence = _logarithmic(replace(panel, bands=[*panel.bands, *band]))
    rates = _size_panel(supports, "teacher_ua", "Accuracy on the forget set (%)")
    return [divergence, with_level(rates, cell, "ua")]


def _drop_panels(supports: Supports) -> list[Panel]:
    """Return two panels over bins of similarity to the forget set.

    They show the accuracy lost by one step of gradient ascent, and the number of examples.
    """
    cell, run, label = supports.cell, supports.run, supports.cell.labels[supports.run]
    low, high = supports.values("bin_low"), supports.values("bin_high")  # (bins, seeds)
    drop = find_metric("support_drop").factor * supports.values("drop")
    counts, middle = supports.values("bin_count").mean(axis=1), (low + high) / 2
    centres, ends = middle.mean(axis=1), (float(low.min()), float(high.max()))
    details = {"examples": [f"{count:.0f}" for count in counts]}
    shown = {"label": f"{label}, mean over seeds", "look": Look(LIGHT), "details": details}
    bars = average_seeds(cell, run, centres.tolist(), list(drop), mark="bar", **shown)
    own, x, y = find_look(cell, run), middle.ravel().tolist(), drop.ravel().tolist()
    single = Series(f"{label}, single seeds", replace(own, marker="o"), x, y, run=run, mark="point")
    no_details = {"examples": [""] * drop.size}
    single = replace(single, areas=[12.0] * drop.size, details=no_details)
    taken = [
        Band(least, top, colour=own.colour, opacity=TINT)
        for least, top in zip(find_steps(supports)["least_similarity"], high[-1], strict=True)
    ]
    taken[0] = replace(taken[0], label="Taken by k: auto")
    upper = Panel(
        [bars, single],
        x=Axis("Similarity to the forget set", limits=ends),
        y=Axis("Accuracy lost by one step\n(points)"),
        levels=[Level(0.0)],
        bands=taken,
        value_name="loss",
        number_format="+.1f",
        unit=" points",
    )
    # The axis starts low enough that one example in one seed is a visible bar.
    least = 0.5 / len(cell.seeds)
    lower = count_examples(centres, counts.tolist(), ends, least, "Examples")
    return [upper, replace(lower, bands=taken)]


def _size_panel(
    supports: Supports, name: str, title: str, unit: str = "", noise: Sequence[float] = ()
) -> Panel:
    """Return the panel of a teacher's metric by support size.

    Vertical lines mark the k of LTD's runs and the k that `k: auto` chooses.
    """
    cell, run, sizes = supports.cell, supports.run, supports.sizes
    own, auto = supports.by_seed("size"), supports.by_seed("auto")
    levels = [Level(mean(auto), "x", "dotted", f"k: auto: {format_range(auto, 'support_auto')}")]
    if not np.isnan(own).all():
        text = f"k of the runs: {format_range(own, 'support_auto')}"
        levels.append(Level(mean(own), "x", label=text))
    values = find_metric(f"support_{name}").factor * supports.values(name)
    shown = {"label": f"{cell.labels[run]}'s teacher", "look": find_look(cell, run)}
    more = {"noise": noise, "sets_scale": True}
    return Panel(
        [average_seeds(cell, run, sizes, list(values), **shown, **more)],
        x=Axis("Support size k", limits=(0.0, 1.03 * max(*sizes, mean(auto)))),
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
