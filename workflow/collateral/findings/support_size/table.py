"""What the page says of support sizes: without Retrain, and, apart, after the fact."""

import math

import numpy as np
from numpy.typing import NDArray

from collateral.findings.catalogue import METRICS
from collateral.report.grids import Field, Grid, Line
from collateral.findings._shared.display import EMPTY, Shown, signed
from collateral.results.table import REFERENCE, mean, std
from collateral.findings.support_size.words import Step, Supports

DIGITS = {"%": 1, "nats": 3, "cosine": 2, "epochs": 1, "classes": 1}
BY_SIZE = (
    *("least_similarity", "num_classes", "epochs", "accuracy"),
    *("teacher_ua", "top_mass", "kl_previous"),
)
SPREAD = "Mean ± sample standard deviation over seeds."
AUTO_HEADINGS = ("Rate", "Top bin loses", "Largest loss", "in a bin of", "Bins", "From", "Auto's k")


def of_sizes(supports: Supports) -> Grid:
    """Return the teachers' numbers by size."""
    columns = {name: supports.values(name) for name in BY_SIZE}
    floors = supports.floors()
    lines = [
        Line(
            str(size),
            "",
            [
                *(_field(name, values[place]) for name, values in columns.items()),
                _field("floor", floors[place : place + 1]),
            ],
        )
        for place, size in enumerate(supports.sizes)
    ]
    headings = [_heading(name) for name in (*BY_SIZE, "floor")]
    return Grid("Support size", headings, [lines], SPREAD, corner="k")


def of_auto(supports: Supports) -> Grid:
    """Return what `k: auto` saw in each seed, and took."""
    lines = [Line(f"seed {step.seed}", "", _auto_fields(step)) for step in supports.steps]
    caption = (
        "One step of gradient ascent and the bins of similarity, by seed. Losses are in points of "
        "accuracy; a bin's size is in examples."
    )
    return Grid("k: auto", list(AUTO_HEADINGS), [lines], caption)


def _auto_fields(step: Step) -> list[Field]:
    values = (
        (step.rate, ".2g"),
        (100 * step.drop[-1], ".1f"),
        (100 * step.drop[step.largest], ".1f"),
        (step.counts[step.largest], ".0f"),
        (step.num_taken, "d"),
        (step.least_similarity, ".2f"),
        (step.auto, "d"),
    )
    return [Field(Shown(format(value, digits)), float(value)) for value, digits in values]


def of_retrain(supports: Supports) -> Grid:
    """Return how far the teachers are from Retrain, by size."""
    divergences, accuracies = supports.values("kl_retrain"), supports.values("teacher_ua")
    difference = accuracies - supports.cell.values(REFERENCE, "ua")
    lines = [
        Line(
            str(size),
            "",
            [_field("kl_retrain", divergences[place]), _difference(difference[place])],
        )
        for place, size in enumerate(supports.sizes)
    ]
    floor = np.array([supports.cell.number(supports.run, "support_floor_retrain")])
    groups = [lines]
    if not math.isnan(floor[0]):
        groups.append([Line("two Retrains", "", [_field("kl_retrain", floor), Field(Shown(""))])])
    headings = [_heading("kl_retrain"), "Teacher's accuracy − Retrain's UA"]
    return Grid("Support size", headings, groups, SPREAD, corner="k")


def _heading(name: str) -> str:
    metric = METRICS[f"support_{name}"]
    return f"{metric.label} ({metric.unit})" if metric.unit in ("%", "nats") else metric.label


def _field(name: str, values: NDArray[np.float64]) -> Field:
    metric = METRICS[f"support_{name}"]
    center, spread = metric.factor * mean(values), metric.factor * std(values)
    if math.isnan(center):
        return Field(Shown(EMPTY))
    digits = DIGITS[metric.unit]
    suffix = "" if math.isnan(spread) else f" ± {spread:.{digits}f}"
    return Field(Shown(f"{center:.{digits}f}{suffix}"), center)


def _difference(values: NDArray[np.float64]) -> Field:
    center, spread = mean(values), std(values)
    if math.isnan(center):
        return Field(Shown(EMPTY))
    suffix = "" if math.isnan(spread) else f" ± {100 * spread:.1f}"
    return Field(Shown(signed(center) + suffix), abs(center))
