"""Metrics of a model, each with its own passes: accuracies, membership attacks, locality."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from plain.data import PlainTask
from sklearn.svm import SVC
from torch import Tensor, nn

Floats = NDArray[np.float64]
Batches = Iterable[tuple[Tensor, Tensor]]
NUM_BINS = 10


@dataclass(frozen=True)
class Looked:
    """Outputs of a model on some examples, from one pass."""

    features: Floats  # (n, D)
    probabilities: Floats  # (n, C)


@torch.no_grad()
def accuracy(model: nn.Module, batches: Batches) -> float:
    """Return the fraction of examples that the model classifies correctly."""
    model.eval()
    correct = count = 0
    for x, y in batches:
        correct += (model(x).argmax(1) == y).sum().item()
        count += len(y)
    return correct / count if count else float("nan")


def accuracies(model: nn.Module, task: PlainTask) -> dict[str, float]:
    """Return accuracies on forget, retained and test examples, in total and of affected classes."""
    train, test = task.data.labels.train, task.data.labels.test
    is_affected = np.isin(train, task.affected)
    affected_retain = task.retain[is_affected[task.retain]]
    affected_test = np.flatnonzero(np.isin(test, task.affected))
    return {
        "ua": accuracy(model, task.looking(task.forget)),
        "ra": accuracy(model, task.looking(task.retain)),
        "ta": accuracy(model, task.looking(None)),
        "ra_affected": accuracy(model, task.looking(affected_retain)),
        "ta_affected": accuracy(model, task.looking_at_test(affected_test)),
    }


@torch.no_grad()
def probabilities(model: nn.Module, batches: Batches) -> tuple[Floats, NDArray[np.int64]]:
    """Return the class probabilities (n, C) and the labels (n,)."""
    model.eval()
    found, labels = [], []
    for x, y in batches:
        found.append(model(x).softmax(1))
        labels.append(y)
    return torch.cat(found).double().numpy(), torch.cat(labels).numpy()


@torch.no_grad()
def features(model: nn.Module, batches: Batches) -> Floats:
    """Return the penultimate features (n, D)."""
    model.eval()
    return torch.cat([model.features(x) for x, _ in batches]).double().numpy()


def non_member_rate(members: Floats, non_members: Floats, targets: Floats) -> float:
    """Return the share of targets that the plain SVC calls non-members."""
    x = np.concatenate([members, non_members]).reshape(len(members) + len(non_members), -1)
    is_member = np.repeat([1, 0], [len(members), len(non_members)])
    classifier = SVC(C=3, gamma="auto", kernel="rbf").fit(x, is_member)
    return float(1 - classifier.predict(targets.reshape(len(targets), -1)).mean())


def attack_scores(model: nn.Module, task: PlainTask, names: tuple[str, ...]) -> dict[str, float]:
    """Return the scores of the membership attacks, each on one feature of the probabilities."""
    count = min(len(task.data.labels.test), len(task.retain))
    members = np.random.default_rng(0).choice(task.retain, count, replace=False)
    groups = [
        probabilities(model, batches)
        for batches in (task.looking(members), task.looking(None), task.looking(task.forget))
    ]
    return {name: non_member_rate(*(ATTACKS[name](p, y) for p, y in groups)) for name in names}


def _entropy(p: Floats, _label: NDArray[np.int64]) -> Floats:
    return -(p * np.log(np.maximum(p, 1e-30))).sum(1)


def _modified_entropy(p: Floats, label: NDArray[np.int64]) -> Floats:
    rows = np.arange(len(p))
    terms = p * np.log(np.maximum(1 - p, 1e-30))
    right = p[rows, label]
    terms[rows, label] = (1 - right) * np.log(np.maximum(right, 1e-30))
    return -terms.sum(1)


ATTACKS = {
    "confidence": lambda p, label: p[np.arange(len(p)), label],
    "correctness": lambda p, label: (p.argmax(1) == label).astype(float),
    "entropy": _entropy,
    "modified_entropy": _modified_entropy,
    "probability": lambda p, label: p,
}


@torch.no_grad()
def base_looks(base: nn.Module, task: PlainTask) -> dict[str, Looked]:
    """Return the outputs of the base model on forget, retained and test examples."""
    base.eval()
    found = {}
    for name, part in {"forget": task.forget, "retain": task.retain, "test": None}.items():
        embedded = torch.cat([base.features(x) for x, _ in task.looking(part)])
        p = base.head(embedded).softmax(1)
        found[name] = Looked(embedded.double().numpy(), p.double().numpy())
    return found


def locality(
    model: nn.Module, before: dict[str, Looked], task: PlainTask
) -> dict[str, list[float]]:
    """Return accuracy and change of confidence in bins of similarity to the forget set."""
    direction = before["forget"].features.sum(0)
    direction /= np.linalg.norm(direction)
    found = {}
    for name, part in {"retain": task.retain, "test": None}.items():
        embedded = before[name].features
        similarity = embedded @ direction / np.linalg.norm(embedded, axis=1).clip(1e-12)
        edges = np.linspace(similarity.min(), similarity.max(), NUM_BINS + 1)
        bins = np.clip(np.digitize(similarity, edges) - 1, 0, NUM_BINS - 1)
        after, label = probabilities(model, task.looking(part))
        rows = np.arange(len(label))
        change = (before[name].probabilities - after)[rows, label]
        is_right = after.argmax(1) == label
        for what, values in (("accuracy", is_right), ("confidence", change)):
            by_bin = [values[bins == b].mean() for b in range(NUM_BINS) if (bins == b).any()]
            found[f"{what}:{name}"] = [float(value) for value in by_bin]
    return found


def evaluate(model: nn.Module, before: dict[str, Looked], task: PlainTask) -> dict[str, object]:
    """Return all metrics of a model; `before` has the outputs of the base model."""
    return {
        **accuracies(model, task),
        **attack_scores(model, task, tuple(ATTACKS)),
        **locality(model, before, task),
    }
