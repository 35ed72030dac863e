"""Curves of relearning: accuracy by step, and how far it is above Retrain's."""

from collections.abc import Iterator
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import BAND, BAND_NOTE, LEVEL, ZERO, draw_line, fit_rates
from collateral.findings._shared.statistics import Floats
from collateral.findings._shared.style import WIDTH, Look, annotate, looks, style
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable

CURVE = "relearn_accuracy"
RETRAIN = Look(LEVEL["color"], "", LEVEL["linestyle"], control=True)
CAPTION = (
    "Fine-tuned on half of the forget set, every model alike: accuracy on the other half by step, "
    "and the same minus Retrain's of the seed. Above zero, it knows more than Retrain after as "
    "many steps. Step 0: as unlearned. Dashed: Retrain. Bands: standard error over seeds, all with "
    "one parting of the forget set."
)


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the curves, where models were fine-tuned."""
    if cell.indices(REFERENCE, CURVE):
        yield Picture("relearn", draw(cell), CAPTION)


@style()
def draw(cell: CellTable) -> Figure:
    """Draw the curves left, and their distance from Retrain's right."""
    runs = {run: look for run, look in looks(cell).items() if cell.indices(run, CURVE)}
    fig = Figure(figsize=(WIDTH, 3.4 + 0.12 * (len(runs) // 5)), layout="constrained")
    left, right = fig.subplots(1, 2)
    steps = [int(at) for at in cell.indices(REFERENCE, CURVE)]
    retrained = curves(cell, REFERENCE)
    for run, look in runs.items():
        own = curves(cell, run)
        thin = replace(look, marker="")  # a marker a step would hide the lines
        draw_line(left, steps, own, thin, cell.labels[run], BAND)
        gap = [a - b for a, b in zip(own, retrained, strict=True)]
        draw_line(right, steps, gap, thin, cell.labels[run], BAND)
    draw_line(left, steps, retrained, RETRAIN, "Retrain", BAND)
    fit_rates(left)
    _label(left, metric_of(CURVE).heading)
    right.axhline(0, **ZERO)
    _label(right, "Minus Retrain's (points)")
    reading = "Above zero: it knows more than Retrain after as many steps. Dashed, dark: Retrain."
    annotate(fig, left, cell, reading, BAND_NOTE, "relearning")
    return fig


def curves(cell: CellTable, run: str) -> list[Floats]:
    """Return the accuracy in percent after each step, by seed."""
    factor = metric_of(CURVE).factor
    steps = cell.indices(REFERENCE, CURVE)
    return [factor * cell.values(run, CURVE, at=step) for step in steps]


def _label(axes: Axes, title: str) -> None:
    axes.grid(axis="y")
    axes.set_title(title)
    axes.set_xlabel("Step")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
