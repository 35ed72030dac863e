"""Plot of the accuracies after every epoch of the tracked runs."""

import math
from collections.abc import Iterator
from dataclasses import replace

from collateral.contract.rows import TRACKED
from collateral.findings._shared.captions import fill_caption, join_sentences
from collateral.findings._shared.series import average_seeds, find_looks, plot_cell, with_level
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Panel, Plot, Series, fit_y
from collateral.results.table import CellTable

# Metrics, one panel for each; `ua_affected` is left out, because it equals UA.
METRICS = ("ra", "ua", "ta", "ra_affected", "ta_affected")
CAPTION = (
    "Accuracy after every epoch of a method's own training: on all examples, and on the affected "
    "classes. Epoch 0: the base model. Dashed: {reference}. Bands: 95 % intervals over "
    "seeds. The panels' scales differ, and fit epoch 0 and the later half of the epochs where an "
    "earlier epoch would more than double them; arrows: a line or a band goes on beyond the axis."
)
MOST = 2.0  # factor by which early epochs may extend an axis
NOISE = "Grey: the range of 95 % of the means of other retrainings."


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of accuracies by epoch, if at least one run is tracked."""
    runs = [run for run in find_looks(cell) if cell.indices(run, f"{TRACKED}ua")]
    if not runs:
        return
    known = [metric for metric in METRICS if has_level(cell, metric)]
    panels = [_panel(cell, runs, metric) for metric in known]
    caption = join_sentences(fill_caption(CAPTION, cell), NOISE if cell.has_retrain else "")
    missing = [find_metric(metric).label for metric in METRICS if metric not in known]
    reading = join_sentences(
        f"Epoch 0: the base model. Dashed: {cell.reference_label}.",
        f"Undefined here, and not drawn: {', '.join(missing)}." if missing else "",
    )
    plot = plot_cell(cell, "epochs", panels, caption, "by epoch", reading)
    yield replace(plot, columns=3, row_height=1.7)


def has_level(cell: CellTable, metric: str) -> bool:
    """Tell whether a metric of the reference is defined; not RA of classes forgotten as a whole."""
    return not math.isnan(mean(cell.values(cell.reference, metric)))


def _panel(cell: CellTable, runs: list[str], metric: str) -> Panel:
    shown, tracked = find_metric(metric), f"{TRACKED}{metric}"
    series = []
    for run in runs:
        epochs = cell.indices(run, tracked)
        values = [shown.factor * cell.values(run, tracked, at=epoch) for epoch in epochs]
        details = {"of": [shown.label] * len(epochs)}
        series.append(average_seeds(cell, run, [int(e) for e in epochs], values, details=details))
    panel = Panel(series, shown.heading, Axis("Epoch", is_whole=True), interval="area")
    panel = replace(panel, value_name="mean", x_name="epoch")
    drawn = with_level(panel, cell, metric)
    late = with_level(replace(panel, series=[leave_out_start(one) for one in series]), cell, metric)
    (low, high), (late_low, late_high) = fit_y(drawn), fit_y(late)
    return replace(drawn, y=late.y) if high - low > MOST * (late_high - late_low) else drawn


def leave_out_start(series: Series) -> Series:
    """Return epoch 0 and the later half of the epochs of a series."""
    kept = [at for at, epoch in enumerate(series.x) if not 0 < epoch < max(series.x) / 2]
    x, y, low, high = (
        [values[at] for at in kept] for values in (series.x, series.y, series.low, series.high)
    )
    return replace(series, x=x, y=y, low=low, high=high)
