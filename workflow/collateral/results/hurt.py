"""Which examples a method hurts: those whose true class it gives a lower confidence."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.results.outputs import StoredOutputs
from collateral.results.split import Split

LEAST_LOSS = 0.1  # minimum loss of confidence at which an example counts as hurt
NUM_WORST = 8  # number of examples per method and subset of which pictures are stored and shown
SUBSETS = ("train", "test")  # of the train examples, the retained ones

Confidence = dict[str, NDArray[np.float64]]  # by subset: one value per example, mean over seeds


def mean_confidence(files: Sequence[Path]) -> Confidence:
    """Return the confidence in the true class, averaged over the outputs of several seeds."""
    return {
        name: np.mean([StoredOutputs(file, name).confidence for file in files], axis=0, dtype=float)
        for name in SUBSETS
    }


def find_hurt(split: Split, before: Confidence, after: Confidence) -> dict[str, NDArray[np.int64]]:
    """Return the indices of all retained and test examples that are hurt, the worst first.

    `before` is the confidence of the reference, `after` that of the unlearned model.
    """
    return {name: _rank_hurt(split, name, before[name] - after[name]) for name in SUBSETS}


def _rank_hurt(split: Split, name: str, loss: NDArray[np.float64]) -> NDArray[np.int64]:
    candidates = split.retain if name == "train" else np.arange(len(loss))
    order = candidates[np.argsort(-loss[candidates], kind="stable")]
    return order[loss[order] >= LEAST_LOSS]
