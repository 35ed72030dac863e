"""Tables, curves and sentences of the probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from collateral.contract.rows import At
from collateral.contract.tables import Table
from collateral.findings._shared.captions import (
    CHANCE,
    describe_metrics,
    fill_caption,
    join_sentences,
)
from collateral.findings._shared.series import average_seeds, find_looks, plot_cell
from collateral.findings.columns import Column, build_table, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.findings.near import PART_HEADINGS
from collateral.findings.probe import METRICS
from collateral.metrics.statistics import Floats, mean, t_quantile
from collateral.plots.plot import Axis, Level, Panel, Plot, fit_rates
from collateral.plots.style import RETRAIN
from collateral.results.table import CellTable

# For each table, by its name: title, metrics and explanation.
TABLES = {
    "probe": (
        "Probes of finished models",
        (
            *("relearn_accuracy", "relearn_gap", "relearn_even"),
            *("residual_accuracy", "residual_gap", "zrf"),
        ),
        "",
    ),
    "probe-linear": (
        "Linear probe of the features",
        ("linear_accuracy", "linear_test_accuracy", "linear_gap"),
        "A low UA with a high linear probe: the head keeps silent, the features still know. "
        "Undefined if no example of a forgotten class is retained.",
    ),
    "probe-resurface": (
        "Fine-tuned on retained examples",
        (
            *("resurface_accuracy", "resurface_near_accuracy", "resurface_test_accuracy"),
            "resurface_gap",
        ),
        "If the accuracies on near and test examples rise too, the model recovers from damage.",
    ),
    "probe-patch": (
        "Test images with the patch",
        ("patch_accuracy", "patch_success"),
        "TA is the accuracy on the same images without the patch (clean accuracy). Retrain is "
        "trained without all patched examples, also those that no method was told of.",
    ),
}
ADDED = {"probe-linear": "ua", "probe-patch": "ta"}  # first column of a table, by its name
FEW_KEPT = 20  # with fewer retained examples of a class, a new head hardly learns the class
FEW = "Few examples to fit on, so that the linear probe is low for every model: {classes}."
CAPTION = "{table}: {title}. {spread}"
CKA_HEADINGS = {
    **{part: text for part, text in PART_HEADINGS.items() if part[0] != "test"},
    ("test", None): "Test",
}
CKA_NOTE = (
    "In Retrain's row, CKA with Retrain is that with Retrain of the next seed: what retraining "
    "again gives. Near and far are by the features of the first seed's base."
)
GAP_OF_NEXT_SEED = "In Retrain's row, the gap is that of Retrain of the next seed: pure chance."
# For each metric that is a gap to Retrain: the subject of the sentence about it.
GAPS = {
    "relearn_gap": "Accuracy on half of the forget set after fine-tuning on the other half",
    "residual_gap": "Accuracy on the forget set under noise",
    "linear_gap": "Accuracy of a new linear head on the forget set",
    "resurface_gap": "Accuracy on the forget set gained by fine-tuning on retained examples",
}
LARGEST_GAP = "{subject}: furthest above Retrain with {most} ({gap} points{floor})."
NO_GAP = "{subject}: no method is further above Retrain than retraining again gives."
FLOOR = "; retraining again differs by {floor}"
EVEN = (
    "Of those that start below Retrain, first level: {first} (mean step {step}; a seed that never "
    "is counts as {never}; level in {seeds})."
)
ZRF = "ZRF: Retrain's is {own}, and {nearest} comes nearest ({value})."
ONE_SEED = "One seed, so no claim."
CURVE_CAPTION = (
    "Every model is fine-tuned on {learnt} in the same way: accuracy on {measured} by step, and "
    "the same minus Retrain's of that seed. {reading} Step 0: before fine-tuning. Dashed: Retrain. "
    "Bands: 95 % intervals over seeds."
)
# For each metric that is plotted as a curve: the plot's name and title, and texts for its caption.
CURVES = {
    "relearn_accuracy": (
        *("relearn", "relearning", "half of the forget set", "the other half"),
        "All seeds have the same halves. Above zero: it relearns more than Retrain in as many "
        "steps.",
    ),
    "resurface_accuracy": (
        *("resurface", "resurfacing", "retained examples", "the forget set"),
        "Rising: forgotten examples come back.",
    ),
}


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the tables of all probes in the config; most tables have one column per metric."""
    for name, (title, metrics, reading) in TABLES.items():
        if columns := _find_columns(cell, metrics):
            caption = fill_caption(CAPTION, cell, table=title)
            conventions = join_sentences(
                describe_metrics(cell, [column.metric for column in columns]),
                reading,
                _describe_few(cell) if name == "probe-linear" else "",
                *([GAP_OF_NEXT_SEED, CHANCE] if len(cell.seeds) > 1 else []),
            )
            if name in ADDED:
                columns.insert(0, Column(ADDED[name]))
            yield build_table(name, title, columns, rows_by_kind(cell), caption, conventions)
    if "cka_base" in cell.metrics(cell.reference):
        yield _cka_table(cell)


def _describe_few(cell: CellTable) -> str:
    """Return a sentence with the forgotten classes of which few examples are retained."""
    kept = {name: count - forgotten for name, (forgotten, count) in cell.forgotten.items()}
    few = [f"{name} ({count})" for name, count in kept.items() if 0 < count < FEW_KEPT]
    return FEW.format(classes=", ".join(few)) if few else ""


def _cka_table(cell: CellTable) -> Table:
    """Return the table of CKA with Retrain and with the base model; its columns are subsets."""
    metrics, title = ("cka_retrain", "cka_base"), "Similarity of features"
    columns = {
        METRICS[metric].heading: [Column(metric, *p, heading=t) for p, t in CKA_HEADINGS.items()]
        for metric in metrics
    }
    caption = fill_caption(CAPTION, cell, table=title)
    conventions = join_sentences(describe_metrics(cell, metrics), CKA_NOTE)
    return build_table("probe-cka", title, columns, rows_by_kind(cell), caption, conventions)


def chance(cell: CellTable, metric: str, subset: str = "", at: At = None) -> float:
    """Return the noise floor of a mean gap; it is NaN if there is only one seed.

    In 95 % of cases, the mean gap between two retrainings is below the noise floor.
    """
    own = cell.values(cell.reference, metric, subset, at)
    own = own[~np.isnan(own)]
    return t_quantile(len(own)) * float(np.sqrt(np.mean(own**2) / len(own))) if len(own) else np.nan


def _find_columns(cell: CellTable, metrics: Sequence[str]) -> list[Column]:
    """Return one column per available metric; the column of a curve shows the curve's last step."""
    columns = []
    for name in (name for name in metrics if name in cell.metrics(cell.reference)):
        metric, at = METRICS[name], cell.indices(cell.reference, name)[-1] or None
        heading = f"{metric.label} by step {at} ({metric.unit})" if at else ""
        bound = chance if name in GAPS else None
        columns.append(Column(name, at=at, heading=heading, chance=bound))
    return columns


def words(cell: CellTable) -> str:
    """Return sentences that compare methods with Retrain in each probe of the config, if any."""
    relearned, *others = (_describe_largest_gap(cell, metric) for metric in GAPS)
    text = join_sentences(
        relearned, _describe_first_even(cell), *others, _describe_nearest_zrf(cell)
    )
    return join_sentences(text, ONE_SEED if text and len(cell.seeds) == 1 else "")


def _describe_largest_gap(cell: CellTable, name: str) -> str:
    """Return a sentence on the method with the largest gap to Retrain; empty if no gap is known."""
    metric, subject = find_metric(name), GAPS[name]
    gaps = _find_means(cell, name)
    if not gaps:
        return ""
    if max(gaps.values()) <= chance(cell, name):
        return NO_GAP.format(subject=subject)
    gap = metric.text(max(gaps.values()), sign=True)
    most = [cell.labels[run] for run in gaps if metric.text(gaps[run], sign=True) == gap]
    noise = mean(np.abs(cell.values(cell.reference, name)))
    floor = "" if np.isnan(noise) else FLOOR.format(floor=metric.text(noise))
    return LARGEST_GAP.format(subject=subject, most=" and ".join(most), gap=gap, floor=floor)


def _describe_nearest_zrf(cell: CellTable) -> str:
    """Return a sentence on the method whose ZRF is nearest to Retrain's; empty without ZRF."""
    retrained, found = mean(cell.values(cell.reference, "zrf")), _find_means(cell, "zrf")
    if not found or np.isnan(retrained):
        return ""
    nearest = min(found, key=lambda run: abs(found[run] - retrained))
    own, value = (find_metric("zrf").text(one) for one in (retrained, found[nearest]))
    return ZRF.format(own=own, nearest=cell.labels[nearest], value=value)


def _describe_first_even(cell: CellTable) -> str:
    """Return a sentence on the method that starts below Retrain's accuracy and reaches it first."""
    begin = mean(cell.values(cell.reference, "relearn_accuracy", at=0))
    start, steps = _find_means(cell, "relearn_accuracy", at=0), _find_means(cell, "relearn_even")
    seeds = {run: _count_even_seeds(cell, run) for run in steps if start.get(run, begin) < begin}
    found = {run: steps[run] for run, (count, _) in seeds.items() if count}
    if not found:
        return ""
    metric = find_metric("relearn_even")
    step = metric.text(min(found.values()))
    first = [run for run in found if metric.text(found[run]) == step]
    counts = dict.fromkeys("{} of {} seeds".format(*seeds[run]) for run in first)
    labels = " and ".join(cell.labels[run] for run in first)
    never = _last_step(cell) + 1
    return EVEN.format(first=labels, step=step, never=never, seeds=", ".join(counts))


def _count_even_seeds(cell: CellTable, run: str) -> tuple[int, int]:
    """Return in how many seeds a method relearned up to Retrain's accuracy, and out of how many."""
    steps = cell.values(run, "relearn_even")
    return int((steps <= _last_step(cell)).sum()), int((~np.isnan(steps)).sum())


def _last_step(cell: CellTable) -> int:
    return max(int(at) for at in cell.indices(cell.reference, "relearn_accuracy"))


def _find_means(cell: CellTable, metric: str, at: At = None) -> dict[str, float]:
    """Return the mean over seeds of a metric, for every method that has it."""
    found = {run: mean(cell.values(run, metric, at=at)) for run in cell.runs("method")}
    return {run: value for run, value in found.items() if not np.isnan(value)}


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plots of the probes `relearn` and `resurface`, if the config has them."""
    for metric in CURVES:
        if cell.indices(cell.reference, metric):
            yield _plot_curves(cell, metric)


def _plot_curves(cell: CellTable, metric: str) -> Plot:
    """Return a plot over fine-tuning steps of a metric and of its difference from Retrain's."""
    name, subject, learnt, measured, reading = CURVES[metric]
    caption = CURVE_CAPTION.format(learnt=learnt, measured=measured, reading=reading)
    retrained = find_curve(cell, cell.reference, metric)
    curves = {run: find_curve(cell, run, metric) for run in find_looks(cell)}
    curves = {run: curve for run, curve in curves.items() if cell.indices(run, metric)}
    gaps = {run: list(np.subtract(curve, retrained)) for run, curve in curves.items()}
    accuracy = _panel(cell, metric, {**curves, cell.reference: retrained})
    panels = [
        replace(accuracy, y=Axis(limits=fit_rates(accuracy)), unit=" %"),
        replace(
            _panel(cell, metric, gaps),
            title="Minus Retrain's (points)",
            levels=[Level(0.0)],
            number_format="+.1f",
            unit=" points",
        ),
    ]
    note = f"{reading} Dashed, dark: Retrain."
    return plot_cell(cell, name, panels, caption, subject, note, columns=2, row_height=2.5)


def find_curve(cell: CellTable, run: str, metric: str) -> list[Floats]:
    """Return a run's accuracies in percent: for each step, an array with one value per seed."""
    factor, steps = find_metric(metric).factor, cell.indices(cell.reference, metric)
    return [factor * cell.values(run, metric, at=step) for step in steps]


def _panel(cell: CellTable, metric: str, curves: Mapping[str, Sequence[Floats]]) -> Panel:
    """Return a panel with one line per run over the steps of fine-tuning."""
    looks = {**find_looks(cell), cell.reference: RETRAIN}
    steps = [int(step) for step in cell.indices(cell.reference, metric)]
    series = [
        # A marker at every step would hide the lines.
        average_seeds(cell, run, steps, values, look=replace(looks[run], marker=""))
        for run, values in curves.items()
    ]
    x, title = Axis("Step", is_whole=True), find_metric(metric).heading
    return Panel(series, title, x, interval="area", value_name="mean", x_name="step")
