"""LTD's teachers by the size of their support: without Retrain, and apart from it with Retrain."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_metrics, describe_spread
from collateral.findings.columns import Column, TableRow, build_grid, build_records, number_source
from collateral.findings.metric_index import find_metric
from collateral.findings.support_size.reading import Step, Supports, span, supports_of
from collateral.results.table import CellTable, mean, std

SIZE_COLUMNS = [
    *map(Column, ("support_least_similarity", "support_num_classes", "support_epochs")),
    *map(Column, ("support_accuracy", "support_teacher_ua", "support_top_mass")),
    *map(Column, ("support_kl_previous", "support_kl_seeds")),
]
KL_RETRAIN = Column("support_kl_retrain")
DIFFERENCE = Metric("Teacher's accuracy − Retrain's UA", "", "points")
SIZES = "{method}'s teachers by the size k of their support, without Retrain: {title}. {spread}"
AUTO = (
    "What k: auto saw in each seed, and took: {title}. One step of gradient ascent on the forget "
    "set, and the bins of similarity that it hurts. Losses are in points of accuracy, sizes of "
    "bins in examples."
)
AFTER_THE_FACT = "{method}'s teachers held against Retrain, after the fact: {title}. {spread}"
MIN_DROP = 0.05  # LTD's least loss of the most similar bin at which `k: auto` takes a rate


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the tables by size, by seed and with Retrain, if several sizes were tried."""
    supports = supports_of(cell)
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
    """Return the teacher's accuracy on the forget set minus Retrain's."""
    teacher, reference = Column("support_teacher_ua"), row.cell.reference
    values = teacher.values(row) - row.cell.values(reference, "ua")
    return Field(
        DIFFERENCE.text(mean(values), std(values), sign=True),
        mean(values),
        source=teacher.source(row),
        also=(number_source(reference, "ua"),),
    )


def _retrains_line(supports: Supports) -> list[Line]:
    """Return the row of the divergence between two Retrains, if it is known."""
    between = Column("support_kl_retrains").field(TableRow(supports.cell, supports.run, ""))
    known = [] if math.isnan(between.order) else [between]
    return [Line("two Retrains", [field, Field("")], is_aside=True) for field in known]


def _build_auto_grid(supports: Supports) -> Grid:
    """Return a grid with one row per seed."""
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

    largest, first = bins[step.largest], bins[-step.num_taken]
    return {
        "Rate": show("step_rate", step.rate),
        "Top bin loses": show("drop", step.drop[-1], bins[-1]),
        "Largest loss": show("drop", step.drop[step.largest], largest),
        "in a bin of": show("bin_count", step.counts[step.largest], largest),
        "Bins": Field(find_metric("support_bin_count").text(step.num_taken), step.num_taken),
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
        "num_bins": step.num_taken,
        "least_similarity": step.least_similarity,
        "k": step.auto,
    }


def words(cell: CellTable) -> str:
    """Return sentences on the size that `k: auto` chooses, if several sizes were tried."""
    supports = supports_of(cell)
    return _describe_auto(supports) + _describe_one_class(supports) if supports else ""


def _describe_auto(supports: Supports) -> str:
    """Return how many examples `k: auto` takes, at which rate, from which similarity."""
    steps = supports.steps
    rates = span([step.rate for step in steps], "support_step_rate")
    losses = span([float(step.drop[-1]) for step in steps], "support_drop")
    least = span([step.least_similarity for step in steps], "support_bin_low")
    text = (
        f"k: auto takes {span(supports.auto, 'support_auto')} examples. One step of gradient "
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
    """Return up to which size the support has one class, so that the teacher learns no other."""
    alone = [
        size
        for size, classes in zip(supports.sizes, supports.values("num_classes"), strict=True)
        if mean(classes) == 1
    ]
    return f" A support of {max(alone)} or fewer is of one class in every seed." if alone else ""
