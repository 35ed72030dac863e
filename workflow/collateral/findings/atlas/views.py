"""Tables, sentences and maps of an atlas: who hurts whom."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.contract.verdicts import ALPHA
from collateral.findings._shared.captions import count_seeds
from collateral.findings.atlas.maps import Map, Scale, count_columns, draw_panels, row_height
from collateral.findings.atlas.matrices import Atlas, find_atlases
from collateral.findings.columns import number_field, number_source
from collateral.findings.metric_index import find_metric
from collateral.metrics.arrays import Floats
from collateral.metrics.statistics import t_quantile
from collateral.plots.plot import Plot
from collateral.results.table import BenchmarkTable

CAPTION = (
    "Every {what} is forgotten in turn ({part} % of it), and the accuracy on the test images of "
    "every other one is compared with Retrain's: {pairs} pairs, {seeds}. Loss: Retrain minus the "
    "run, mean over pairs, in points. Legitimate: the base minus Retrain, what forgetting itself "
    "costs, the same for all methods. Pairs that differ: Welch's t, a variance below the mean one "
    "is replaced by it; Benjamini and Hochberg, 5 % per method.{floor} Slope: points of loss per "
    "0.1 of similarity, beyond what a class does to all others and suffers from all others, with "
    "its 95 % interval over seeds for these very classes. p: of no relation with similarity, by "
    "permuting the classes after subtracting these habits, adjusted by Holm over methods. "
    "Asymmetry: share of the damage beyond habits and noise that is not mutual, 95 % interval by "
    "resampling seeds. In brackets: by confidence in place of accuracy."
)
FLOOR = (
    " The same test between two halves of the Retrains finds {floor} % of the pairs, where nothing "
    "is to be found."
)
PLOT_CAPTION = (
    "Rows: the forgotten {what} ({part} %). Columns: the {what} whose test images are measured. "
    "Red: less accurate than Retrain; blue: more accurate; white: within what 95 % of differences "
    "between two groups of {seeds} of Retrain would be; all panels have one scale, up to {top} "
    "points, whose colours are drawn for a class of middling noise. Dots: pairs that are shown to "
    "differ. “Legitimate”: the base minus Retrain, what forgetting itself costs. “Retrain, "
    "halves”: one half of the Retrains minus the other. Classes stand in one order in all maps, "
    "similar ones side by side."
)
READING = "A row: whom forgetting this one hurts. A column: by whose forgetting this one is hurt."


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield a table per atlas: one row and one sentence per method; its records are the map."""
    for atlas in find_atlases(table):
        methods = [
            Line(table.plan.labels[run], [*_fields(table, atlas, run)]) for run in atlas.methods
        ]
        headings = [*("Loss", "Legitimate", "Pairs that differ", "Hurt most")]
        headings += ["Slope", "p", "Asymmetry"]
        sentences = [
            Line(table.plan.labels[run], [Field(describe_method(table, atlas, run))])
            for run in atlas.methods
        ]
        yield Table(
            f"atlas-{atlas.part}",
            f"Who hurts whom: {atlas.part} % of each {atlas.each}",
            [
                Grid("Method", headings, [methods]),
                Grid("Method", ["In words"], [sentences], is_prose=True),
            ],
            _caption(table, atlas),
            records=[row for run in atlas.methods for row in _records(table, atlas, run)],
        )


def _caption(table: BenchmarkTable, atlas: Atlas) -> str:
    floor = table.number(atlas.reference, "atlas_floor", "test", atlas.part)
    return CAPTION.format(
        what=atlas.each,
        part=atlas.part,
        pairs=np.count_nonzero(atlas.used),
        seeds=count_seeds(len(atlas.cells[0].seeds)),
        floor=""
        if math.isnan(floor)
        else FLOOR.format(floor=find_metric("atlas_floor").text(floor)),
    )


def _fields(table: BenchmarkTable, atlas: Atlas, run: str) -> Iterator[Field]:
    shown = {"atlas_loss": run, "atlas_legitimate": atlas.reference, "atlas_found": run}
    for metric, owner in shown.items():
        value, other = (
            table.number(owner, metric, "test", f"{atlas.part}{ending}")
            for ending in ("", " confidence")
        )
        field = number_field(owner, metric, value, "test", atlas.part)
        yield _with_confidence(field, find_metric(metric).text(other))
    yield Field(_describe_worst(atlas, run) or EMPTY)
    yield _with_interval(table, atlas, run, "atlas_slope")
    yield number_field(
        run, "atlas_p", table.number(run, "atlas_p", "test", atlas.part), "test", atlas.part
    )
    yield _with_interval(table, atlas, run, "atlas_asymmetry")


def _with_confidence(field: Field, text: str) -> Field:
    return Field(f"{field.value} ({text})", field.order, source=field.source)


def _with_interval(table: BenchmarkTable, atlas: Atlas, run: str, metric: str) -> Field:
    shown = find_metric(metric)
    value, low, high = (
        table.number(run, f"{metric}{end}", "test", atlas.part) for end in ("", "_low", "_high")
    )
    text = shown.text(value)
    text += "" if math.isnan(low + high) else f" [{shown.text(low)}, {shown.text(high)}]"
    also = tuple(
        number_source(run, f"{metric}{end}", "test", atlas.part) for end in ("_low", "_high")
    )
    return Field(text, value, source=number_source(run, metric, "test", atlas.part), also=also)


def _describe_worst(atlas: Atlas, run: str) -> str:
    """Return the pair with the largest loss that is shown, as text; empty if there is none."""
    loss = np.where(atlas.found(run), _means(atlas.loss(run)), -np.inf)
    if not (loss > 0).any():
        return ""
    emitter, receiver = np.unravel_index(int(loss.argmax()), loss.shape)
    text = find_metric("atlas_loss").text(float(loss.max()))
    return f"{atlas.emitters[emitter]} → {atlas.receivers[receiver]}: {text}"


def describe_method(table: BenchmarkTable, atlas: Atlas, run: str) -> str:
    """Return one sentence: is the damage explained by similarity, and how mutual is it?"""
    label = table.plan.labels[run]

    def number(metric: str) -> float:
        return table.number(run, metric, "test", atlas.part)

    found, p, slope = number("atlas_found"), number("atlas_p"), number("atlas_slope")
    pairs, shown = np.count_nonzero(atlas.used), find_metric("atlas_slope")
    start = f"{label} changes {found:.0f} of {pairs} pairs against Retrain"
    if math.isnan(found):
        start = f"Pairs of {label} cannot be tested: it needs two seeds or more that did not fail"
    ends = [number(f"atlas_slope_{end}") for end in ("low", "high")]
    over_seeds = (
        f" [{', '.join(map(shown.text, ends))}] over seeds" if not math.isnan(sum(ends)) else ""
    )
    if math.isnan(p):
        middle = "whether similarity explains its damage cannot be tested"
    elif p < ALPHA:
        more = "more" if slope > 0 else "less"
        middle = (
            f"it takes {more} from similar classes, beyond the habits of emitters and receivers "
            f"({shown.text(slope, sign=True)} points per 0.1{over_seeds}, {_p(p)})"
        )
    else:
        middle = (
            "similarity is not shown to explain its damage beyond the habits of emitters and "
            f"receivers ({_p(p)})"
        )
    share, low = number("atlas_asymmetry"), number("atlas_asymmetry_low")
    percent = find_metric("atlas_asymmetry")
    if math.isnan(share + low):
        end = "how mutual it is cannot be said"
    else:
        high = percent.text(number("atlas_asymmetry_high"))
        end = f"{percent.text(share)} % of it is not mutual [{percent.text(low)}, {high}]"
    return f"{start}; {middle}; {end}."


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _records(table: BenchmarkTable, atlas: Atlas, run: str) -> Iterator[dict[str, Any]]:
    """Yield one row per pair: loss, interval, whether it is shown, legitimate part, and noise."""
    contrast, found = atlas.contrast(run), atlas.found(run)
    low, high = contrast.interval(ALPHA)
    similarity = _means(atlas.similarity)
    confidence = _means(atlas.loss(run, "confidence"))
    legitimate = _means(atlas.legitimate()) if atlas.has_base else np.full(found.shape, math.nan)
    floor = _floor(atlas)
    for e, emitter in enumerate(atlas.emitters):
        for r, receiver in enumerate(atlas.receivers):
            yield {
                **{"run": run, "label": table.plan.labels[run], "part": atlas.part},
                **{"emitter": emitter, "receiver": receiver, "similarity": similarity[e, r]},
                **{"loss": contrast.mean[e, r], "low": low[e, r], "high": high[e, r]},
                **{"is_shown": bool(found[e, r]), "confidence_loss": confidence[e, r]},
                **{"legitimate": legitimate[e, r], "noise": floor[r]},
            }


def _means(stack: Floats) -> Floats:
    """Return the means over the seeds that are defined; NaN without any."""
    count = np.count_nonzero(~np.isnan(stack), axis=-1)
    total = np.nansum(stack, axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), math.nan)


def plots_across(table: BenchmarkTable) -> Iterator[Plot]:
    """Yield one plot per atlas: a map per method, one of Retrain against the base, one of noise."""
    for atlas in find_atlases(table):
        maps = [*_make_maps(table, atlas)]
        scale = Scale.fit(maps, atlas.used, 100 * _floor(atlas))
        caption = PLOT_CAPTION.format(
            what=atlas.each,
            part=atlas.part,
            seeds=len(atlas.cells[0].seeds),
            top=f"{scale.top:.0f}",
        )
        title = f"{atlas.part} % of each {atlas.each}"
        notes = [f"{READING} {count_seeds(len(atlas.cells[0].seeds))}."]
        columns = count_columns(len(atlas.receivers))
        yield Plot(
            f"atlas-{atlas.part}",
            title,
            caption,
            draw_panels(maps, scale, atlas.emitters, atlas.receivers),
            columns,
            notes=notes,
            row_height=row_height(columns),
        )


def _make_maps(table: BenchmarkTable, atlas: Atlas) -> Iterator[Map]:
    nothing = np.zeros_like(atlas.used)
    for run in atlas.methods:
        yield Map(table.plan.labels[run], 100 * _means(atlas.loss(run)), atlas.found(run))
    if atlas.has_base:
        yield Map("Legitimate", 100 * _means(atlas.legitimate()), nothing, is_tested=False)
    if len(atlas.cells[0].seeds) > 1:
        yield Map("Retrain, halves", 100 * _halves(atlas), nothing, is_tested=False)


def _halves(atlas: Atlas) -> Floats:
    """Return the mean of the first half of the Retrains minus that of the others."""
    values = atlas.values(atlas.reference, "atlas_accuracy")
    half = values.shape[-1] // 2
    return _means(values[..., :half]) - _means(values[..., half:])


def _floor(atlas: Atlas) -> Floats:
    """Return, by receiver, the size below which 95 % of differences of two Retrain means lie."""
    values = atlas.values(atlas.reference, "atlas_accuracy")
    seeds = values.shape[-1]
    if seeds < 2:
        return np.zeros(values.shape[1])
    # Retrain of one emitter varies over seeds; the variance is pooled over emitters.
    variance = np.nanmean(values.var(axis=-1, ddof=1), axis=0)
    freedom = len(values) * (seeds - 1)
    return np.asarray(t_quantile(freedom + 1) * np.sqrt(2 * variance / seeds))
