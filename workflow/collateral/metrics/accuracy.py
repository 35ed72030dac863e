"""Accuracy on the forget, retained and test examples, by class, and disagreement of models."""

from collections.abc import Mapping, Sequence

import numpy as np

from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.similarity import bin_mean

# Subset on which each accuracy is computed, by name of the accuracy.
SUBSETS = {"ua": "forget", "ra": "retain", "ta": "test"}


def accuracies(
    prediction: Mapping[str, Ints], label: Mapping[str, Ints], affected: Sequence[int]
) -> dict[str, float]:
    """Return UA, RA and TA, and each of them on the affected classes only.

    Predictions and labels are given by subset: forget, retain and test.
    """
    values = {}
    for name, subset in SUBSETS.items():
        own, true = prediction[subset], label[subset]
        is_affected = np.isin(true, affected)
        values[name] = accuracy(own, true)
        values[f"{name}_affected"] = accuracy(own[is_affected], true[is_affected])
    return values


def accuracy(prediction: Ints, label: Ints) -> float:
    """Return the fraction of correct predictions; NaN without examples."""
    return float(np.mean(prediction == label)) if len(label) else float("nan")


def disagreement(prediction: Ints, other: Ints) -> float:
    """Return the fraction of examples for which two models predict different classes."""
    return float(np.mean(prediction != other)) if len(prediction) else float("nan")


def class_accuracy(prediction: Ints, label: Ints, num_classes: int) -> Floats:
    """Return the accuracy on each class's examples; NaN for a class without examples."""
    return bin_mean((prediction == label).astype(np.float64), label, num_classes)
