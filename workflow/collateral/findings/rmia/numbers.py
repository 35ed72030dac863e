"""RMIA of every run: AUC and TPR at an FPR of 1 % by seed, and two intervals of the mean AUC."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.differences import interval
from collateral.metrics.likelihood_attacks import (
    UNKNOWN,
    Placements,
    delong_interval,
    find_placements,
    placement_auc,
    rmia_scores,
)
from collateral.metrics.statistics import tpr_at_one_percent

Pair = tuple[Floats, Floats]  # pair of arrays: scores of the forget set, scores of the non-members


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield AUC and TPR of every run by seed, and two intervals of the mean AUC.

    One interval is over seeds, the other over examples.
    """
    non_members = np.flatnonzero(np.isin(cell.labels.test, cell.split.affected))
    yield Row(cell.reference, "rmia_non_members", float(len(non_members)))
    sound = [result for result in cell.retrained() if not result.is_diverged]
    out = {result.seed: _read_confidences(cell, result, non_members) for result in sound}
    everyone = list(cell.all_results())
    for run in (cell.reference, *cell.runs):
        results = [result for result in everyone if result.run == run]
        scores = [_score(cell, result, non_members, out) for result in results]
        placements = [find_placements(*pair) if pair else None for pair in scores]
        aucs = [placement_auc(found) if found else math.nan for found in placements]
        for seed, auc, pair in zip(cell.seeds, aucs, scores, strict=True):
            yield Row(run, "rmia_auc", auc, seed)
            yield Row(run, "rmia_tpr", tpr_at_one_percent(*pair) if pair else math.nan, seed)
        # The intervals are undefined if the AUC is undefined in any seed.
        is_whole = not np.isnan(aucs).any()
        known: list[Placements] = [found for found in placements if found] if is_whole else []
        over_seeds = auc_interval(aucs) if is_whole else UNKNOWN
        for kind, (low, high) in {"": over_seeds, "examples_": delong_interval(known)}.items():
            yield Row(run, f"rmia_auc_{kind}low", low)
            yield Row(run, f"rmia_auc_{kind}high", high)


def _read_confidences(cell: CellResults, result: Result, non_members: Ints) -> Pair:
    """Return true-class probabilities of the forget set and of the non-members."""
    return (
        result.train.confidence[cell.split.forget].astype(np.float64),
        result.test.confidence[non_members].astype(np.float64),
    )


def _score(
    cell: CellResults, result: Result, non_members: Ints, out: Mapping[int, Pair]
) -> Pair | None:
    """Return the RMIA scores of the forget set and of the non-members.

    Return None if the run diverged, or if no other seed has a Retrain that did not diverge.
    """
    others = [pair for seed, pair in out.items() if seed != result.seed]
    if result.is_diverged or not others:
        return None
    forget, test = _read_confidences(cell, result, non_members)
    forget_out, test_out = zip(*others, strict=True)
    return rmia_scores(forget, forget_out), rmia_scores(test, test_out)


def auc_interval(aucs: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean AUC over seeds, within [0, 1]; NaN for one seed."""
    if len(aucs) < 2:
        return UNKNOWN
    low, high = np.clip(interval(np.array(aucs)), 0, 1)
    return float(low), float(high)
