"""Tables and sentences on LTD's teachers by support size, without Retrain and compared with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_metrics, describe_spread
from collateral.findings.columns import Column, TableRow, build_grid, build_records, number_source
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, std
from collateral.results.table import CellTable

SIZE_COLUMNS = [
    *map(Column, ("support_least_similarity", "support_num_classes", "support_epochs")),
    *map(Column, ("support_accuracy", "support_teacher_ua", "support_top_mass")),
    *map(Column, ("support_kl_previous", "support_kl_seeds")),
]
KL_RETRAIN = Column("support_kl_retrain")
DIFFERENCE = Metric("Teacher's accuracy − Retrain's UA", "", "points")
SIZES = "{method}'s teachers by the size k of their support, without Retrain: {title}. {spread}"
AUTO = (
    "How k: auto chooses the support size in each seed: {title}. It takes one step of gradient "
    "ascent on the forget set, and then the bins of similarity that the step hurts. Losses are in "
    "points of accuracy, sizes of bins in examples."
)
AFTER_THE_FACT = "{method}'s teachers compared with Retrain, after the fact: {title}. {spread}"
# Smallest loss of the most similar bin with which `k: auto` accepts a learning rate.
MIN_DROP = 0.05

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Supports:
    """Numbers of a cell's teachers by support size and by bin of similarity, and of `k: auto`."""

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
        """Return a metric of the ascent step by bin and seed, (bins, seeds)."""
        return self._at(name, self.cell.indices(self.run, "support_drop"))

    @property
    def floors(self) -> Array:
        """KL between two seeds' teachers by support size, (sizes,); NaN with one seed."""
        numbers = [self.cell.number(self.run, "support_kl_seeds", at=size) for size in self.sizes]
        return np.array(numbers)

    @property
    def auto(self) -> Array:
        """The support size that `k: auto` chooses, by seed."""
        return self.cell.values(self.run, "support_auto")

    @property
    def own(self) -> Array:
        """Support size of the LTD run, by seed."""
        return self.cell.values(self.run, "support_size")

    @property
    def steps(self) -> list[Step]:
        """The steps of gradient ascent, one per seed."""
        rates = self.cell.values(self.run, "support_step_rate")
        columns = zip(
            *(self.bins(name).T for name in ("drop", "bin_low", "bin_count")), strict=True
        )
        by_seed = zip(self.cell.seeds, rates, self.auto, columns, strict=True)
        return [Step(seed, float(rate), int(auto), *column) for seed, rate, auto, column in by_seed]

    def _at(self, name: str, indices: Iterable[int | str]) -> Array:
        return np.array([self.cell.values(self.run, f"support_{name}", at=at) for at in indices])


@dataclass(frozen=True)
class Step:
    """One step of gradient ascent in one seed, and the support size that `k: auto` derives."""

    seed: int
    rate: float
    auto: int
    drop: Array  # (bins,) lost accuracy, NaN in an empty bin
    low: Array  # (bins,) lower edges of the bins
    counts: Array  # (bins,) number of examples

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
        """The index of the bin that loses most accuracy."""
        return int(np.nanargmax(self.drop))

    @property
    def top_is_short(self) -> bool:
        """Whether the most similar bin loses less than half of the largest loss."""
        return bool(self.drop[-1] < self.drop[self.largest] / 2)


def find_supports(cell: CellTable) -> Supports | None:
    """Return the teachers of a cell; None if no support sizes were compared."""
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
    """Yield the tables by size, by seed and with Retrain, if support sizes were compared."""
    supports = find_supports(cell)
    if supports is None:
        return
    rows = [TableRow(cell, supports.run, str(size), size) for size in supports.sizes]
    texts = {"method": supports.label, "title": cell.title, "spread": describe_spread(cell)}
    yield Table(
        "support-sizes",
        "Support size, without Retrain",
        [build_grid("k", SIZE_COLUMNS, [rows])],
        SIZES.format(**texts),
        describe_metrics(column.metric for column in SIZE_COLUMNS),
        build_records(rows, SIZE_COLUMNS),
    )
    yield Table(
        "support-auto",
        "k: auto",
        [_build_auto_grid(supports)],
        AUTO.format(**texts),
        records=[_make_step_record(step) for step in supports.steps],
    )
    difference = Column(heading=DIFFERENCE.heading, show=_show_difference)
    yield Table(
        "support-retrain",
        "Support size after the fact: this uses Retrain",
        [build_grid("k", [KL_RETRAIN, difference], [rows, _retrains_line(supports)])],
        AFTER_THE_FACT.format(**texts),
        describe_metrics([KL_RETRAIN.metric]),
        build_records(rows, [KL_RETRAIN]),
    )


def _show_difference(row: TableRow) -> Field:
    """Return the field of the teacher's accuracy on the forget set minus Retrain's."""
    teacher, reference = Column("support_teacher_ua"), row.cell.reference
    values = teacher.values(row) - row.cell.values(reference, "ua")
    return Field(
        DIFFERENCE.text(mean(values), std(values), sign=True),
        mean(values),
        source=teacher.source(row),
        also=(number_source(reference, "ua"),),
    )


def _retrains_line(supports: Supports) -> list[Line]:
    """Return the row of the KL divergence between Retrains of two seeds; no row with one seed."""
    between = Column("support_kl_retrains").field(TableRow(supports.cell, supports.run, ""))
    known = [] if math.isnan(between.order) else [between]
    return [Line("two Retrains", [field, Field("")], is_aside=True) for field in known]


def _build_auto_grid(supports: Supports) -> Grid:
    """Return the grid of `k: auto` with one row per seed."""
    bins = supports.cell.indices(supports.run, "support_drop")
    seen = {step.seed: _show_step(step, supports.run, bins) for step in supports.steps}
    lines = [Line(str(seed), list(fields.values())) for seed, fields in seen.items()]
    return Grid("Seed", list(next(iter(seen.values()))), [lines])


def _show_step(step: Step, run: str, bins: Sequence[str]) -> dict[str, Field]:
    """Return the fields of a step of gradient ascent, by heading."""

    def show(name: str, number: float, at: str | None = None) -> Field:
        metric = f"support_{name}"
        text = find_metric(metric).text(number)
        return Field(text, number, source=number_source(run, metric, at=at))

    largest, first = bins[step.largest], bins[-step.num_included]
    return {
        "Rate": show("step_rate", step.rate),
        "Top bin loses": show("drop", step.drop[-1], bins[-1]),
        "Largest loss": show("drop", step.drop[step.largest], largest),
        "in a bin of": show("bin_count", step.counts[step.largest], largest),
        "Bins": Field(find_metric("support_bin_count").text(step.num_included), step.num_included),
        "From": show("bin_low", step.least_similarity, first),
        "Auto's k": show("auto", step.auto),
    }


def _make_step_record(step: Step) -> dict[str, Any]:
    return {
        "seed": step.seed,
        "rate": step.rate,
        "top_drop": float(step.drop[-1]),
        "largest_drop": float(step.drop[step.largest]),
        "largest_drop_count": float(step.counts[step.largest]),
        "num_bins": step.num_included,
        "least_similarity": step.least_similarity,
        "k": step.auto,
    }


def words(cell: CellTable) -> str:
    """Return sentences on the size that `k: auto` chooses; empty without support sizes."""
    supports = find_supports(cell)
    return _describe_auto(supports) + _describe_one_class(supports) if supports else ""


def _describe_auto(supports: Supports) -> str:
    """Return sentences on the size that `k: auto` chooses, its learning rate and similarity."""
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
            f" In {_list_seeds(short)} another bin loses more than twice as much as the most "
            "similar one, which is taken alone, because it always is."
        )
    if weak := [step.seed for step in steps if step.drop[-1] < MIN_DROP]:
        seeds = _list_seeds(weak)
        text += f" In {seeds} no rate of the series costs it 5 points; the last was taken."
    return text


def _list_seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _describe_one_class(supports: Supports) -> str:
    """Return a sentence on the largest support that has one class only; empty if none has."""
    alone = [
        size
        for size, classes in zip(supports.sizes, supports.values("num_classes"), strict=True)
        if mean(classes) == 1
    ]
    return f" A support of {max(alone)} or fewer is of one class in every seed." if alone else ""
