"""Arrays of the experiments beside the main runs: support sizes, probes and shadow models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile


@dataclass(frozen=True)
class SupportSizes(ArrayFile):
    """LTD's teachers trained on supports of several sizes, and the ascent step of `k: auto`.

    The arrays describe the forget set and the support; they do not use Retrain.
    """

    sizes: NDArray[np.int64]  # (K,), examples in the support, increasing
    soft_labels: NDArray[np.float32]  # (K, F, C), the teacher's probabilities on the forget set
    top: NDArray[np.int64]  # (), classes of a soft label that the student is trained on
    epochs: NDArray[np.int64]  # (K,), of the teacher's training
    support_accuracy: NDArray[np.float64]  # (K,), in the last epoch of training
    least_similarity: NDArray[np.float64]  # (K,), of a support example to the forget set
    num_classes: NDArray[np.int64]  # (K,), in the support
    step_rate: NDArray[np.float64]  # (), learning rate of the step of gradient ascent
    step_edges: NDArray[np.float64]  # (B + 1,), of the similarity bins of the retained examples
    step_counts: NDArray[np.int64]  # (B,), retained examples in each bin
    step_drop: NDArray[np.float64]  # (B,), accuracy lost by the step; NaN in an empty bin
    auto_size: NDArray[np.int64]  # (), size of the support that `k: auto` chooses


@dataclass(frozen=True)
class Probe(ArrayFile):
    """Probes of finished models by run, Retrain included; None if the config has no such probe."""

    runs: NDArray[np.str_]  # (R,)
    relearn_accuracy: NDArray[np.float64] | None = None  # (R, steps + 1), on half of D_f
    residual_share: NDArray[np.float32] | None = None  # (R, F), of the perturbed images
    zrf_logits: NDArray[np.float32] | None = None  # (F, C), of an untrained network

    def row(self, run: str) -> int:
        """Return the row number of a run."""
        return list(self.runs).index(run)


@dataclass(frozen=True)
class ShadowMargins(ArrayFile):
    """One shadow model: its training set, and its margin on every training example."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # (N,), whether it was trained on the example
    margin: NDArray[np.float32]  # (N,), log p - log(1 - p) of the true class


@dataclass(frozen=True)
class Exposure(ArrayFile):
    """All K shadow models of a cell; the margins of a model that diverged are not finite."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # (K, N)
    before: NDArray[np.float32]  # (K, N), margins of the trained models
    after: NDArray[np.float32]  # (K, N), after each has unlearned its part of the forget set
