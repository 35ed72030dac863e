"""Plot of the affected classes: each run's accuracies minus those of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from collateral.findings._shared.captions import join_sentences
from collateral.findings._shared.compare import noise_floor
from collateral.findings._shared.series import (
    NOISE_LABEL,
    average_seeds,
    describe_failures,
    describe_seeds,
    find_looks,
)
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import Floats, mean
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_differences
from collateral.results.table import CellTable

RATES = TERMS["avg_gap_affected"]
CAPTION = (
    "Accuracy on the affected classes, those that have a forgotten example, minus {reference}'s: "
    "on their retained (RA), forgotten (UA) and test examples (TA). RA is undefined where all of "
    "them is forgotten. Bars: 95 % intervals over seeds. A collapsed run does not set the scale."
)
NOISE_CAPTION = "Grey: where 95 % of differences between retrainings lie."


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the bar plot of the affected classes, if there are runs."""
    if not find_looks(cell) or set(RATES).isdisjoint(cell.metrics(cell.reference)):
        return
    panel, reference = _panel(cell), cell.reference_label
    axis = Axis(f"Unlearned − {reference} (points)", limits=fit_differences([panel]))
    caption = CAPTION.format(reference=reference)
    caption = join_sentences(caption, NOISE_CAPTION if cell.has_retrain else "")
    reading = f"Below zero: less accurate than {reference}. {describe_seeds(cell)}"
    notes = [reading, *describe_failures(cell)]
    yield Plot("affected", cell.title, caption, [replace(panel, y=axis)], notes=notes)


def _panel(cell: CellTable) -> Panel:
    reference = {metric: cell.values(cell.reference, metric) for metric in RATES}
    names = {
        float(place): find_metric(metric).label + "\n(undefined)" * bool(np.isnan(values).all())
        for place, (metric, values) in enumerate(reference.items())
    }
    noise = [find_metric(metric).factor * noise_floor(cell, metric) for metric in RATES]
    series = [_bars(cell, run, reference, noise) for run in find_looks(cell)]
    bands = [
        Band(place - 0.48, place + 0.48, -half, half, NOISE_LABEL)
        for place, half in enumerate(noise)
        if np.isfinite(half)
    ]
    return Panel(
        series,
        x=Axis(ticks=names, limits=(-0.55, len(RATES) - 0.45)),
        levels=[Level(0.0)],
        bands=bands,
        value_name="difference",
        number_format="+.1f",
        unit=" points",
    )


def _bars(
    cell: CellTable, run: str, reference: Mapping[str, Floats], noise: Sequence[float]
) -> Series:
    """Return the bars of a run: its mean minus the reference's mean, as in the tables.

    The intervals are those of the differences seed by seed.
    """
    values = {metric: cell.values(run, metric) for metric in RATES}
    paired = [find_metric(m).factor * (values[m] - reference[m]) for m in RATES]
    heights = [find_metric(m).factor * (mean(values[m]) - mean(reference[m])) for m in RATES]
    details = {"of": [find_metric(metric).label for metric in RATES]}
    bars = average_seeds(
        cell, run, range(len(RATES)), paired, mark="bar", noise=noise, details=details
    )
    shifts = [height - own for height, own in zip(heights, bars.y, strict=True)]
    low, high = (
        [end + shift for end, shift in zip(ends, shifts, strict=True)]
        for ends in (bars.low, bars.high)
    )
    return replace(bars, y=heights, low=low, high=high)
