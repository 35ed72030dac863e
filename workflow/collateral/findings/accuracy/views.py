"""Plot of each run's accuracy on the affected classes minus the accuracy of the reference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from collateral.contract.metrics import PERCENT
from collateral.findings._shared.captions import fill_caption, join_sentences
from collateral.findings._shared.compare import noise_floor_of_gap
from collateral.findings._shared.series import NOISE_LABEL, average_seeds, find_looks, plot_cell
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.metrics.arrays import AnyFloats
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_differences
from collateral.results.table import CellTable

RATES = TERMS["avg_gap_affected"]
CAPTION = (
    "Accuracy on the affected classes, those that have a forgotten example, minus {reference}'s: "
    "on their retained (RA), forgotten (UA) and test examples (TA). RA is undefined where all of "
    "them is forgotten. Bars: 95 % intervals over seeds. A collapsed run does not set the scale."
)
NOISE = "Grey: where 95 % of differences between retrainings lie."


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield a bar plot: each run's accuracy on the affected classes minus the reference's.

    Nothing is yielded if there are no runs to draw.
    """
    if not find_looks(cell) or set(RATES).isdisjoint(cell.metrics(cell.reference)):
        return
    panel, reference = _panel(cell), cell.reference_label
    axis = Axis(f"Unlearned − {reference} (points)", limits=fit_differences([panel]))
    reading = f"Below zero: less accurate than {reference}."
    caption = join_sentences(fill_caption(CAPTION, cell), NOISE if cell.has_retrain else "")
    yield plot_cell(cell, "affected", [replace(panel, y=axis)], caption, reading=reading)


def _panel(cell: CellTable) -> Panel:
    reference = {metric: cell.values(cell.reference, metric) for metric in RATES}
    names = {}
    for place, (metric, values) in enumerate(reference.items()):
        label = find_metric(metric).label
        names[float(place)] = f"{label}\n(undefined)" if np.isnan(values).all() else label
    noise = [PERCENT * noise_floor_of_gap(cell, metric) for metric in RATES]
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
        bar_format="+.0f",
        unit=" points",
    )


def _bars(
    cell: CellTable, run: str, reference: Mapping[str, AnyFloats], noise: Sequence[float]
) -> Series:
    """Return the bars of a run: its mean accuracies minus those of the reference.

    The intervals are computed from the differences of single seeds.
    """
    pairs = [(cell.values(run, metric), reference[metric]) for metric in RATES]
    paired = [PERCENT * (own - other) for own, other in pairs]
    heights = [PERCENT * (mean(own) - mean(other)) for own, other in pairs]
    more = {"noise": noise, "details": {"of": [find_metric(metric).label for metric in RATES]}}
    bars = average_seeds(cell, run, range(len(RATES)), paired, mark="bar", **more)
    shifts = np.subtract(heights, bars.y)
    low, high = (np.add(ends, shifts).tolist() for ends in (bars.low, bars.high))
    return replace(bars, y=heights, low=low, high=high)
