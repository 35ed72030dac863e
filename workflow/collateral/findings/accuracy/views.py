"""Plot of each run's accuracy on the affected classes minus the accuracy of the reference."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from collateral.contract.metrics import PERCENT
from collateral.findings._shared.captions import fill_caption, join_sentences
from collateral.findings._shared.compare import noise_floor_of_gap
from collateral.findings._shared.series import NOISE_LABEL, average_seeds, find_looks, plot_cell
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_differences
from collateral.results.table import CellTable

RATES = TERMS["avg_gap_affected"]
CAPTION = (
    "Accuracy on the affected classes, those that have a forgotten example, minus {reference}'s: "
    "on their retained (RA), forgotten (UA) and test examples (TA). RA is undefined where all of "
    "them is forgotten. Lines: 95 % intervals over seeds. A collapsed run does not set the scale: "
    "it is drawn at the edge where it is beyond."
)
# Height of the figure on the web page: of everything but the rows, and of each row, in inches.
AROUND, ROW = 0.3, 0.24
AREA = 25.0  # area of a mark, in square points
CONTROL = "o"  # marker of controls
NOISE = "Grey: where 95 % of differences between retrainings lie."


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield a plot with a row per run: its accuracy on the affected classes minus the reference's.

    Nothing is yielded if there are no runs to draw.
    """
    if not find_looks(cell) or set(RATES).isdisjoint(cell.metrics(cell.reference)):
        return
    reference = cell.reference_label
    runs = {run: _differences(cell, run) for run in find_looks(cell)}
    # One panel over all differences fits the axis that the panels share.
    limits = fit_differences([Panel([*runs.values()], levels=[Level(0.0)])])
    axis = Axis(f"Unlearned − {reference} (points)", limits=limits)
    panels = [_panel(cell, runs, place, axis) for place in range(len(RATES))]
    reading = f"Left of zero: less accurate than {reference}."
    caption = join_sentences(fill_caption(CAPTION, cell), NOISE if cell.has_retrain else "")
    plot = plot_cell(cell, "affected", panels, caption, reading=reading, columns=len(panels))
    yield replace(plot, row_height=AROUND + ROW * len(runs), names_are_legend=True)


def _differences(cell: CellTable, run: str) -> Series:
    """Return a run's mean accuracies minus those of the reference, one per metric of RATES.

    The intervals are computed from the differences of single seeds.
    """
    reference = [cell.values(cell.reference, metric) for metric in RATES]
    pairs = [(cell.values(run, metric), of) for metric, of in zip(RATES, reference, strict=True)]
    paired = [PERCENT * (own - other) for own, other in pairs]
    means = [PERCENT * (mean(own) - mean(other)) for own, other in pairs]
    found = average_seeds(cell, run, range(len(RATES)), paired)
    shifts = np.subtract(means, found.y)
    low, high = (np.add(ends, shifts).tolist() for ends in (found.low, found.high))
    return replace(found, y=means, low=low, high=high)


def _panel(cell: CellTable, runs: Mapping[str, Series], place: int, axis: Axis) -> Panel:
    """Return the panel of one metric: a row per run, with its mean difference and interval."""
    metric, rows = find_metric(RATES[place]), len(runs)
    noise = PERCENT * noise_floor_of_gap(cell, RATES[place])
    is_lost = bool(np.isnan(cell.values(cell.reference, RATES[place])).all())
    ticks = {float(row): cell.labels[run] if place == 0 else "" for row, run in enumerate(runs)}
    return Panel(
        [_mark(one, place, row, noise) for row, one in enumerate(runs.values())],
        metric.label,
        replace(axis, title=axis.title if place == len(RATES) // 2 else ""),
        Axis(limits=(-0.6, rows - 0.4), ticks=ticks, is_reversed=True),
        levels=[Level(0.0, "x")],
        bands=[Band(-noise, noise, label=NOISE_LABEL)] if np.isfinite(noise) else [],
        message="undefined" if is_lost else "",
        value_name="difference",
        number_format="+.1f",
        unit=" points",
    )


def _mark(one: Series, place: int, row: int, noise: float) -> Series:
    """Return the mark of a run in the panel of one metric."""
    marker = one.look.marker or CONTROL
    return replace(
        one,
        look=replace(one.look, marker=marker),
        x=[one.y[place]],
        y=[float(row)],
        low=[one.low[place]],
        high=[one.high[place]],
        n=[one.n[place]],
        noise=[noise],
        details={"of": [find_metric(RATES[place]).label]},
        areas=[AREA],
        mark="point",
        is_across=True,
        is_hollow=one.look.is_control,
    )
