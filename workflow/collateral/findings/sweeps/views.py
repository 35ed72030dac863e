"""Tables and plots of ablations: a method with one parameter varied, compared with Retrain."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings._shared.compare import AFFECTED, COUNTERPARTS, MAIN, compare, gap_by_seed
from collateral.findings._shared.series import (
    average_seeds,
    describe_failures,
    find_look,
    plot_cell,
    with_level,
)
from collateral.findings.columns import number_source
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.findings.reported import METRICS as REPORTED
from collateral.metrics.arrays import Floats
from collateral.metrics.differences import Difference
from collateral.metrics.differences import compare as compare_means
from collateral.metrics.statistics import mean, std, within_seed_correlation, within_seed_std
from collateral.plots.plot import WIDTH, Axis, Panel, Plot, Series, fit_y
from collateral.plots.style import DARK, Look
from collateral.results.plan import Sweep
from collateral.results.table import CellTable

TEACHER_NOISE = "teacher-noise"  # base name of the files of the table and of the plot
TEACHER_SEED = "teacher_seed"
# Sentences on the test of each value against the method's own.
NO_TEST = "Whether a value matters is not tested: one seed cannot tell."
TESTED = (
    "Paired test over {n} seeds of each value's gap against the method's own (Holm per sweep): "
)
NO_EFFECT = TESTED + "no value is shown to matter; the largest difference is {most}."
EFFECTS = TESTED + "shown are {shown}; {count} others are not shown to differ."
LEAST_P = 0.001  # a smaller p-value is written as "p < 0.001"
OWN = "“own” marks the value that the method has in all other tables and figures."
NOISE_TABLE_CAPTION = (
    "Teachers that differ in `teacher_seed` alone, and their students: accuracy on the forget set "
    "(%); Retrain's is {ua}. By teacher: standard deviation over the teachers of one base model, "
    "root mean square over {n} seeds. By seed: standard deviation of the method's own runs over "
    "seeds, in which all randomness differs. r: correlation of student and teacher within a seed."
)
# Columns of the table of teachers. For each key in the CSV file: heading, and metric or "".
NOISE_COLUMNS = {
    "teachers": ("Teachers", ""),
    "teacher_ua": ("Teacher UA", "teacher_ua"),
    "teacher_ua_by_teacher": ("by teacher", "teacher_ua"),
    "ua": ("UA", "ua"),
    "ua_by_teacher": ("by teacher", "ua"),
    "ua_by_seed": ("by seed", "ua"),
    "r": ("r", ""),
    "teacher_epochs": ("Teacher's epochs", "teacher_epochs"),
}
PLAIN = {"teachers": Metric("", "", "", digits=0), "r": Metric("", "", "", digits=2)}
# Metrics of each kind of plot. If no reported metric changes, all reported ones are left out.
KINDS = {
    "standard": TERMS["avg_gap"],
    "affected": TERMS["avg_gap_affected"],
    "teacher_accuracy": tuple(COUNTERPARTS),
    "teacher_epochs": ("teacher_epochs",),
}
RING = "The ring marks the value that the method has everywhere else."
LEVELS = (
    "Dashed: Retrain. Bars: 95 % intervals over seeds. Grey: the range of 95 % of the means of "
    f"other retrainings; a line inside it is no finding. {RING} The panels' scales differ."
)
CAPTIONS = {
    "standard": f"UA, RA, TA and MIA over {{key}} of {{method}}. {LEVELS}",
    "affected": f"RA, UA and TA of the affected classes over {{key}} of {{method}}. {LEVELS}",
    "teacher_accuracy": "Accuracy on the forget set of the labels that {method} learns from, over "
    f"{{key}}, compared with Retrain's UA. {LEVELS}",
    "teacher_epochs": "Training epochs of {method}'s teacher, over {key}. Bars: 95 % intervals "
    f"over seeds. {RING}",
}
NOISE_CAPTION = (
    "UA of students over the UA of their teachers, which differ in `teacher_seed` alone; one point "
    "per teacher and seed. On the dotted line a student has its teacher's UA. Dashed: Retrain; "
    "grey: the range of 95 % of the means of other retrainings."
)
LEAST_VALUES = 3  # minimum number of values of a parameter for a plot
LEAST_STEP = 0.2  # minimum distance of two ticks, as a fraction of the range of the values
DECADE = 10.0  # the x-axis is logarithmic if its largest / smallest value is at least this


def find_teachers(cell: CellTable) -> list[tuple[Sweep, dict[str, Floats]]]:
    """Return each sweep over teacher seeds, with the metrics of its teachers and students.

    A sweep needs two teachers that are complete in every seed. Metrics have the shape (teachers,
    seeds). The method's default run counts as one more teacher.
    """
    found = []
    for sweep in (sweep for sweep in cell.plan.sweeps if sweep.key == TEACHER_SEED):
        values = {
            metric: np.array([cell.values(run, metric) for run in sweep.values])
            for metric in ("teacher_ua", "ua", "teacher_epochs")
        }
        known = ~np.isnan(values["teacher_ua"] + values["ua"]).any(axis=1)
        if np.count_nonzero(known) > 1:
            found.append((sweep, {metric: rows[known] for metric, rows in values.items()}))
    return found


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield one table per sweep, and a table of the noise between teachers of different seeds."""
    for sweep in cell.plan.sweeps:
        reported = {metric for run in sweep.values for metric in cell.metrics(run)}
        table = compare(
            cell.with_labels(sweep.rows),
            f"sweep-{sweep.name}",
            f"{sweep.method} with other values of {sweep.key}",
            MAIN,
            (*AFFECTED, *(name for name in REPORTED if name in reported)),
            corner=sweep.title,
            ranked="value",
            note=OWN,
        )
        yield replace(table, title=sweep.title)
    if found := find_teachers(cell):
        yield make_noise_table(cell, found)


def words(cell: CellTable) -> str:
    """Return a sentence that names, for each sweep, the parameter value nearest to Retrain.

    The nearest value is that with the smallest average gap.
    """
    parts = []
    for sweep in cell.plan.sweeps:
        gaps = {label: cell.number(run, "avg_gap") for run, label in sweep.rows.items()}
        known = {label: gap for label, gap in gaps.items() if not math.isnan(gap)}
        if best := min(known, key=lambda label: known[label], default=""):
            gap = find_metric("avg_gap").text(known[best])
            parts.append(f"{sweep.title} {best} ({gap} points)")
    nearest = f"Nearest to Retrain, by the average gap: {'; '.join(parts)}." if parts else ""
    return join_sentences(nearest, describe_effects(cell)) if nearest else ""


def compare_values(cell: CellTable, sweep: Sweep) -> dict[str, Difference]:
    """Compare the gap of each value of a sweep with that of the method's own value, by run.

    The test is paired over seeds; Holm's method adjusts it for the number of values.
    """
    own = gap_by_seed(cell, sweep.own)
    others = [run for run in sweep.values if run != sweep.own and run in cell.kinds]
    return compare_means({run: gap_by_seed(cell, run) - own for run in others})


def describe_effects(cell: CellTable) -> str:
    """Return a sentence on whether other values than the method's own change the gap."""
    found = {
        f"{sweep.title} {sweep.labels[run]}": one
        for sweep in cell.plan.sweeps
        for run, one in compare_values(cell, sweep).items()
        if not math.isnan(one.p)
    }
    if not found:
        return NO_TEST
    shown = {name: one for name, one in found.items() if one.is_found}
    largest = max(found, key=lambda name: abs(found[name].mean))
    if not shown:
        return NO_EFFECT.format(n=len(cell.seeds), most=_describe(largest, found[largest]))
    listed = sorted(shown, key=lambda name: -abs(shown[name].mean))
    text = ", ".join(_describe(name, shown[name]) for name in listed)
    return EFFECTS.format(n=len(cell.seeds), shown=text, count=len(found) - len(shown))


def _describe(name: str, one: Difference) -> str:
    metric = find_metric("avg_gap")
    p = "p < 0.001" if one.p < LEAST_P else f"p = {one.p:.3f}"
    return f"{name} ({metric.text(one.mean, sign=True)} points, {p})"


def make_noise_table(cell: CellTable, found: Sequence[tuple[Sweep, Mapping[str, Floats]]]) -> Table:
    """Return a table with the spread of teachers' UA and of students' UA, one row per method."""
    records = [_make_noise_record(cell, sweep, values) for sweep, values in found]
    lines = [
        Line(sweep.method, [_show_noise(key, record[key], sweep) for key in NOISE_COLUMNS])
        for record, (sweep, _) in zip(records, found, strict=True)
    ]
    ua = find_metric("ua").text(mean(cell.values(cell.reference, "ua")))
    caption = NOISE_TABLE_CAPTION.format(ua=ua, n=len(cell.seeds))
    grid = Grid("Method", [heading for heading, _ in NOISE_COLUMNS.values()], [lines])
    return Table(TEACHER_NOISE, "The teacher's luck", [grid], caption, records=records)


def _make_noise_record(
    cell: CellTable, sweep: Sweep, values: Mapping[str, Floats]
) -> dict[str, Any]:
    teacher, student = values["teacher_ua"], values["ua"]
    return {
        "run": sweep.own,
        "teachers": len(teacher),
        "teacher_ua": mean(teacher),
        "teacher_ua_by_teacher": within_seed_std(teacher),
        "ua": mean(student),
        "ua_by_teacher": within_seed_std(student),
        "ua_by_seed": std(cell.values(sweep.own, "ua")),
        "r": within_seed_correlation(teacher, student),
        "teacher_epochs": mean(values["teacher_epochs"]),
    }


def _show_noise(key: str, value: float, sweep: Sweep) -> Field:
    """Return an entry of the table of teachers.

    Its source links name the runs of all teachers, or only the method's default run.
    """
    metric = NOISE_COLUMNS[key][1]
    if not metric:
        return Field(PLAIN[key].text(value), value)
    runs = [sweep.own] if key == "ua_by_seed" else sweep.values
    first, *others = (number_source(run, metric) for run in runs)
    return Field(find_metric(metric).text(value), value, source=first, also=tuple(others))


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield plots of each numeric parameter that is swept, and a plot of the teacher seeds."""
    for sweep in cell.plan.sweeps:
        # A sweep of teacher seeds is not drawn over an axis, because a seed is not a quantity.
        if sweep.key != TEACHER_SEED:
            swept = cell.with_labels(sweep.rows)
            for kind, metrics in _metrics(swept, sweep).items():
                yield _sweep_plot(swept, sweep, kind, metrics)
    if found := find_teachers(cell):
        yield _noise_plot(cell, found)


def _sweep_plot(cell: CellTable, sweep: Sweep, kind: str, metrics: Sequence[str]) -> Plot:
    panels = [_sweep_panel(cell, sweep, metric) for metric in metrics]
    caption = CAPTIONS[kind].format(key=sweep.key, method=sweep.method)
    subject = f"{sweep.method}, {sweep.key} varied"
    reading = "Dashed: Retrain." if panels[0].levels else ""
    plot = plot_cell(cell, f"sweep-{sweep.name}-{kind}", panels, caption, subject, reading)
    return replace(plot, columns=len(panels), width=WIDTH if len(panels) > 1 else 4.7)


def _sweep_panel(cell: CellTable, sweep: Sweep, metric: str) -> Panel:
    shown, runs = find_metric(metric), _drawn_runs(cell, sweep)
    x = [sweep.numbers[run] for run in runs]
    is_log = bool(x) and min(x) > 0 and max(x) >= DECADE * min(x)
    series = average_seeds(
        cell,
        sweep.own,
        x,
        [shown.factor * cell.values(run, metric) for run in runs],
        label=sweep.method,
        look=find_look(cell, sweep.own),
        details={"of": [shown.label] * len(x)},
        ring_at=sweep.numbers.get(sweep.own, np.nan),
        sets_scale=True,
    )
    axis = Axis(sweep.key, "log" if is_log else "linear", ticks=tick_values(x, is_log))
    panel = Panel([series], shown.heading, axis)
    panel = replace(panel, value_name="mean", x_name=sweep.key, unit=f" {shown.unit}".rstrip())
    if shown.unit == "%":
        return with_level(panel, cell, COUNTERPARTS.get(metric, metric))
    return replace(panel, y=Axis(limits=(0.0, fit_y(panel)[1])))


def tick_values(values: Sequence[float], is_log: bool) -> dict[float, str]:
    """Return a tick at every value of a parameter; none if some would touch each other."""
    places = np.log(values) if is_log else np.asarray(values)
    is_wide = len(values) > 1 and np.diff(places).min() >= LEAST_STEP * np.ptp(places)
    return {value: f"{value:g}" for value in values} if is_wide else {}


def _noise_plot(cell: CellTable, found: Sequence[tuple[Sweep, Mapping[str, Floats]]]) -> Plot:
    """Return a scatter plot of the students' UA against their teachers' UA."""
    series = [_noise_series(cell, sweep, values) for sweep, values in found]
    values = [value for one in series for value in (*one.x, *one.y)]
    ends = [min(values), max(values)]
    diagonal = Series("", Look(DARK, dash="dotted"), ends, ends)
    x, y = (Axis(find_metric(name).heading) for name in ("teacher_ua", "ua"))
    panel = Panel([diagonal, *series], x=x, y=y, value_name="UA")
    panel = with_level(panel, cell, "ua")
    reading = "On the dotted line a student has its teacher's UA. Dashed: Retrain."
    title = f"{cell.title}: the teacher's luck"
    notes = [f"{reading} One point per teacher and seed.", *describe_failures(cell)]
    plot = Plot(TEACHER_NOISE, title, NOISE_CAPTION, [panel], notes=notes)
    return replace(plot, width=4.7, row_height=3.0)


def _noise_series(cell: CellTable, sweep: Sweep, values: Mapping[str, Floats]) -> Series:
    factor, look = find_metric("ua").factor, find_look(cell, sweep.own)
    teacher, student = ((factor * values[name]).ravel().tolist() for name in ("teacher_ua", "ua"))
    details = {"seed": [str(seed) for _ in values["ua"] for seed in cell.seeds]}
    series = Series(sweep.method, look, teacher, student, run=sweep.own, mark="point")
    return replace(series, details=details)


def _drawn_runs(cell: CellTable, sweep: Sweep) -> list[str]:
    """Return a sweep's runs with at least one successful seed, sorted by the parameter's value."""
    known = [run for run in sweep.numbers if run in cell.kinds and not cell.has_failed(run)]
    return sorted(known, key=lambda run: sweep.numbers[run])


def _metrics(cell: CellTable, sweep: Sweep) -> Mapping[str, list[str]]:
    """Return the metrics of each kind of plot; none if fewer than three values can be drawn.

    Two values are compared by the table of the sweep.
    """
    if len(_drawn_runs(cell, sweep)) < LEAST_VALUES:
        return {}
    reported = [name for name in REPORTED if len(_known(cell, sweep, name)) > 1]
    # If the teacher's metrics are the same for all values, they are not plotted.
    if not any(np.ptp(_known(cell, sweep, name), axis=0).any() for name in reported):
        reported = []
    kept = {
        kind: [name for name in names if name not in REPORTED or name in reported]
        for kind, names in KINDS.items()
    }
    return {kind: names for kind, names in kept.items() if names}


def _known(cell: CellTable, sweep: Sweep, metric: str) -> Floats:
    """Return a metric's values (runs, seeds) in all runs in which every seed has a value."""
    values = [cell.values(run, metric) for run in sweep.numbers]
    return np.array([of_run for of_run in values if not np.isnan(of_run).any()])
