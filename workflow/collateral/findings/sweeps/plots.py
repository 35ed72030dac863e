"""Ablations: what a run measures as a function of the parameter that is varied."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collateral.findings._shared.compare import COUNTERPARTS
from collateral.findings._shared.series import (
    average_seeds,
    describe_failures,
    describe_seeds,
    find_level,
    find_look,
    mark_level,
)
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.findings.reported import METRICS as REPORTED
from collateral.findings.sweeps.noise import NAME, SEED, Noise, noises
from collateral.plots.plot import WIDTH, Axis, Panel, Plot, Series, fit_rates, fit_y
from collateral.plots.style import PLAIN
from collateral.results.plan import Sweep
from collateral.results.table import CellTable

# The numbers of each plot. One that no run reports, or that all values share (a teacher's, where
# the student is varied), is left out, and so is an empty plot.
KINDS = {
    "standard": TERMS["avg_gap"],
    "affected": TERMS["avg_gap_affected"],
    "teacher_accuracy": tuple(COUNTERPARTS),
    "teacher_epochs": ("teacher_epochs",),
}
RING = "The ring marks the value that the method has everywhere else."
LEVELS = (
    "Dashed: Retrain. Bars: 95 % intervals over seeds. Grey: where 95 % of other retrainings' "
    f"means lie; a line inside it is no finding. {RING} The panels' scales differ."
)
CAPTIONS = {
    "standard": f"UA, RA, TA and MIA over {{key}} of {{method}}. {LEVELS}",
    "affected": f"RA, UA and TA of the affected classes over {{key}} of {{method}}. {LEVELS}",
    "teacher_accuracy": "Accuracy on the forget set of the labels that {method} teaches, over "
    f"{{key}}, compared with Retrain's UA. {LEVELS}",
    "teacher_epochs": "Epochs until {method}'s teacher was done, over {key}. Bars: 95 % intervals "
    f"over seeds. {RING}",
}
NOISE_CAPTION = (
    "UA of students over that of their teachers, which differ in `teacher_seed` alone; one point "
    "per teacher and seed. On the thin line a student has its teacher's UA. Dashed: Retrain; grey: "
    "where 95 % of other retrainings' means lie."
)
DECADE = 10.0  # values that span more have a logarithmic axis


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield a plot for every sweep of numbers, and one of teachers of other seeds."""
    for sweep in cell.plan.sweeps:
        if sweep.key != SEED:  # a name rather than a number
            swept = cell.with_labels(sweep.rows)
            for kind, metrics in _metrics(swept, sweep).items():
                yield _sweep_plot(swept, sweep, kind, metrics)
    if found := noises(cell):
        yield _noise_plot(cell, found)


def _sweep_plot(cell: CellTable, sweep: Sweep, kind: str, metrics: Sequence[str]) -> Plot:
    panels = [_sweep_panel(cell, sweep, metric) for metric in metrics]
    reading = "Dashed: Retrain." if panels[0].levels else ""
    return Plot(
        f"sweep-{sweep.name}-{kind}",
        f"{cell.title}: {sweep.method}, {sweep.key} varied",
        CAPTIONS[kind].format(key=sweep.key, method=sweep.method),
        panels,
        columns=len(panels),
        notes=[f"{reading} {describe_seeds(cell)}".strip(), *describe_failures(cell)],
        width=WIDTH if len(panels) > 1 else 4.7,
    )


def _sweep_panel(cell: CellTable, sweep: Sweep, metric: str) -> Panel:
    shown, runs = find_metric(metric), _drawn_runs(cell, sweep)
    x = [sweep.numbers[run] for run in runs]
    is_log = bool(x) and min(x) > 0 and max(x) >= DECADE * min(x)
    is_rate, counterpart = shown.unit == "%", COUNTERPARTS.get(metric, metric)
    levels, bands = mark_level(cell, counterpart) if is_rate else ([], [])
    noise = [find_level(cell, counterpart)[1]] * len(x) if is_rate else []
    series = average_seeds(
        cell,
        sweep.own,
        x,
        [shown.factor * cell.values(run, metric) for run in runs],
        label=sweep.method,
        look=find_look(cell, sweep.own),
        noise=noise,
        details={"of": [shown.label] * len(x)},
        ring_at=sweep.numbers.get(sweep.own, np.nan),
        sets_scale=True,
    )
    axis = Axis(sweep.key, "log" if is_log else "linear")
    panel = Panel([series], shown.heading, axis, levels=levels, bands=bands)
    panel = replace(panel, value_name="mean", x_name=sweep.key, unit=f" {shown.unit}".rstrip())
    if is_rate and math.isnan(levels[0].value):
        panel = replace(panel, message="undefined")
    limits = fit_rates(panel) if is_rate else (0.0, fit_y(panel)[1])
    return replace(panel, y=Axis(limits=limits))


def _noise_plot(cell: CellTable, found: Sequence[Noise]) -> Plot:
    """Return the UA of each method's students over their teachers' UA."""
    series = [_noise_series(cell, noise) for noise in found]
    values = [value for one in series for value in (*one.x, *one.y)]
    diagonal = Series("", PLAIN, [min(values), max(values)], [min(values), max(values)])
    levels, bands = mark_level(cell, "ua")
    x, y = (Axis(find_metric(name).heading) for name in ("teacher_ua", "ua"))
    panel = Panel([diagonal, *series], x=x, y=y, levels=levels, bands=bands)
    panel = replace(panel, value_name="UA", unit=" %")
    panel = replace(panel, y=replace(y, limits=fit_rates(panel)))
    reading = "On the thin line a student has its teacher's UA. Dashed: Retrain."
    title = f"{cell.title}: the teacher's luck"
    notes = [f"{reading} One point per teacher and seed.", *describe_failures(cell)]
    plot = Plot(NAME, title, NOISE_CAPTION, [panel], notes=notes)
    return replace(plot, width=4.7, row_height=3.0)


def _noise_series(cell: CellTable, noise: Noise) -> Series:
    factor, sweep = find_metric("ua").factor, noise.sweep
    teacher, student = ((factor * part).ravel().tolist() for part in (noise.teacher, noise.student))
    seeds = [str(seed) for _ in noise.teacher for seed in cell.seeds]
    return Series(
        sweep.method,
        find_look(cell, sweep.own),
        teacher,
        student,
        run=sweep.own,
        mark="point",
        noise=[find_level(cell, "ua")[1]] * len(teacher),
        details={"seed": seeds},
    )


def _drawn_runs(cell: CellTable, sweep: Sweep) -> list[str]:
    """Return the runs of a sweep that have a sound seed, by the value that is varied."""
    known = [run for run in sweep.numbers if run in cell.kinds and not cell.has_failed(run)]
    return sorted(known, key=lambda run: sweep.numbers[run])


def _metrics(cell: CellTable, sweep: Sweep) -> Mapping[str, list[str]]:
    """Return what there is to draw, by kind of plot; nothing for fewer than two numbers."""
    if len(sweep.numbers) < 2:
        return {}
    reported = [name for name in REPORTED if len(_known(cell, sweep, name)) > 1]
    # A parameter that changes nothing of what the method reports leaves its teacher as it is.
    if not any(np.ptp(_known(cell, sweep, name), axis=0).any() for name in reported):
        reported = []
    kept = {
        kind: [name for name in names if name not in REPORTED or name in reported]
        for kind, names in KINDS.items()
    }
    return {kind: names for kind, names in kept.items() if names}


def _known(cell: CellTable, sweep: Sweep, metric: str) -> NDArray[np.float64]:
    """Return the values (run, seed) of those runs that have them all."""
    values = [cell.values(run, metric) for run in sweep.numbers]
    return np.array([of_run for of_run in values if not np.isnan(of_run).any()])
