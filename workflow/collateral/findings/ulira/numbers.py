"""AUC and TPR of LiRA (before unlearning) and U-LiRA (after it), by part of the training set."""

import math
from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from typing import NamedTuple

import numpy as np

from collateral.contract.rows import At, Row
from collateral.findings.inputs import CellResults
from collateral.findings.near import split_by_distance
from collateral.metrics.arrays import Floats, Mask, Singles
from collateral.metrics.differences import compare, interval
from collateral.metrics.likelihood_attacks import (
    CHANCE_AUC,
    auc,
    likelihood_ratios,
    min_learned_share,
)
from collateral.metrics.statistics import tpr_at_one_percent

Part = tuple[str, At]  # subset; its part: "near", "far", index of a bin, or None for all


class Attack(NamedTuple):
    """How well an attack separates examples that a model was trained on from other examples."""

    aucs: Floats  # AUC of each shadow model; NaN for a model that diverged
    tpr: float  # TPR at an FPR of 1 %, with the examples of all shadow models pooled


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the attack's AUC before and after unlearning, and its change, by part of the data.

    Nothing is yielded if no method was applied to shadow models.
    """
    if not cell.exposed:
        return
    parts = dict(_split_training_set(cell))
    first = cell.exposure(cell.exposed[0])  # all methods start from the same shadow models
    before = attack(cell, first.before, first.is_in, parts)
    yield Row(cell.reference, "shadow_sure", min_learned_share(first.before, first.is_in))
    for part, found in before.items():
        yield from _mean_rows(cell.reference, "lira_auc", part, found.aucs)
        yield from _tpr_row(cell.reference, "lira_tpr", part, found)
        size = float(parts[part].sum())
        yield Row(cell.reference, "exposure_count", size, set=part[0], at=part[1])
    after: dict[Part, dict[str, Floats]] = {part: {} for part in parts}
    for run in cell.exposed:
        pool = cell.exposure(run)
        is_sound = np.isfinite([pool.before, pool.after]).all(axis=(0, 2))
        yield Row(run, "exposure_models", float(is_sound.sum()))
        for part, found in attack(cell, pool.after, pool.is_in, parts).items():
            after[part][run] = found.aucs
            yield from _tpr_row(run, "ulira_tpr", part, found)
    for part, aucs in after.items():
        changes = {run: own - before[part].aucs for run, own in aucs.items()}
        yield from compare_rows("ulira_auc", part, aucs, CHANCE_AUC)
        yield from compare_rows("exposure_change", part, changes, 0)


def _split_training_set(cell: CellResults) -> Iterator[tuple[Part, Mask]]:
    """Yield each part of the training set with a mask of its examples.

    The parts are the forget set, all retained examples, near ones, far ones, and each bin of
    similarity to the forget set. Similarities are averaged over seeds.
    """
    yield ("forget", None), np.ones(len(cell.split.forget), dtype=bool)
    yield ("retain", None), np.ones(len(cell.split.retain), dtype=bool)
    for at, mask in split_by_distance(cell, "retain").items():
        yield ("retain", at), mask
    edges = (cell.number(cell.reference, "bin_low", "retain", b) for b in count())
    lows = list(takewhile(lambda low: not math.isnan(low), edges))
    bins = np.searchsorted(lows[1:], cell.similarity["retain"].mean(axis=0), side="right")
    for b in range(len(lows)):
        yield ("retain", b), bins == b


def attack(
    cell: CellResults, margins: Singles, is_in: Mask, parts: Mapping[Part, Mask]
) -> dict[Part, Attack]:
    """Attack all shadow models that did not diverge; return the result on each part of the data."""
    found: dict[Part, Attack] = {}
    sound = np.flatnonzero(np.isfinite(margins).all(axis=1))
    for name, rows in (("forget", cell.split.forget), ("retain", cell.split.retain)):
        seen = is_in[np.ix_(sound, rows)]
        ratios = likelihood_ratios(margins[np.ix_(sound, rows)].astype(np.float64), seen)
        for part, members in parts.items():
            if part[0] == name:
                aucs = np.full(len(margins), np.nan)
                own, own_seen = ratios[:, members], seen[:, members]
                aucs[sound] = [auc(*one) for one in zip(own, own_seen, strict=True)]
                found[part] = Attack(aucs, pooled_tpr(own, own_seen))
    return found


def pooled_tpr(ratios: Floats, is_in: Mask) -> float:
    """Return the TPR at an FPR of 1 %, where each pair of a model and an example is one sample."""
    known = ~np.isnan(ratios)
    return tpr_at_one_percent(ratios[is_in & known], ratios[~is_in & known])


def _tpr_row(run: str, metric: str, part: Part, found: Attack) -> Iterator[Row]:
    """Yield the TPR on a part of the training set; no TPR on a bin, which has too few examples."""
    if not isinstance(part[1], int):
        yield Row(run, metric, found.tpr, set=part[0], at=part[1])


def _mean_rows(run: str, metric: str, part: Part, by_model: Floats) -> Iterator[Row]:
    """Yield the mean AUC over shadow models, and its 95 % interval clipped to [0, 1]."""
    known = by_model[~np.isnan(by_model)]
    low, high = np.clip(interval(known), 0, 1) if len(known) > 1 else (math.nan, math.nan)
    ends = {"": known.mean() if len(known) else math.nan, "_low": low, "_high": high}
    for end, value in ends.items():
        yield Row(run, f"{metric}{end}", float(value), set=part[0], at=part[1])


def compare_rows(
    metric: str, part: Part, by_run: Mapping[str, Floats], null: float
) -> Iterator[Row]:
    """Yield the mean over shadow models of each run's values, and its confidence interval.

    The values are AUCs or changes of AUC; `null` is the value that means no effect. The intervals
    are adjusted by Holm's method for the number of runs, except in a bin.
    """
    differences = {run: values - null for run, values in by_run.items()}
    is_bin = isinstance(part[1], int)
    alone = {run: compare({run: values})[run] for run, values in differences.items() if is_bin}
    limit = 1 - null  # largest possible difference from `null`, because an AUC is at most 1
    for run, found in (alone or compare(differences)).items():
        known = differences[run][~np.isnan(differences[run])]
        mean = known.mean() if len(known) else math.nan
        low, high = np.clip((found.low, found.high), -limit, limit)
        for end, value in (("", mean), ("_low", low), ("_high", high)):
            yield Row(run, f"{metric}{end}", float(null + value), set=part[0], at=part[1])
