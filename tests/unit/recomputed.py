"""What the tests test_numbers_*.py share: who recomputes what, and the outputs that are looked at.

A test that recomputes metrics says which by `recomputes`, and compares rows of the long table with
numbers of its own by `same`. It fails if it compared no number of a metric that it names.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

import numpy as np
import pytest
from made_benchmark import Made
from scipy.special import softmax

RECOMPUTED: dict[str, str] = {}  # the test that recomputes a metric, by the metric's name
_compared: dict[str, set[float]] = defaultdict(set)  # numbers that `same` compared, by metric
# Metrics that may have one value: `at` says it, a sound split has 0, or one cell has a number.
ONE_VALUE = {"on_device", "verdict", "split_faults", "friedman_p", "critical_difference"}
ONE_VALUE |= {"atlas_pairs", "atlas_floor", "atlas_asymmetry_low"}  # all matrices are alike
ONE_VALUE |= {"retrain_by_gap", "retrain_by_failure", "retrain_by_cost", "estimated_ua"}
SETS = ("forget", "retain", "test")
BINS = 10


def recomputes(*metrics: str) -> Callable[[Any], Any]:
    """Say which metrics a test recomputes; a test with an argument `metric` does that one."""

    def mark(test: Any) -> Any:
        RECOMPUTED.update(dict.fromkeys(metrics, test.__name__))

        @wraps(test)
        def checked(**given: Any) -> None:
            _compared.clear()
            test(**given)
            for metric in [given["metric"]] if "metric" in given else metrics:
                found = f"{test.__name__} compares only {_compared[metric]} of {metric}"
                assert len(_compared[metric]) > (metric not in ONE_VALUE), found

        return checked

    return mark


def recomputes_each(*metrics: str) -> Callable[[Any], Any]:
    """Let a test run once for each of these metrics, which it recomputes."""
    return lambda test: pytest.mark.parametrize("metric", metrics)(recomputes(*metrics)(test))


@dataclass(frozen=True)
class Seen:
    """One seed of a run: outputs, labels and similarity of each set."""

    confidence: dict
    prediction: dict
    probability: dict
    label: dict
    similarity: dict


def seeing(made: Made) -> Callable[[str, str, int], Seen]:
    """Return a function: cell, run and seed in, what the outputs are of each set out."""

    @cache
    def seen(cell, run, seed):
        own = made.base_seed(seed) if run == "original" else seed
        outputs, split, labels = made.outputs(cell, run, own), made.split(cell), made.labels
        place, similarity = made.seeds.index(seed), made.similarity(cell)

        def by_set(train, test):
            return {"forget": train[split.forget], "retain": train[split.retain], "test": test}

        def of(name):
            return by_set(getattr(outputs.train, name), getattr(outputs.test, name))

        logits = {name: part.astype(np.float64) for name, part in of("logits").items()}
        return Seen(
            {name: part.astype(np.float64) for name, part in of("confidence").items()},
            of("prediction"),
            {name: softmax(part, axis=1) for name, part in logits.items()},
            by_set(labels.train, labels.test),
            by_set(similarity["train"][place], similarity["test"][place]),
        )

    return seen


def rows_of(bench, metric):
    found = [row for row in bench.long.rows if row.metric == metric]
    assert len(found) > 2, metric
    return found


def same(row, value, tolerance=1e-9):
    shown = float(row.value) if row.value else math.nan
    if row.value:
        _compared[row.metric].add(shown)
    assert shown == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), row


def is_lost(bench, row):
    return bench.made.status(row.run, int(row.seed), row.cell) == "diverged"


def next_of(bench, seed):
    seeds = bench.made.seeds
    return seeds[(seeds.index(seed) + 1) % len(seeds)]


def pair(bench, see, row):
    """Return Retrain of a seed and the run; Retrain's own numbers are of its next seed."""
    seed = int(row.seed)
    other = next_of(bench, seed) if row.run == "retrain" else seed
    return see(row.cell, "retrain", seed), see(row.cell, row.run, other)


def share(values):
    return float(np.mean(values)) if len(values) else math.nan


def edges_of(bench, see, cell, name):
    """Return the edges of ten equal widths over the similarities of all seeds."""
    values = np.concatenate([see(cell, "retrain", s).similarity[name] for s in bench.made.seeds])
    return np.linspace(float(values.min()), float(values.max()), BINS + 1)


def bins_of(bench, see, cell, name, seed):
    edges = edges_of(bench, see, cell, name)
    values = see(cell, "retrain", seed).similarity[name]
    return np.array([min(sum(value >= edges[1:]), BINS - 1) for value in values])


_parts: dict[tuple[str, ...], dict[str, np.ndarray]] = {}


def parts_of(bench, see, cell, name):
    """Return who is near and who is far: near are the most similar, as many as a class has."""
    key = bench.made.name, cell, name
    if key not in _parts:
        _parts[key] = _find_parts(bench.made, see, cell, name)
    return _parts[key]


def _find_parts(made, see, cell, name):
    first_look = min(made.options(cell).get("looks", ()), default=None)
    seen = [see(cell, "retrain", seed) for seed in made.seeds[:first_look]]
    label, classes = seen[0].label[name].tolist(), {*seen[0].label["retain"].tolist()}
    kept = [place for place, c in enumerate(label) if c in classes]
    affected = [place for place in kept if label[place] in made.split(cell).affected]
    count = len(affected) or len(kept) // len({label[place] for place in kept})
    count = min(max(count, 10), len(kept) // 4)
    similarity = np.mean([one.similarity[name] for one in seen], axis=0)
    nearest = sorted(kept, key=lambda place: -similarity[place])
    chosen = {"near": nearest[:count], "far": nearest[count:]}
    return {part: np.isin(range(len(label)), places) for part, places in chosen.items()}


def levels_by_holm(p, alpha=0.05):
    """Return Holm's level of each test: alpha over how many are not rejected yet; ties share it."""
    left, levels = dict(p), {}
    while left and min(left.values()) < alpha / len(left):
        tied = [key for key, value in left.items() if value == min(left.values())]
        levels |= dict.fromkeys(tied, alpha / len(left))
        left = {key: value for key, value in left.items() if key not in tied}
    return levels | dict.fromkeys(left, alpha / max(len(left), 1))
