"""Table, plot and sentences about the loss of accuracy near the forget set and far from it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from collateral.contract.metrics import format_percent
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.captions import CHANCE, fill_caption, join_sentences
from collateral.findings._shared.compare import noise_floor_by_sd
from collateral.findings._shared.series import (
    NOISE_LABEL,
    average_seeds,
    bin_edges,
    count_examples,
    find_looks,
    plot_cell,
    sets_scale,
)
from collateral.findings.columns import Column, Groups, build_table, number_source, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, fit_differences
from collateral.results.table import CellTable

RETAIN = "retain"
SETS = {RETAIN: "retained", "test": "test"}
# For each loss of accuracy, the metric that counts the examples on which the loss is measured.
COUNTS = {"near_loss": "near_count", "far_loss": "far_count"}
CAPTION = (
    "{reference}'s accuracy minus the unlearned model's, in points: {title}. Positive: less "
    "accurate than {reference}. {spread}"
)
CONVENTIONS = (
    "Near: the examples most similar to the forget set by the base model's features (the inputs of "
    "its last layer), in the mean over seeds; as many as the affected classes have in the set, but "
    "at least 10 and at most a quarter of it, whatever their similarity. Far: all others. Test "
    "examples of a class that is forgotten as a whole are neither. In parentheses: the number of "
    "examples, and their share of near and far."
)
LAST_ROW = f"The last row is where 95 % of the differences between retrainings lie. {CHANCE}"
TITLES = {RETAIN: "Retained examples", "test": "Test examples"}
MEASURES = {"delta_acc": "Accuracy", "delta_conf": "True-class confidence"}
MOST_CLASSES = 6  # largest number of classes that the sentence on the neighbours lists
FEW = 5  # bins with fewer examples are faint
MOST_AREA, LEAST_AREA = 30.0, 3.0  # area in square points of the marks of the largest bin, at least
PLOT_CAPTION = (
    "Difference from {reference} by similarity to the forget set (where several classes are "
    "affected, to the nearest one's forgotten examples), seed i against seed i, in ten bins of "
    "equal width; an empty bin is a gap. Below: examples per bin, mean over seeds, on a "
    "logarithmic scale. The area of a mark grows with the square root of the examples in its bin; "
    "bins of fewer than five are faint. Bars: 95 % intervals over seeds. Arrows: beyond the axis."
)
NOISE = "Grey: where 95 % of differences between retrainings lie; a line inside it is no finding."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of each run's loss of accuracy near the forget set and far from it."""
    columns = [_column(cell, metric, name) for name in SETS for metric in COUNTS]
    methods, controls = rows_by_kind(cell, ("method", "control"))
    groups: Groups = [methods, [*controls, *_chance_line(cell, columns)]]
    has_chance = len(cell.seeds) > 1 and cell.has_retrain
    conventions = join_sentences(CONVENTIONS, LAST_ROW if has_chance else "")
    caption = fill_caption(CAPTION, cell)
    table = build_table("near-and-far", "Near and far", columns, groups, caption, conventions)
    records = [
        {**record, "chance": noise_floor_by_sd(cell, record["metric"], record["set"])}
        for record in table.records
    ]
    yield replace(table, records=records)


def _column(cell: CellTable, metric: str, name: str) -> Column:
    """Return a column of accuracy lost on a subset; its heading gives the number of examples."""
    count = COUNTS[metric]
    heading = f"{find_metric(metric).label}, {SETS[name]} ({count_part(cell, count, name)})"
    return Column(metric, name, heading=heading, sign=True, chance=noise_floor_by_sd)


def count_part(cell: CellTable, count: str, name: str) -> str:
    """Return how many examples of a subset are near or far, and their share, as text."""
    sizes = {one: cell.number(cell.reference, one, name) for one in COUNTS.values()}
    text = find_metric(count).text(sizes[count])
    total = sum(sizes.values())
    return f"{text}, {format_percent(sizes[count] / total)}" if total > 0 else text


def _chance_line(cell: CellTable, columns: list[Column]) -> list[Line]:
    """Return a row with the ranges in which 95 % of differences between retrainings lie.

    The list is empty if the ranges are undefined, for example with one seed.
    """
    limits = [noise_floor_by_sd(cell, column.metric, column.set) for column in columns]
    if all(map(math.isnan, limits)):
        return []
    fields = [
        Field(
            f"±{find_metric(column.metric).text(limit)}",
            source=number_source(cell.reference, f"{column.metric}_sd", column.set),
        )
        for column, limit in zip(columns, limits, strict=True)
    ]
    return [Line(NOISE_LABEL, fields, is_aside=True)]


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield a plot of each run's loss of accuracy and confidence by similarity.

    There is no plot if there are no runs to draw.
    """
    if not find_looks(cell) or not cell.indices(cell.reference, "bin_low", RETAIN):
        return
    reference, panels = cell.reference_label, []
    for metric, name in MEASURES.items():
        row = [_difference_panel(cell, metric, subset) for subset in SETS]
        right = Axis(limits=fit_differences(row))
        left = replace(right, title=f"{name}:\n{reference} − unlearned (points)")
        panels += [replace(panel, y=y) for panel, y in zip(row, (left, right), strict=True)]
    panels += [_count_panel(cell, RETAIN, "Examples"), _count_panel(cell, "test", "")]
    noise = NOISE if cell.has_retrain else ""
    caption = join_sentences(fill_caption(PLOT_CAPTION, cell), noise)
    reading = f"Above zero: less accurate, or less confident, than {reference}."
    plot = plot_cell(cell, "similarity", panels, caption, reading=reading, columns=2)
    seeds, *failures = plot.notes
    yield replace(plot, notes=[f"{seeds}{_name_collapsed(cell)}", *failures])


def _difference_panel(cell: CellTable, metric: str, name: str) -> Panel:
    """Return a panel with one line per run: the loss of a metric in each similarity bin.

    The loss is the value of the reference minus the value of the run.
    """
    edges, counts, factor = (
        bin_edges(cell, name),
        _count_in_bins(cell, name),
        find_metric(metric).factor,
    )
    lows, highs, bins = edges[:-1], edges[1:], range(len(counts))
    noise = [factor * noise_floor_by_sd(cell, metric, name, b) for b in bins]
    about = {
        "noise": noise,
        "is_faint": [count < FEW for count in counts],
        "areas": mark_areas(counts),
        "details": {"examples": [f"{count:.0f}" for count in counts]},
    }
    centres, series = ((lows + highs) / 2).tolist(), []
    for run in find_looks(cell):
        values = [factor * cell.values(run, metric, name, b) for b in bins]
        series.append(average_seeds(cell, run, centres, values, **about))
    bands = [
        Band(low, high, -half, half, NOISE_LABEL)
        for low, high, half in zip(lows, highs, noise, strict=True)
        if np.isfinite(half)
    ]
    return Panel(
        series,
        TITLES[name] if metric == next(iter(MEASURES)) else "",
        x=Axis(limits=(lows[0], highs[-1])),
        levels=[Level(0.0)],
        bands=bands,
        dodge=float((highs - lows).min()) / 3,
        value_name="difference",
        number_format="+.1f",
        unit=" points",
    )


def mark_areas(counts: Sequence[float]) -> list[float]:
    """Return the areas of marks, which grow with the square root of the examples in a bin."""
    most = max(counts)
    return [max(MOST_AREA * math.sqrt(count / most), LEAST_AREA) for count in counts]


def _count_panel(cell: CellTable, name: str, title: str) -> Panel:
    """Return a panel with the number of examples in each similarity bin, on a logarithmic axis."""
    edges, counts = bin_edges(cell, name), _count_in_bins(cell, name)
    centres, ends = (edges[:-1] + edges[1:]) / 2, (edges[0], edges[-1])
    return count_examples(centres, counts, ends, 0.5 / len(cell.seeds), title)


def _count_in_bins(cell: CellTable, name: str) -> list[float]:
    """Return the number of examples in each similarity bin of a subset, averaged over seeds."""
    bins = cell.indices(cell.reference, "bin_low", name)
    return [mean(cell.values(cell.reference, "bin_count", name, b)) for b in bins]


def _name_collapsed(cell: CellTable) -> str:
    lost = [cell.labels[run] for run in find_looks(cell) if not sets_scale(cell, run)]
    return f" Collapsed, at the edge where beyond it: {', '.join(lost)}." if lost else ""


def words(cell: CellTable) -> str:
    """Return sentences on the loss near the forget set, and on the classes of the neighbours."""
    return join_sentences(_describe_loss_near(cell), describe_classes(cell))


def describe_classes(cell: CellTable) -> str:
    """Return a sentence on the classes of the examples near the forget set, the largest first.

    It is empty for results of older versions, which do not have these numbers.
    """
    parts = []
    for name, kind in SETS.items():
        names = cell.indices(cell.reference, "near_class", name)
        counts = {at: cell.number(cell.reference, "near_class", name, at) for at in names}
        order = sorted(counts, key=lambda at: -counts[at])
        listed = [f"{at} ({find_metric('near_class').text(counts[at])})" for at in order]
        if len(order) > MOST_CLASSES:
            rest = f"{len(order) - MOST_CLASSES} more classes"
            listed = [*listed[:MOST_CLASSES], rest]
        if listed:
            parts.append(f"{kind} ones {', '.join(listed)}")
    return f"Classes of the neighbours: {'; '.join(parts)}." if parts else ""


def _describe_loss_near(cell: CellTable) -> str:
    """Return sentences on the largest loss near the forget set, and on all other methods."""
    losses = find_losses(cell)
    if losses.empty:
        return "No method ended well here, so there is nothing to compare."
    worst = losses.iloc[0]
    near, far = _points(worst["near"]), _points(mean(cell.values(worst["run"], "far_loss", RETAIN)))
    nearest = _describe_nearest(cell)
    if not cell.has_retrain or len(cell.seeds) == 1:
        return (
            f"{'One seed' if cell.has_retrain else 'No Retrain'}, so no noise floor and no claim: "
            f"the largest loss of accuracy against {cell.reference_label} on {nearest} is "
            f"{worst['label']}'s, {near}, and {far} on all others."
        )
    if not worst["is_shown"] or worst["near"] <= 0:
        start = f"No method is shown to be less accurate than Retrain on {nearest}."
        return start + _list_by_effect(losses)
    gap = cell.number(worst["run"], "avg_gap")
    low, high = (find_metric("near_loss").text(worst[end]) for end in ("low", "high"))
    return (
        f"{worst['label']}: an average gap of {_points(gap)}, "
        f"{'but' if worst['near'] > gap else 'and'} {near} [{low}, {high}] less accurate than "
        f"Retrain on {nearest}, against {far} on all others.{_list_by_effect(losses[1:])}"
    )


def find_losses(cell: CellTable) -> pd.DataFrame:
    """Return the loss of accuracy near the forget set of each method without a failed seed.

    `low` and `high` are the ends of the interval used for the verdict; NaN if the loss was not
    tested. A loss `is_within` if it is shown to be within the margin; else it `is_shown` if its
    interval excludes 0. Losses that are shown come first, then all others; both are sorted from
    the largest loss to the largest gain.
    """
    found = []
    for run in cell.runs("method"):
        tested, low, high = (
            cell.number(run, f"difference{end}", at="near") for end in ("", "_low", "_high")
        )
        # The tested loss is used if there is one, so that the loss fits its interval.
        # (An interim analysis tests only the first seeds.)
        near = mean(cell.values(run, "near_loss", RETAIN)) if math.isnan(tested) else tested
        if not cell.failure_summary(run) and not math.isnan(near):
            is_within = cell.number(run, "within", at="near") == 1
            is_shown = not is_within and (low > 0 or high < 0)
            found.append((run, cell.labels[run], near, low, high, is_shown, is_within))
    columns = ["run", "label", "near", "low", "high", "is_shown", "is_within"]
    losses = pd.DataFrame(found, columns=columns)
    return losses.sort_values(["is_shown", "near"], ascending=[False, False])


def _describe_nearest(cell: CellTable) -> str:
    counts = ("near_count", "far_count")
    near, far = (cell.number(cell.reference, count, RETAIN) for count in counts)
    count, share = find_metric("near_count").text(near), format_percent(near / (near + far))
    return (
        f"the {count} retained examples most similar to the forgotten ones ({share}) by the base "
        "model's features"
    )


def _list_by_effect(losses: pd.DataFrame) -> str:
    """Return sentences that list the methods by what is shown: a loss, a gain, equality, nothing.

    A loss that is neither shown nor shown to be within the margin is open.
    """
    is_shown, is_within = (losses[name].astype(bool) for name in ("is_shown", "is_within"))
    groups = {
        "Also less accurate there": is_shown & (losses["near"] > 0),
        "More accurate than Retrain there": is_shown & (losses["near"] < 0),
        "Within the margin": is_within,
        "Open": ~is_shown & ~is_within,
    }
    text = ""
    for name, is_in in groups.items():
        listed = [f"{row.label} ({_describe_loss(row)})" for row in losses[is_in].itertuples()]
        text += f" {name}: {', '.join(listed)}." if listed else ""
    return text


def _describe_loss(row: Any) -> str:
    """Return the size of a loss or gain that is shown; else the loss and its interval."""
    metric = find_metric("near_loss")
    if row.is_shown:
        return metric.text(abs(row.near))
    near, low, high = (metric.text(value, sign=True) for value in (row.near, row.low, row.high))
    return near if math.isnan(row.low) else f"{near} [{low}, {high}]"


def _points(rate: float) -> str:
    return f"{find_metric('near_loss').text(rate)} points"
