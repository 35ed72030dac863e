"""Relearning: accuracy on the held-out half of the forget set, by step of fine-tuning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from collateral.findings._shared.series import (
    average_seeds,
    describe_failures,
    describe_seeds,
    find_looks,
)
from collateral.findings._shared.statistics import Floats
from collateral.findings.metric_index import find_metric
from collateral.plots.plot import Axis, Level, Panel, Plot, fit_rates
from collateral.plots.style import RETRAIN
from collateral.results.table import REFERENCE, CellTable

CURVE = "relearn_accuracy"
CAPTION = (
    "Fine-tuned on half of the forget set, every model alike: accuracy on the other half by step, "
    "and the same minus Retrain's of the seed. Above zero, a model knows more than Retrain after "
    "as many steps. Step 0: as unlearned. Dashed: Retrain. Bands: 95 % intervals over seeds, all "
    "with one parting of the forget set."
)


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the curves, if models were fine-tuned."""
    if not cell.indices(REFERENCE, CURVE):
        return
    runs = [run for run in find_looks(cell) if cell.indices(run, CURVE)]
    retrained = find_curve(cell, REFERENCE)
    curves = {run: find_curve(cell, run) for run in runs}
    gaps = {
        run: [own - other for own, other in zip(curve, retrained, strict=True)]
        for run, curve in curves.items()
    }
    accuracy = _panel(cell, {**curves, REFERENCE: retrained}, find_metric(CURVE).heading)
    accuracy = replace(accuracy, y=Axis(limits=fit_rates(accuracy)), unit=" %")
    gap = _panel(cell, gaps, "Minus Retrain's (points)")
    gap = replace(gap, levels=[Level(0.0)], number_format="+.1f", unit=" points")
    reading = "Above zero: it knows more than Retrain after as many steps. Dashed, dark: Retrain."
    notes = [f"{reading} {describe_seeds(cell)}", *describe_failures(cell)]
    title = f"{cell.title}: relearning"
    yield Plot("relearn", title, CAPTION, [accuracy, gap], columns=2, notes=notes, row_height=2.5)


def find_curve(cell: CellTable, run: str) -> list[Floats]:
    """Return the accuracy in percent after each step, by seed."""
    factor = find_metric(CURVE).factor
    steps = cell.indices(REFERENCE, CURVE)
    return [factor * cell.values(run, CURVE, at=step) for step in steps]


def _panel(cell: CellTable, curves: Mapping[str, Sequence[Floats]], title: str) -> Panel:
    steps = [int(step) for step in cell.indices(REFERENCE, CURVE)]
    looks = {**find_looks(cell), REFERENCE: RETRAIN}
    series = [
        # A marker at every step would hide the lines.
        average_seeds(cell, run, steps, values, look=replace(looks[run], marker=""))
        for run, values in curves.items()
    ]
    x = Axis("Step", is_whole=True)
    return Panel(series, title, x, interval="area", value_name="mean", x_name="step")
