"""Membership inference attacks by a support vector classifier.

One RBF SVC (C=3, gamma='auto') per feature learns to tell |test| random retained examples (members;
all retained examples if there are fewer) from the test set (non-members).

Two shortcuts make it fast. Values of a scalar feature that are equal after rounding to 1e-3
(entropies, whose range is wider: 1e-2) become one point, their mean, with a weight: the weight
multiplies C, so that the objective is that of the repeated points. Rounded values themselves would
move the boundary where confidences are close to 1; the kernel is almost linear around their mean.
The attack on class probabilities learns from at most 2,000 members and 2,000 non-members, the first
ones of the random draw. All features but confidence and correctness come from float16 logits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax
from sklearn.svm import SVC

from collateral.metrics.arrays import Floats, Halves, Ints, Singles

DECIMALS = {"confidence": 3, "correctness": 3, "entropy": 2, "modified_entropy": 2}
MAX_VECTORS = 2000  # maximum number of members, and of non-members, to fit class probabilities
SMALLEST = 1e-30  # lower bound of probabilities before taking logarithms


@dataclass(frozen=True)
class Draw:
    """Indices of the examples that an attack learns from, in random order."""

    members: Ints  # indices of train examples
    non_members: Ints  # indices of all test examples


def draw(retain: Ints, num_test: int, seed: int) -> Draw:
    """Draw members among the retained examples, and put the test examples in random order."""
    rng = np.random.default_rng(seed)
    members = rng.choice(retain, min(num_test, len(retain)), replace=False)
    return Draw(members, rng.permutation(num_test))


@dataclass(frozen=True)
class Examples:
    """Model outputs on some examples, and their true labels."""

    logits: Halves  # (N, C)
    confidence: Singles  # probability of the true class
    prediction: Ints  # (N,)
    label: Ints  # (N,)

    def __getitem__(self, index: Ints) -> Examples:
        """Return the examples at these indices."""
        return Examples(
            self.logits[index], self.confidence[index], self.prediction[index], self.label[index]
        )

    @cached_property
    def probability(self) -> Floats:
        """Class probabilities of each example, one row per example."""
        return softmax(self.logits.astype(np.float64), axis=1)


def entropy(p: Floats) -> Floats:
    """Return the entropy of each row of class probabilities, in nats."""
    return -np.sum(p * np.log(np.maximum(p, SMALLEST)), axis=1)


def modified_entropy(p: Floats, label: Ints) -> Floats:
    """Return -[(1-p_y) log p_y + sum over c != y of p_c log(1-p_c)] (Song and Mittal, 2021)."""
    rows = np.arange(len(p))
    right = p[rows, label]
    terms = p * np.log(np.maximum(1 - p, SMALLEST))
    terms[rows, label] = (1 - right) * np.log(np.maximum(right, SMALLEST))
    return -terms.sum(axis=1)


# Each attack uses one number per example, or all class probabilities of each example.
FEATURES: dict[str, Callable[[Examples], Floats]] = {
    "confidence": lambda some: some.confidence.astype(np.float64),
    "correctness": lambda some: (some.prediction == some.label).astype(np.float64),
    "entropy": lambda some: entropy(some.probability),
    "modified_entropy": lambda some: modified_entropy(some.probability, some.label),
    "probability": lambda some: some.probability,
}


def attack_scores(
    train: Examples, test: Examples, forget: Ints, drawn: Draw, attacks: Iterable[str]
) -> dict[str, float]:
    """Return the fraction of the forget set that each attack classifies as non-members."""
    groups = [train[drawn.members], test[drawn.non_members], train[forget]]
    found = {}
    for name in attacks:
        members, non_members, targets = map(FEATURES[name], groups)
        found[name] = non_member_rate(members, non_members, targets, DECIMALS.get(name, 0))
    return found


def non_member_rate(
    members: Floats, non_members: Floats, targets: Floats, decimals: int = 3
) -> float:
    """Return the fraction of `targets` classified as non-members; NaN if a value is not finite."""
    if not all(np.isfinite(x).all() for x in (members, non_members, targets)):
        return float("nan")
    if members.ndim == 1:
        learned = _fit_scalars(members, non_members, decimals)
    else:
        learned = _fit_vectors(members, non_members)
    return float(1 - np.mean(learned.predict(targets.reshape(len(targets), -1))))


def _fit_scalars(members: Floats, non_members: Floats, decimals: int) -> SVC:
    """Fit the classifier to a scalar feature, with equal values merged into one weighted point."""
    (x0, weights0), (x1, weights1) = (_merge_equal(x, decimals) for x in (non_members, members))
    x = np.concatenate([x0, x1])[:, None]
    is_member = np.repeat([0, 1], [len(x0), len(x1)])
    return _classifier().fit(x, is_member, np.concatenate([weights0, weights1]).astype(float))


def _merge_equal(values: Floats, decimals: int) -> tuple[Floats, Ints]:
    """Merge values that are equal after rounding; return the mean and the size of each group."""
    values = np.sort(values)  # sorted, because the order of terms changes the last bit of a sum
    _, starts, counts = np.unique(values.round(decimals), return_index=True, return_counts=True)
    means: Floats = np.add.reduceat(values, starts) / counts
    return means, counts


def _fit_vectors(members: Floats, non_members: Floats) -> SVC:
    """Fit the classifier to the first `MAX_VECTORS` members and non-members."""
    x0, x1 = non_members[:MAX_VECTORS], members[:MAX_VECTORS]
    is_member = np.repeat([0, 1], [len(x0), len(x1)])
    return _classifier().fit(np.concatenate([x0, x1]), is_member)


def _classifier() -> SVC:
    return SVC(C=3, kernel="rbf", gamma="auto")
