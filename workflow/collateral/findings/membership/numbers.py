"""Membership inference by a support vector classifier.

One RBF SVC (C=3, gamma='auto') per feature learns to tell |test| random retained examples (members;
all of them where there are fewer) from the test set (non-members).

Two shortcuts. Values of a scalar feature that round to the same 1e-3 (entropies, whose range is
wider: 1e-2) become one point, their mean, with a weight: the weight multiplies C, so that the
objective is that of the repeated points. Where confidences crowd near 1, a rounded value would lie
beside them and move the boundary; around their mean the kernel is as good as straight. The class
probabilities are learned from at most 2,000 members and 2,000 non-members, the first of the random
draw. All but confidence and correctness come from float16 logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.svm import SVC

from collateral.contract.rows import ATTACKS, MIA, TRACKED, Row, score_name
from collateral.contract.seeds import derive_seed
from collateral.results.dataset import Labels
from collateral.results.outputs import Outputs, StoredOutputs
from collateral.results.split import Split

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result
    from collateral.results.epochs import Epoch

DECIMALS = {"confidence": 3, "correctness": 3, "entropy": 2, "modified_entropy": 2}
MAX_VECTORS = 2000  # members, and as many non-members, where the feature is a vector
LEAST = 1e-30  # below the logarithms

Floats = NDArray[np.float64]


def of_run(cell: CellResults, result: Result) -> Iterator[Row]:
    """Yield the score of every attack on a run that is asked for; undefined where it diverged."""
    drawn = draw(cell.split, len(cell.labels.test), result.seed)
    found = scores(result.train, result.test, cell.labels, cell.split, drawn, cell.attacks)
    for name, value in found.items():
        yield Row(result.run, name, math.nan if result.is_diverged else value, result.seed)
    for epoch, model in enumerate(result.epochs() if result.run in cell.tracked else ()):
        score = mia(model, cell.split, drawn)
        yield Row(result.run, f"{TRACKED}{score_name(MIA)}", score, result.seed, at=epoch)


def mia(model: Epoch, split: Split, drawn: Draw) -> float:
    """Return what tables call MIA: the score of the attack on the true-class confidence."""
    train, test = (part.confidence.astype(np.float64) for part in (model.train, model.test))
    return non_member_rate(train[drawn.members], test[drawn.non_members], train[split.forget])


@dataclass(frozen=True)
class Draw:
    """The examples that the attack learns from, in random order."""

    members: NDArray[np.int64]  # of the train set
    non_members: NDArray[np.int64]  # all of the test set


def draw(split: Split, num_test: int, seed: int) -> Draw:
    """Draw members and non-members: the same for all runs of a cell and seed."""
    rng = np.random.default_rng(derive_seed("mia", split.hash, seed))
    retain = split.retain
    members = rng.choice(retain, min(num_test, len(retain)), replace=False)
    return Draw(members, rng.permutation(num_test))


def entropy(p: Floats) -> Floats:
    """Return the entropy of each row of class probabilities, in nats."""
    total: Floats = np.sum(p * np.log(np.maximum(p, LEAST)), axis=1)
    return -total


def modified_entropy(p: Floats, label: NDArray[np.int64]) -> Floats:
    """Return -[(1-p_y) log p_y + sum over c != y of p_c log(1-p_c)] (Song and Mittal, 2021)."""
    rows = np.arange(len(p))
    right = p[rows, label]
    terms = p * np.log(np.maximum(1 - p, LEAST))
    terms[rows, label] = (1 - right) * np.log(np.maximum(right, LEAST))
    total: Floats = terms.sum(axis=1)
    return -total


@dataclass(frozen=True)
class Examined:
    """The outputs of a model on some examples, and their labels."""

    outputs: Outputs
    label: NDArray[np.int64]

    @cached_property
    def probability(self) -> Floats:
        """The class probabilities of each example (N, C)."""
        p: Floats = softmax(self.outputs.logits.astype(np.float64), axis=1)
        return p


# What each attack looks at: (N,), or (N, C) for all classes.
FEATURES: dict[str, Callable[[Examined], Floats]] = {
    "confidence": lambda some: some.outputs.confidence.astype(np.float64),
    "correctness": lambda some: (some.outputs.prediction == some.label).astype(np.float64),
    "entropy": lambda some: entropy(some.probability),
    "modified_entropy": lambda some: modified_entropy(some.probability, some.label),
    "probability": lambda some: some.probability,
}


def scores(
    train: Outputs | StoredOutputs,
    test: Outputs | StoredOutputs,
    labels: Labels,
    split: Split,
    drawn: Draw,
    attacks: Iterable[str] = ATTACKS,
) -> dict[str, float]:
    """Return the score of each attack on a model, by the name of the score."""
    of_train, of_test = (Outputs(a.logits, a.confidence, a.prediction) for a in (train, test))
    groups = [
        Examined(outputs[index], label[index])
        for outputs, label, index in (
            (of_train, labels.train, drawn.members),
            (of_test, labels.test, drawn.non_members),
            (of_train, labels.train, split.forget),
        )
    ]
    found = {}
    for name in attacks:
        members, non_members, targets = map(FEATURES[name], groups)
        decimals = DECIMALS.get(name, 0)
        found[score_name(name)] = non_member_rate(members, non_members, targets, decimals)
    return found


def non_member_rate(
    members: Floats, non_members: Floats, targets: Floats, decimals: int = 3
) -> float:
    """Return the share of `targets` that look like `non_members`; NaN where a number is not."""
    if not all(np.isfinite(x).all() for x in (members, non_members, targets)):
        return float("nan")
    if members.ndim == 1:
        learned = _learn_scalars(members, non_members, decimals)
    else:
        learned = _learn_vectors(members, non_members)
    return float(1 - np.mean(learned.predict(targets.reshape(len(targets), -1))))


def _learn_scalars(members: Floats, non_members: Floats, decimals: int) -> SVC:
    """Fit the weighted means of one feature's values."""
    (x0, weights0), (x1, weights1) = (_collapsed(x, decimals) for x in (non_members, members))
    x = np.concatenate([x0, x1])[:, None]
    is_member = np.repeat([0, 1], [len(x0), len(x1)])
    return _classifier().fit(x, is_member, np.concatenate([weights0, weights1]).astype(float))


def _collapsed(values: Floats, decimals: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the mean of the values that round to the same, and how many these are."""
    values = np.sort(values)  # so that the last bit of a sum depends on no order
    _, starts, counts = np.unique(values.round(decimals), return_index=True, return_counts=True)
    means: Floats = np.add.reduceat(values, starts) / counts
    return means, counts


def _learn_vectors(members: Floats, non_members: Floats) -> SVC:
    """Fit the first `MAX_VECTORS` of each side."""
    x0, x1 = non_members[:MAX_VECTORS], members[:MAX_VECTORS]
    is_member = np.repeat([0, 1], [len(x0), len(x1)])
    return _classifier().fit(np.concatenate([x0, x1]), is_member)


def _classifier() -> SVC:
    return SVC(C=3, kernel="rbf", gamma="auto")
