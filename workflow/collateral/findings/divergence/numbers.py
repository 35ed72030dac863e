"""Jensen-Shannon and Kullback-Leibler divergence from Retrain, and agreement with it.

From float16 logits, in float32, and so few examples at a time that they stay in the cache: logits
are most of what is read, so that sweeps are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.findings.divergence import METRICS
from collateral.findings.near import NEAR, PARTS, Mask, near_by_seed
from collateral.results.outputs import ModelOutputs, Outputs

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

CHUNK = 30_000  # probabilities at a time
LEAST = np.float32(1e-37)  # of a probability below a logarithm

Floats = NDArray[np.float32]
Halves = NDArray[np.float16]
Key = tuple[str, str, str | None]  # metric, set and part

KEYS: list[Key] = [(m, name, at) for m in METRICS for name, parts in PARTS.items() for at in parts]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the three means of every run but sweeps', on each set and near and far."""
    retrained = list(cell.retrained())
    followers = [*retrained[1:], retrained[0]]
    near = {name: near_by_seed(cell, name) for name, parts in PARTS.items() if NEAR in parts}
    for place, (reference, follower) in enumerate(zip(retrained, followers, strict=True)):
        is_near = {name: by_seed[place] for name, by_seed in near.items()}
        runs = [r for r in cell.results() if r.seed == reference.seed and "@" not in r.run]
        said = read(reference)
        for other in (follower, *runs):
            is_lost = reference.is_diverged or other.is_diverged or other is reference
            found = {} if is_lost else means(measures(cell, said, read(other)), is_near)
            for key in KEYS:
                metric, name, at = key
                yield Row(other.run, metric, found.get(key, math.nan), reference.seed, name, at)


def read(result: Result) -> ModelOutputs:
    """Read the outputs of a run; its logits are read only once."""
    sets = (result.train, result.test)
    return ModelOutputs(*(Outputs(a.logits, a.confidence, a.prediction) for a in sets))


def measures(
    cell: CellResults, retrained: ModelOutputs, own: ModelOutputs
) -> dict[str, dict[str, Floats]]:
    """Return the divergences and the agreement of every example, by metric and set."""
    pairs = ((retrained.train, own.train), (retrained.test, own.test))
    by_example = [
        (*divergences(a.logits, b.logits), a.prediction == b.prediction) for a, b in pairs
    ]
    return {
        metric: cell.sets(train, test)
        for metric, train, test in zip(METRICS, *by_example, strict=True)
    }


def means(
    values: Mapping[str, Mapping[str, Floats]], is_near: Mapping[str, Mask]
) -> dict[Key, float]:
    """Return the mean of each metric over every part of the sets; NaN of nobody."""
    found = {}
    for metric, name, at in KEYS:
        own = values[metric][name]
        if at:
            own = own[is_near[name] if at == NEAR else ~is_near[name]]
        found[metric, name, at] = float(own.mean(dtype=np.float64)) if len(own) else math.nan
    return found


def divergences(reference: Halves, other: Halves) -> tuple[Floats, Floats]:
    """Return JS and KL(reference, other) of each pair of rows of logits, in nats."""
    js, kl = (np.empty(len(reference), np.float32) for _ in range(2))
    count = max(1, CHUNK // reference.shape[1])
    for start in range(0, len(reference), count):
        part = slice(start, start + count)
        js[part], kl[part] = _divergences(reference[part], other[part])
    return js, kl


def _divergences(reference: Halves, other: Halves) -> tuple[Floats, Floats]:
    (p, log_p), (q, log_q) = _softmax(reference), _softmax(other)
    log_m = np.log(np.maximum((p + q) / 2, LEAST))
    own = np.vecdot(p, log_p)
    js = (own + np.vecdot(q, log_q) - np.vecdot(p, log_m) - np.vecdot(q, log_m)) / 2
    # Of equal laws the last bits may be below zero.
    return np.maximum(js, 0), np.maximum(own - np.vecdot(p, log_q), 0)


def _softmax(logits: Halves) -> tuple[Floats, Floats]:
    """Return probabilities and their logarithms; NaN where a logit is not finite."""
    z = logits.astype(np.float32)
    with np.errstate(invalid="ignore"):
        z -= z.max(axis=1, keepdims=True)
    p = np.exp(z)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    z -= np.log(total)
    return p, z
