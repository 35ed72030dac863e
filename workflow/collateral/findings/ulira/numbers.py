"""LiRA and U-LiRA on shadow models: likelihood ratios, their AUC by similarity, with intervals.

An attacked model is left out of the laws that it is held against, and with it one model of the
other side: both laws then rest on as many models whichever side it is on, so that equal laws have
an AUC of 0.5. A few models know little of one example's variance: it is drawn towards the set's,
as if that were known from four models more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from collateral.contract.rows import At, Row
from collateral.findings._shared.inference.differences import compare, interval
from collateral.findings._shared.statistics import tpr_at_one_percent
from collateral.findings.near import FAR, NEAR, Mask, near_in_the_mean

if TYPE_CHECKING:
    from collateral.results.cell import CellResults

POOLED = 4  # models that the set's variance counts for
LEAST_VARIANCE = 1e-12  # of margins that are all equal
NOBODY = 0.5  # an AUC by which nobody can tell

Floats = NDArray[np.float64]
Part = tuple[str, At]  # a set, and which of its examples


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield AUCs before and after, and how they changed, of each part; nothing without a pool."""
    if not cell.exposed:
        return
    parts = dict(_parts(cell))
    first = cell.exposure(cell.exposed[0])  # the models are the same for all methods
    before = attacked(cell, first.before, first.is_in, parts)
    yield Row(cell.reference, "shadow_sure", sure(first.before, first.is_in))
    for part, told in before.items():
        yield from _rows(cell.reference, "lira_auc", part, told.aucs)
        yield from _rates(cell.reference, "lira_tpr", part, told)
        yield Row(
            cell.reference, "exposure_count", float(parts[part].sum()), set=part[0], at=part[1]
        )
    afters: dict[Part, dict[str, Floats]] = {part: {} for part in parts}
    for run in cell.exposed:
        pool = cell.exposure(run)
        is_sound = np.isfinite([pool.before, pool.after]).all(axis=(0, 2))
        yield Row(run, "exposure_models", float(is_sound.sum()))
        for part, told in attacked(cell, pool.after, pool.is_in, parts).items():
            afters[part][run] = told.aucs
            yield from _rates(run, "ulira_tpr", part, told)
    for part, of_runs in afters.items():
        changes = {run: found - before[part].aucs for run, found in of_runs.items()}
        yield from compared("ulira_auc", part, of_runs, NOBODY)
        yield from compared("exposure_change", part, changes, 0)


def sure(margins: NDArray[np.float32], is_in: Mask) -> float:
    """Return the share of what it saw to which a model gives p > 1/2, of the one with the least."""
    return float(np.min(((margins > 0) & is_in).sum(axis=1) / is_in.sum(axis=1)))


def _parts(cell: CellResults) -> Iterator[tuple[Part, Mask]]:
    """Yield the parts of both sets: all, near and far, and bins; similar in the mean over seeds."""
    yield ("forget", None), np.ones(len(cell.split.forget), dtype=bool)
    is_near = near_in_the_mean(cell, "retain")
    yield ("retain", None), np.ones_like(is_near)
    yield ("retain", NEAR), is_near
    yield ("retain", FAR), ~is_near
    lows = _lows(cell)
    bins = np.searchsorted(lows[1:], cell.similarity["retain"].mean(axis=0), side="right")
    for b in range(len(lows)):
        yield ("retain", b), bins == b


def _lows(cell: CellResults) -> list[float]:
    """Return the lower edges of the bins of similarity, which all findings share."""
    edges = (cell.number(cell.reference, "bin_low", "retain", b) for b in count())
    return list(takewhile(lambda low: not math.isnan(low), edges))


@dataclass(frozen=True)
class Told:
    """How well examples are told into seen and not seen."""

    aucs: Floats  # (K,), NaN of a model that diverged
    tpr: float  # at an FPR of 1 %, over all models


def attacked(
    cell: CellResults, margins: NDArray[np.float32], is_in: Mask, parts: Mapping[Part, Mask]
) -> dict[Part, Told]:
    """Attack every model that did not diverge, in each part."""
    found: dict[Part, Told] = {}
    sound = np.flatnonzero(np.isfinite(margins).all(axis=1))
    for name, rows in (("forget", cell.split.forget), ("retain", cell.split.retain)):
        seen = is_in[np.ix_(sound, rows)]
        ratios = likelihood_ratios(margins[np.ix_(sound, rows)].astype(np.float64), seen)
        for part, members in parts.items():
            if part[0] == name:
                aucs = np.full(len(margins), np.nan)
                own, own_seen = ratios[:, members], seen[:, members]
                aucs[sound] = [auc(*one) for one in zip(own, own_seen, strict=True)]
                found[part] = Told(aucs, pooled_tpr(own, own_seen))
    return found


def likelihood_ratios(margins: Floats, is_in: Mask) -> Floats:
    """Return the log ratio of IN to OUT of each model and example, (K, N), by the other models."""
    found = np.full(margins.shape, np.nan)
    columns = np.arange(margins.shape[1])
    for model, own in enumerate(margins):
        others = np.ones_like(is_in)
        others[model] = False
        others[partners(is_in, model), columns] = False
        sides = [Law.fitted(margins, is_in & others), Law.fitted(margins, ~is_in & others)]
        found[model] = sides[0].log_density(own) - sides[1].log_density(own)
    return found


def partners(is_in: Mask, model: int) -> NDArray[np.int64]:
    """Return for each example the next model that is not on the side of `model`."""
    total = len(is_in)
    order = (model + 1 + np.arange(total - 1)) % total
    is_other = is_in[order] != is_in[model]
    return np.asarray(order[is_other.argmax(axis=0)])


@dataclass(frozen=True)
class Law:
    """A Gaussian for each example."""

    mean: Floats  # (N,), NaN where no model is on that side
    variance: Floats

    @staticmethod
    def fitted(margins: Floats, chosen: Mask) -> Law:
        """Fit it to the chosen models of each example, its variance drawn towards that of all."""
        num_models = chosen.sum(axis=0)
        with np.errstate(invalid="ignore"):
            mean = np.where(chosen, margins, 0).sum(axis=0) / num_models
        squares = np.where(chosen, (margins - mean) ** 2, 0).sum(axis=0)
        known = np.maximum(num_models - 1, 0)
        pooled = squares.sum() / max(known.sum(), 1)
        variance = (squares + POOLED * pooled) / (known + POOLED)
        return Law(mean, np.maximum(variance, LEAST_VARIANCE))

    def log_density(self, values: Floats) -> Floats:
        """Return the logarithm of the density, but for a constant."""
        found: Floats = -((values - self.mean) ** 2 / self.variance + np.log(self.variance)) / 2
        return found


def auc(scores: Floats, is_in: Mask) -> float:
    """Return the chance that a seen example has the larger score, of equal ones half."""
    known = ~np.isnan(scores)
    ranks, seen = rankdata(scores[known]), is_in[known]
    num_in, num_out = int(seen.sum()), int((~seen).sum())
    if not num_in or not num_out:
        return math.nan
    return float((ranks[seen].sum() - num_in * (num_in + 1) / 2) / (num_in * num_out))


def pooled_tpr(ratios: Floats, is_in: Mask) -> float:
    """Return the TPR at an FPR of 1 % over all pairs of a model and an example."""
    known = ~np.isnan(ratios)
    return tpr_at_one_percent(ratios[is_in & known], ratios[~is_in & known])


def _rates(run: str, metric: str, part: Part, told: Told) -> Iterator[Row]:
    """Yield the TPR of a set, or of its near or far ones; a bin has too few examples."""
    if not isinstance(part[1], int):
        yield Row(run, metric, told.tpr, set=part[0], at=part[1])


def _rows(run: str, metric: str, part: Part, by_model: Floats) -> Iterator[Row]:
    """Yield the mean over models and the ends of its interval, which is within [0, 1]."""
    known = by_model[~np.isnan(by_model)]
    low, high = np.clip(interval(known), 0, 1) if len(known) > 1 else (math.nan, math.nan)
    ends = {"": known.mean() if len(known) else math.nan, "_low": low, "_high": high}
    for end, value in ends.items():
        yield Row(run, f"{metric}{end}", float(value), set=part[0], at=part[1])


def compared(
    metric: str, part: Part, by_run: Mapping[str, Floats], nothing: float
) -> Iterator[Row]:
    """Yield means with intervals, tested against `nothing`; a bin's alone, others by Holm."""
    from_it = {run: values - nothing for run, values in by_run.items()}
    is_bin = isinstance(part[1], int)
    alone = {run: compare({run: values})[run] for run, values in from_it.items() if is_bin}
    most = 1 - nothing  # an AUC is within [0, 1]
    for run, found in (alone or compare(from_it)).items():
        known = from_it[run][~np.isnan(from_it[run])]
        middle = known.mean() if len(known) else math.nan
        low, high = np.clip((found.low, found.high), -most, most)
        for end, value in (("", middle), ("_low", low), ("_high", high)):
            yield Row(run, f"{metric}{end}", float(nothing + value), set=part[0], at=part[1])
