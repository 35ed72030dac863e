"""The difference from Retrain as a function of similarity to the forget set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from collateral.findings._shared.captions import join_sentences
from collateral.findings._shared.compare import noise_floor_by_sd
from collateral.findings._shared.series import (
    NOISE_LABEL,
    average_seeds,
    count_examples,
    describe_failures,
    describe_seeds,
    find_looks,
    sets_scale,
)
from collateral.findings.metric_index import find_metric
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, fit_differences
from collateral.results.table import CellTable, mean

SETS = {"retain": "Retained examples", "test": "Test examples"}
MEASURES = {"delta_acc": "Accuracy", "delta_conf": "True-class confidence"}
FEW = 5  # examples in a bin: drawn faint
CAPTION = (
    "Difference from Retrain by similarity to the forget set (where several classes are affected, "
    "to the nearest one's forgotten examples), seed i against seed i, in ten bins of equal width; "
    "an empty bin is a gap. Below: examples per bin, mean over seeds, on a logarithmic scale. "
    "Bars: 95 % intervals over seeds. On the page, bins of fewer than five examples are faint."
)
NOISE_CAPTION = (
    "Grey: where 95 % of differences between retrainings lie; a line inside it is no finding."
)


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the difference from Retrain by similarity, if there are bins and runs."""
    if not find_looks(cell) or not cell.indices(cell.reference, "bin_low", "retain"):
        return
    rows = []
    for metric, name in MEASURES.items():
        panels = [_difference_panel(cell, metric, one) for one in SETS]
        limits = fit_differences(panels)
        title = cell.said(f"{name}:\nRetrain − unlearned (points)")
        rows += [replace(panels[0], y=Axis(title, limits=limits))]
        rows += [replace(panels[1], y=Axis(limits=limits))]
    rows += [
        _count_panel(cell, one, title) for one, title in zip(SETS, ("Examples", ""), strict=True)
    ]
    caption = join_sentences(cell.said(CAPTION), NOISE_CAPTION if cell.has_retrain else "")
    reading = cell.said("Above zero: less accurate, or less confident, than Retrain.")
    notes = [f"{reading} {describe_seeds(cell)}{_name_collapsed(cell)}", *describe_failures(cell)]
    yield Plot("similarity", cell.title, caption, rows, columns=2, notes=notes)


def _difference_panel(cell: CellTable, metric: str, name: str) -> Panel:
    bins, factor = cell.indices(cell.reference, "bin_low", name), find_metric(metric).factor
    lows, highs = _edges(cell, name)
    noise = [factor * noise_floor_by_sd(cell, metric, name, b) for b in bins]
    counts = [mean(cell.values(cell.reference, "bin_count", name, b)) for b in bins]
    series = [
        average_seeds(
            cell,
            run,
            (lows + highs) / 2,
            [factor * cell.values(run, metric, name, b) for b in bins],
            noise=noise,
            is_faint=[count < FEW for count in counts],
            details={"examples": [f"{count:.0f}" for count in counts]},
        )
        for run in find_looks(cell)
    ]
    bands = [
        Band(low, high, -half, half, NOISE_LABEL)
        for low, high, half in zip(lows, highs, noise, strict=True)
        if np.isfinite(half)
    ]
    return Panel(
        series,
        SETS[name] if metric == next(iter(MEASURES)) else "",
        x=Axis(limits=(lows[0], highs[-1])),
        levels=[Level(0.0)],
        bands=bands,
        dodge=float((highs - lows).min()) / 3,
        value_name="difference",
        number_format="+.1f",
        unit=" points",
    )


def _count_panel(cell: CellTable, name: str, title: str) -> Panel:
    """Return the number of examples in each bin; one example in one seed is a visible bar."""
    bins, (lows, highs) = cell.indices(cell.reference, "bin_low", name), _edges(cell, name)
    counts = [mean(cell.values(cell.reference, "bin_count", name, b)) for b in bins]
    ends, least = (lows[0], highs[-1]), 0.5 / len(cell.seeds)
    return count_examples(((lows + highs) / 2).tolist(), counts, ends, least, title)


def _edges(cell: CellTable, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper edges of the bins of a set."""
    bins = cell.indices(cell.reference, "bin_low", name)
    lows = [cell.number(cell.reference, "bin_low", name, b) for b in bins]
    last = cell.number(cell.reference, "bin_high", name, bins[-1])
    return np.array(lows), np.array([*lows[1:], last])


def _name_collapsed(cell: CellTable) -> str:
    lost = [cell.labels[run] for run in find_looks(cell) if not sets_scale(cell, run)]
    return f" Collapsed, at the edge where beyond it: {', '.join(lost)}." if lost else ""
