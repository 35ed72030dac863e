"""LTD's teachers by the size of their support: without Retrain, and, apart, after the fact."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import described, over_seeds
from collateral.findings._shared.tables import csv_record, field_by_seed, field_of, source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.support_size.reading import Step, Supports, supports_of
from collateral.results.table import REFERENCE, CellTable

BY_SIZE = (
    *("support_least_similarity", "support_num_classes", "support_epochs", "support_accuracy"),
    *("support_teacher_ua", "support_top_mass", "support_kl_previous"),
)
BETWEEN_SEEDS = "support_kl_seeds"
KL_RETRAIN = "support_kl_retrain"
DIFFERENCE = Metric("Teacher's accuracy − Retrain's UA", "", "points")
SIZES = "{method}'s teachers by the size k of their support, without Retrain: {title}. {spread}"
AUTO = (
    "What k: auto saw in each seed, and took: {title}. One step of gradient ascent on the forget "
    "set, and the bins of similarity that it hurts. Losses are in points of accuracy, sizes of "
    "bins in examples."
)
AFTER_THE_FACT = "{method}'s teachers held against Retrain, after the fact: {title}. {spread}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the tables by size, by seed and against Retrain; nothing where no sizes were tried."""
    supports = supports_of(cell)
    if supports is None:
        return
    words = {"method": supports.label, "title": cell.title, "spread": over_seeds(cell)}
    yield Table(
        "support-sizes",
        "Support size, without Retrain",
        [_sizes(supports)],
        SIZES.format(**words),
        described([*BY_SIZE, BETWEEN_SEEDS]),
        list(_records(supports, [*BY_SIZE, BETWEEN_SEEDS])),
    )
    yield Table(
        "support-auto",
        "k: auto",
        [_auto(supports)],
        AUTO.format(**words),
        records=[_step_record(step) for step in supports.steps],
    )
    yield Table(
        "support-retrain",
        "Support size after the fact: this uses Retrain",
        [_after(supports)],
        AFTER_THE_FACT.format(**words),
        described([KL_RETRAIN]),
        list(_records(supports, [KL_RETRAIN])),
    )


def _records(supports: Supports, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    for size in supports.sizes:
        for metric in metrics:
            yield csv_record(supports.cell, supports.run, metric, at=size)


def _sizes(supports: Supports) -> Grid:
    lines = [
        Line(str(size), [*_fields(supports, size, BY_SIZE), _floor(supports, size, floor)])
        for size, floor in zip(supports.sizes, supports.floors, strict=True)
    ]
    return Grid("k", [metric_of(name).heading for name in (*BY_SIZE, BETWEEN_SEEDS)], [lines])


def _fields(supports: Supports, size: int, metrics: Sequence[str]) -> list[Field]:
    cell, run = supports.cell, supports.run
    return [field_by_seed(cell, run, name, at=size) for name in metrics]


def _floor(supports: Supports, size: int, floor: float) -> Field:
    source = source_of(supports.run, BETWEEN_SEEDS, at=size)
    return replace(_overall(BETWEEN_SEEDS, floor), source=source)


def _overall(metric: str, number: float) -> Field:
    return Field(metric_of(metric).text(number), number)


def _auto(supports: Supports) -> Grid:
    steps, bins = supports.steps, supports.cell.indices(supports.run, "support_drop")
    lines = [
        Line(str(step.seed), [field for _, field in _seen(step, supports.run, bins)])
        for step in steps
    ]
    return Grid("Seed", [heading for heading, _ in _seen(steps[0], "", bins)], [lines])


def _seen(step: Step, run: str, bins: Sequence[str]) -> list[tuple[str, Field]]:
    """Return what a step showed, by heading."""

    def shown(name: str, number: float, at: str | None = None) -> Field:
        metric = f"support_{name}"
        return replace(_overall(metric, number), source=source_of(run, metric, at=at))

    largest, first = bins[step.largest], bins[-step.num_taken]
    return [
        ("Rate", shown("step_rate", step.rate)),
        ("Top bin loses", shown("drop", step.drop[-1], bins[-1])),
        ("Largest loss", shown("drop", step.drop[step.largest], largest)),
        ("in a bin of", shown("bin_count", step.counts[step.largest], largest)),
        ("Bins", _overall("support_bin_count", step.num_taken)),
        ("From", shown("bin_low", step.least_similarity, first)),
        ("Auto's k", shown("auto", step.auto)),
    ]


def _step_record(step: Step) -> dict[str, Any]:
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


def _after(supports: Supports) -> Grid:
    retrained = supports.cell.values(REFERENCE, "ua")
    differences = supports.values("teacher_ua") - retrained
    lines = [
        Line(
            str(size),
            [
                *_fields(supports, size, [KL_RETRAIN]),
                replace(
                    field_of(DIFFERENCE, difference, sign=True),
                    source=source_of(supports.run, "support_teacher_ua", at=size),
                    also=(source_of(REFERENCE, "ua"),),
                ),
            ],
        )
        for size, difference in zip(supports.sizes, differences, strict=True)
    ]
    floor = supports.cell.number(supports.run, "support_kl_retrains")
    source = source_of(supports.run, "support_kl_retrains")
    between = replace(_overall(KL_RETRAIN, floor), source=source)
    two = Line("two Retrains", [between, Field("")], is_aside=True)
    groups = [lines] if math.isnan(floor) else [lines, [two]]
    return Grid("k", [metric_of(KL_RETRAIN).heading, DIFFERENCE.heading], groups)
