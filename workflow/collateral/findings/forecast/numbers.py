"""The numbers of expected and of really hurt examples, of each method, stratum and class."""

from collections.abc import Iterator, Mapping
from math import nan
from typing import Any

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults
from collateral.metrics import forecast as model
from collateral.metrics.arrays import Floats, Mask
from collateral.metrics.association import logit_margins
from collateral.metrics.statistics import shift_seeds


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield forecast and outcome of each method; nothing without a forecast or with one seed."""
    if not cell.forecast or len(cell.seeds) < 2:
        return
    rows, results = cell.split.retain, cell.retrained()
    label = cell.labels.train[rows]
    strata = model.split_strata(label, cell.labels.train[cell.split.forget])
    if any(one.is_diverged for one in results):
        return
    retrained = np.array([one.train.confidence.astype(np.float64)[rows] for one in results])
    margins = np.array([logit_margins(one.train.logits[rows], label) for one in results])
    bounds = model.floor_bounds(retrained, margins)
    placebo = model.find_hurt(retrained, shift_seeds(retrained), bounds)
    for method in (name for name in cell.methods if name in cell.forecast):
        if any(cell.result(method, seed).is_diverged for seed in cell.seeds):
            continue
        own = [cell.result(method, seed).train.confidence[rows] for seed in cell.seeds]
        hurt = model.find_hurt(retrained, np.array(own, dtype=np.float64), bounds)
        for stratum, about in cell.forecast[method].items():
            masks = {stratum: strata[stratum]} | _by_class(cell, strata[stratum])
            probability = _place(about, rows)
            for at, mask in masks.items():
                yield from _compare(cell, method, at, probability[mask], hurt[:, mask])
                yield Row(
                    method, "forecast_placebo", _mean_count(placebo[:, mask]), set="retain", at=at
                )
            refused = float(bool(about["refusal"]))
            yield Row(method, "forecast_refused", refused, set="retain", at=stratum)


def _by_class(cell: CellResults, mask: Mask) -> dict[str, Mask]:
    """Return a mask per class of a stratum, by the name of the class."""
    label = cell.labels.train[cell.split.retain]
    return {
        f"class {cell.labels.class_names[c]}": mask & (label == c) for c in np.unique(label[mask])
    }


def _place(about: Mapping[str, Any], rows: np.ndarray) -> Floats:
    """Return the forecast probability of every retained example; NaN where there is none."""
    found: Floats = np.full(int(rows.max()) + 1, nan)
    examples = np.array(about["examples"], dtype=np.int64)
    is_there = examples < len(found)
    found[examples[is_there]] = np.array(about["probability"])[is_there]
    chosen: Floats = found[rows]
    return chosen


def _compare(
    cell: CellResults, method: str, at: str, probability: Floats, hurt: Mask
) -> Iterator[Row]:
    expected = float(probability.sum()) if len(probability) else nan
    yield Row(method, "forecast_expected", expected, set="retain", at=at)
    yield Row(method, "forecast_hurt", _mean_count(hurt), set="retain", at=at)
    for seed, of_seed in zip(cell.seeds, hurt, strict=True):
        value = nan if np.isnan(expected) else model.auc(probability, of_seed)
        yield Row(method, "forecast_auc", value, seed, "retain", at)


def _mean_count(masks: Mask) -> float:
    return float(masks.sum(axis=1).mean())
