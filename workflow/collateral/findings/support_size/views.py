"""Tables, plots and sentences on LTD's teachers by support size, without Retrain and with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, list_seeds
from collateral.findings._shared.series import (
    average_seeds,
    count_examples,
    find_level,
    find_look,
    mark_level,
    plot_cell,
)
from collateral.findings.columns import (
    Column,
    Groups,
    TableRow,
    build_table,
    number_field,
    number_source,
)
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, std
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_rates, fit_y
from collateral.plots.style import GREY, Look
from collateral.results.table import CellTable

# Metrics of the table by support size.
SIZE_METRICS = (
    *("support_least_similarity", "support_num_classes", "support_epochs"),
    *("support_accuracy", "support_teacher_ua", "support_top_mass"),
    *("support_kl_previous", "support_kl_seeds"),
)
KL = "support_kl_retrain"
DIFFERENCE = Metric("Teacher's accuracy − Retrain's UA", "", "points")
SIZES = "{method}'s teachers by the size k of their support, without Retrain: {title}. {spread}"
AUTO = (
    "How k: auto chooses the support size in each seed: {title}. It takes one step of gradient "
    "ascent on the forget set, and then the bins of similarity that the step hurts. Losses are in "
    "points of accuracy, sizes of bins in examples."
)
AFTER_THE_FACT = "{method}'s teachers compared with Retrain, after the fact: {title}. {spread}"
# Minimum accuracy lost in the most similar bin for `k: auto` to accept a learning rate.
MIN_DROP = 0.05

Array = NDArray[np.float64]
LIGHT = "#bfbfbf"  # colour of the bars behind the points of a plot
TINT = 0.1  # opacity of the band that marks the bins that `k: auto` includes in one seed
FREE = "support size, without Retrain"
RETRAINED = "support size after the fact: uses Retrain"
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


@dataclass(frozen=True)
class Supports:
    """Metrics of a cell's LTD teachers by support size, and of how `k: auto` chooses the size."""

    cell: CellTable
    run: str
    sizes: tuple[int, ...]

    @property
    def label(self) -> str:
        """Name of the method in tables and figures."""
        return self.cell.labels[self.run]

    def values(self, name: str) -> Array:
        """Return a metric by support size and seed, (sizes, seeds)."""
        return self._at(name, self.sizes)

    def bins(self, name: str) -> Array:
        """Return a metric of the gradient-ascent step, by bin of similarity and seed."""
        return self._at(name, self.cell.indices(self.run, "support_drop"))

    @property
    def floors(self) -> Array:
        """Mean KL divergence between teachers of two seeds, by support size; NaN with one seed."""
        return np.array([self.cell.number(self.run, "support_kl_seeds", at=k) for k in self.sizes])

    @property
    def auto(self) -> Array:
        """The support size that `k: auto` chooses, by seed."""
        return self.cell.values(self.run, "support_auto")

    @property
    def own(self) -> Array:
        """Support size of the LTD run, one value per seed."""
        return self.cell.values(self.run, "support_size")

    @property
    def steps(self) -> list[Step]:
        """The steps of gradient ascent, one per seed."""
        rates = self.cell.values(self.run, "support_step_rate").tolist()
        bins = [self.bins(name).T for name in ("drop", "bin_low", "bin_count")]
        by_seed = zip(self.cell.seeds, rates, map(int, self.auto), *bins, strict=True)
        return [Step(*numbers) for numbers in by_seed]

    def _at(self, name: str, indices: Iterable[int | str]) -> Array:
        return np.array([self.cell.values(self.run, f"support_{name}", at=at) for at in indices])


@dataclass(frozen=True)
class Step:
    """A step of gradient ascent in a seed, and the support size that `k: auto` derives from it."""

    seed: int
    rate: float
    auto: int
    drop: Array  # (bins,), accuracy lost in each bin; NaN in an empty bin
    low: Array  # (bins,), similarity at the lower edge of each bin
    counts: Array  # (bins,), number of examples in each bin

    @property
    def num_included(self) -> int:
        """Number of bins that `k: auto` includes, starting with the most similar bin."""
        return int(np.searchsorted(self.counts[::-1].cumsum(), self.auto)) + 1

    @property
    def least_similarity(self) -> float:
        """Smallest similarity of the bins that `k: auto` includes."""
        return float(self.low[-self.num_included])

    @property
    def largest(self) -> int:
        """Index of the bin of similarity that loses most accuracy."""
        return int(np.nanargmax(self.drop))

    @property
    def top_is_short(self) -> bool:
        """Whether the most similar bin loses less than half as much accuracy as the worst bin."""
        return bool(self.drop[-1] < self.drop[self.largest] / 2)


def find_supports(cell: CellTable) -> Supports | None:
    """Return the support sizes of a cell's LTD run; None if none were compared."""
    for run in sorted(cell.labels):
        if sizes := cell.indices(run, "support_teacher_ua"):
            return Supports(cell, run, tuple(int(size) for size in sizes))
    return None


def format_range(values: Iterable[float] | Array, metric: str) -> str:
    """Return the range of values as text, such as "3 to 5", or "3" if all are equal."""
    known = [float(value) for value in values if not np.isnan(value)]
    low, high = (find_metric(metric).text(end) for end in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield three tables if sizes were compared: by size, of `k: auto`, and against Retrain."""
    supports = find_supports(cell)
    if supports is None:
        return
    rows = [TableRow(cell, supports.run, str(size), size) for size in supports.sizes]
    fill = partial(fill_caption, cell=cell, method=supports.label)
    title, described = "Support size, without Retrain", describe_metrics(SIZE_METRICS)
    columns = {"k": [Column(metric) for metric in SIZE_METRICS]}
    yield build_table("support-sizes", title, columns, [rows], fill(SIZES), described)
    yield _auto_table(supports, fill(AUTO))
    columns = {"k": [Column(KL), Column(heading=DIFFERENCE.heading, show=_show_difference)]}
    groups: Groups = [rows, _kl_line(supports)]
    title, described = "Support size after the fact: this uses Retrain", describe_metrics([KL])
    yield build_table("support-retrain", title, columns, groups, fill(AFTER_THE_FACT), described)


def _show_difference(row: TableRow) -> Field:
    """Return the table entry of the teacher's accuracy on the forget set minus Retrain's."""
    teacher, reference = Column("support_teacher_ua"), row.cell.reference
    values = teacher.values(row) - row.cell.values(reference, "ua")
    return Field(
        DIFFERENCE.text(mean(values), std(values), sign=True),
        mean(values),
        source=teacher.source(row),
        also=(number_source(reference, "ua"),),
    )


def _kl_line(supports: Supports) -> list[Line]:
    """Return the row of the KL divergence between Retrains of two seeds; no row with one seed."""
    between = Column("support_kl_retrains").field(TableRow(supports.cell, supports.run, ""))
    fields = [between, Field("")]
    return [] if math.isnan(between.order) else [Line("two Retrains", fields, is_aside=True)]


def _auto_table(supports: Supports, caption: str) -> Table:
    """Return the table of `k: auto` with one row per seed."""
    bins = supports.cell.indices(supports.run, "support_drop")
    lines, records = [], []
    for step in supports.steps:
        numbers = _step_numbers(step, bins)
        fields = [
            number_field(supports.run, f"support_{metric}", value, at=at)
            if metric
            else Field(f"{value:.0f}", value)
            for _, _, metric, value, at in numbers
        ]
        lines.append(Line(str(step.seed), fields))
        records.append({"seed": step.seed, **{key: value for key, _, _, value, _ in numbers}})
    grid = Grid("Seed", [heading for _, heading, *_ in numbers], [lines])
    return Table("support-auto", "k: auto", [grid], caption, records=records)


def _step_numbers(step: Step, bins: Sequence[str]) -> list[tuple[str, str, str, float, str | None]]:
    """Return key, heading, metric, value and bin of each number in a row of the `k: auto` table."""
    largest, first = step.largest, bins[-step.num_included]
    drop, count = float(step.drop[largest]), float(step.counts[largest])
    return [
        ("rate", "Rate", "step_rate", step.rate, None),
        ("top_drop", "Top bin loses", "drop", float(step.drop[-1]), bins[-1]),
        ("largest_drop", "Largest loss", "drop", drop, bins[largest]),
        ("largest_drop_count", "in a bin of", "bin_count", count, bins[largest]),
        ("num_bins", "Bins", "", step.num_included, None),
        ("least_similarity", "From", "bin_low", step.least_similarity, first),
        ("k", "Auto's k", "auto", step.auto, None),
    ]


def words(cell: CellTable) -> str:
    """Return sentences on the size that `k: auto` chooses; empty if no sizes were compared."""
    supports = find_supports(cell)
    return _describe_auto(supports) + _describe_one_class(supports) if supports else ""


def _describe_auto(supports: Supports) -> str:
    """Return sentences on the support size that `k: auto` chose, and on how it was chosen."""
    steps = supports.steps
    rates = format_range([step.rate for step in steps], "support_step_rate")
    losses = format_range([float(step.drop[-1]) for step in steps], "support_drop")
    least = format_range([step.least_similarity for step in steps], "support_bin_low")
    sizes = format_range(supports.auto, "support_auto")
    text = (
        f"k: auto takes {sizes} examples. One step of gradient "
        "ascent on the forget set is taken at the first of a series of doubling rates (here "
        f"{rates}) that costs the most similar bin of retained examples 5 points; it cost it "
        f"{losses}. From that bin down, the bins that lose at least half of the largest loss are "
        f"taken: here those from similarity {least} up."
    )
    if short := [step.seed for step in steps if step.top_is_short]:
        text += (
            f" In {list_seeds(short)} another bin loses more than twice as much as the most "
            "similar one, which is taken alone, because it always is."
        )
    if weak := [step.seed for step in steps if step.drop[-1] < MIN_DROP]:
        seeds = list_seeds(weak)
        text += f" In {seeds} no rate of the series costs it 5 points; the last was taken."
    return text


def _describe_one_class(supports: Supports) -> str:
    """Return a sentence on the largest support size with a single class; empty if there is none."""
    by_size = zip(supports.sizes, supports.values("num_classes"), strict=True)
    alone = [size for size, counts in by_size if mean(counts) == 1]
    return f" A support of {max(alone)} or fewer is of one class in every seed." if alone else ""


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
    floors, look = supports.floors.tolist(), Look(GREY, dash="dashed", is_control=True)
    seeds = Series("Two seeds' teachers of one k", look, supports.sizes, floors)
    title = "KL to the next smaller\nsupport's teacher (nats)"
    panel = _size_panel(supports, "kl_previous", title, " nats", floors, [seeds])
    return _logarithmic(replace(panel, x=_with_similarities(supports, panel.x)))


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
    levels, bands = mark_level(cell, "ua")
    noise = [find_level(cell, "ua")[1]] * count
    rates = _size_panel(supports, "teacher_ua", "Accuracy on the forget set (%)", " %", noise)
    rates = replace(rates, levels=[*rates.levels, *levels], bands=[*rates.bands, *bands])
    return [divergence, replace(rates, y=replace(rates.y, limits=fit_rates(rates)))]


def _drop_panels(supports: Supports) -> list[Panel]:
    """Return the panels of lost accuracy and of the number of examples by bin."""
    low, high = supports.bins("bin_low"), supports.bins("bin_high")  # (bins, seeds)
    drop = find_metric("support_drop").factor * supports.bins("drop")
    counts, middle = supports.bins("bin_count").mean(axis=1), (low + high) / 2
    centres, ends = middle.mean(axis=1), (float(low.min()), float(high.max()))
    cell, run, own = supports.cell, supports.run, find_look(supports.cell, supports.run)
    details = {"examples": [f"{count:.0f}" for count in counts]}
    shown = {"label": f"{supports.label}, mean over seeds", "look": Look(LIGHT), "details": details}
    bars = average_seeds(cell, run, centres.tolist(), list(drop), mark="bar", **shown)
    single = Series(
        f"{supports.label}, single seeds",
        replace(own, marker="o"),
        middle.ravel().tolist(),
        drop.ravel().tolist(),
        run=run,
        mark="point",
        areas=[12.0] * drop.size,
        details={"examples": [""] * drop.size},
    )
    taken = [
        Band(step.least_similarity, float(top), colour=own.colour, opacity=TINT)
        for step, top in zip(supports.steps, high[-1], strict=True)
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
    # Minimum length of the axis, chosen so that one example in one seed is a visible bar.
    least = 0.5 / len(cell.seeds)
    lower = count_examples(centres, counts.tolist(), ends, least, "Examples")
    return [upper, replace(lower, bands=taken)]


def _size_panel(
    supports: Supports,
    name: str,
    title: str,
    unit: str = "",
    noise: Sequence[float] = (),
    others: Sequence[Series] = (),
) -> Panel:
    """Return the panel of a teacher metric by support size; lines mark LTD's and auto's k."""
    cell, run, own, auto = supports.cell, supports.run, supports.own, supports.auto
    levels = [Level(mean(auto), "x", "dotted", f"k: auto: {format_range(auto, 'support_auto')}")]
    if not np.isnan(own).all():
        text = f"k of the runs: {format_range(own, 'support_auto')}"
        levels.append(Level(mean(own), "x", label=text))
    values = find_metric(f"support_{name}").factor * supports.values(name)
    shown = {"label": f"{supports.label}'s teacher", "look": find_look(cell, run), "noise": noise}
    teacher = average_seeds(cell, run, supports.sizes, list(values), sets_scale=True, **shown)
    return Panel(
        [*others, teacher],
        x=Axis("Support size k", limits=(0.0, 1.03 * max(*supports.sizes, mean(auto)))),
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
