"""Relearning, residual knowledge under noise, and ZRF, beside Retrain's: a table and sentences."""

from collections.abc import Iterator

import numpy as np

from collateral.contract.rows import At
from collateral.contract.tables import Table
from collateral.findings._shared.captions import (
    CHANCE,
    describe_metrics,
    describe_spread,
    join_sentences,
)
from collateral.findings._shared.statistics import t_quantile
from collateral.findings.columns import Column, build_table, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.findings.probe import METRICS
from collateral.results.table import CellTable, mean

GAPS = ("relearn_gap", "residual_gap")
CAPTION = "Models used once more: {title}. {spread}"
GAP_OF_NEXT_SEED = (
    "In Retrain's line a gap is that of Retrain of the next seed: what retraining again gives."
)
LARGEST_GAP = {
    "relearn_gap": "Fine-tuned on half of the forget set, most of the other half is known by "
    "{most} ({gap} points against Retrain's curve{floor}).",
    "residual_gap": "Under noise, most of the forget set is left in {most} ({gap} points against "
    "Retrain{floor}).",
}
NO_GAP = {
    "relearn_gap": "Fine-tuned on half of the forget set, no method knows more of the other half "
    "than retraining again gives.",
    "residual_gap": "Under noise, no method has more of the forget set left than retraining again "
    "gives.",
}
FLOOR = "; retraining again differs by {floor}"
EVEN = "Of those that start below Retrain, {first} comes level first, by step {step} (in {seeds})."
ZRF = "ZRF: Retrain's is {own}, and {nearest} comes nearest ({value})."
ONE_SEED = "One seed, so no claim."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one column per metric, if models were probed."""
    if columns := _find_columns(cell):
        caption = CAPTION.format(title=cell.title, spread=describe_spread(cell))
        conventions = join_sentences(
            describe_metrics(column.metric for column in columns),
            *([GAP_OF_NEXT_SEED, CHANCE] if len(cell.seeds) > 1 else []),
        )
        groups = rows_by_kind(cell)
        yield build_table("probe", "Models used once more", columns, groups, caption, conventions)


def chance(cell: CellTable, metric: str, set: str = "", at: At = None) -> float:
    """Return the bound on 95 % of the mean gaps of one more Retrain; NaN with one seed."""
    own = cell.values(cell.reference, metric, set, at)
    own = own[~np.isnan(own)]
    return t_quantile(len(own)) * float(np.sqrt(np.mean(own**2) / len(own))) if len(own) else np.nan


def _find_columns(cell: CellTable) -> list[Column]:
    """Return the columns of all known metrics; of a curve, its last step."""
    known = cell.metrics(cell.reference)
    last = {name: cell.indices(cell.reference, name)[-1] for name in METRICS if name in known}
    return [_column(name, at or None) for name, at in last.items()]


def _column(name: str, at: At) -> Column:
    metric = METRICS[name]
    heading = f"{metric.label} by step {at} ({metric.unit})" if at is not None else ""
    return Column(name, at=at, heading=heading, chance=chance if name in GAPS else None)


def words(cell: CellTable) -> str:
    """Return one sentence per probe on the method with most left; nothing without probes."""
    sentences = [sentence for sentence in _make_sentences(cell) if sentence]
    return join_sentences(*sentences, ONE_SEED if sentences and len(cell.seeds) == 1 else "")


def _make_sentences(cell: CellTable) -> Iterator[str]:
    yield _describe_largest_gap(cell, "relearn_gap")
    yield _describe_first_even(cell)
    yield _describe_largest_gap(cell, "residual_gap")
    yield _describe_nearest_zrf(cell)


def _describe_largest_gap(cell: CellTable, name: str) -> str:
    gaps, metric = _find_means(cell, name), find_metric(name)
    if not gaps:
        return ""
    gap = metric.text(max(gaps.values()), sign=True)
    most = [run for run in gaps if metric.text(gaps[run], sign=True) == gap]
    is_chance = max(gaps.values()) <= chance(cell, name)
    text = NO_GAP[name] if is_chance else LARGEST_GAP[name]
    return text.format(most=_list_labels(cell, most), gap=gap, floor=_describe_floor(cell, name))


def _describe_nearest_zrf(cell: CellTable) -> str:
    retrained, found = mean(cell.values(cell.reference, "zrf")), _find_means(cell, "zrf")
    if not found or np.isnan(retrained):
        return ""
    nearest = min(found, key=lambda run: abs(found[run] - retrained))
    own, value = (find_metric("zrf").text(one) for one in (retrained, found[nearest]))
    return ZRF.format(own=own, nearest=cell.labels[nearest], value=value)


def _describe_first_even(cell: CellTable) -> str:
    """Name the method that starts below Retrain and is level with it after the fewest steps."""
    begin = mean(cell.values(cell.reference, "relearn_accuracy", at=0))
    start = _find_means(cell, "relearn_accuracy", at=0)
    steps = _find_means(cell, "relearn_even")
    seeds = {run: _count_even_seeds(cell, run) for run in steps if start.get(run, begin) < begin}
    found = {run: steps[run] for run, (count, _) in seeds.items() if count}
    if not found:
        return ""
    step = find_metric("relearn_even").text(min(found.values()))
    first = [run for run in found if find_metric("relearn_even").text(found[run]) == step]
    counts = dict.fromkeys("{} of {} seeds".format(*seeds[run]) for run in first)
    return EVEN.format(first=_list_labels(cell, first), step=step, seeds=", ".join(counts))


def _count_even_seeds(cell: CellTable, run: str) -> tuple[int, int]:
    """Return the number of seeds in which a method came level with Retrain, and of all seeds."""
    last = max(int(at) for at in cell.indices(cell.reference, "relearn_accuracy"))
    steps = cell.values(run, "relearn_even")
    return int((steps <= last).sum()), int((~np.isnan(steps)).sum())


def _list_labels(cell: CellTable, runs: list[str]) -> str:
    return " and ".join(cell.labels[run] for run in runs)


def _find_means(cell: CellTable, metric: str, at: At = None) -> dict[str, float]:
    """Return the mean over seeds of every method that has this metric."""
    found = {run: mean(cell.values(run, metric, at=at)) for run in cell.runs("method")}
    return {run: value for run, value in found.items() if not np.isnan(value)}


def _describe_floor(cell: CellTable, metric: str) -> str:
    """Return how far Retrains of two seeds are apart on average."""
    floor = mean(np.abs(cell.values(cell.reference, metric)))
    return "" if np.isnan(floor) else FLOOR.format(floor=find_metric(metric).text(floor))
