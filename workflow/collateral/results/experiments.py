"""Arrays of the experiments beside the main runs: support sizes, probes and shadow models."""

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

    sizes: NDArray[np.int64]  # (K,), number of examples in each of the K supports, increasing
    # (K, F, C), each teacher's probabilities on the F forget examples.
    soft_labels: NDArray[np.float32]
    top: NDArray[np.int64]  # (), number of classes in a soft label
    epochs: NDArray[np.int64]  # (K,), training epochs of each teacher
    # (K,), accuracy of each teacher on its support, in its last epoch.
    support_accuracy: NDArray[np.float64]
    least_similarity: NDArray[np.float64]  # (K,), smallest similarity in the support
    num_classes: NDArray[np.int64]  # (K,), number of classes in the support
    step_rate: NDArray[np.float64]  # (), learning rate of the step of gradient ascent
    step_edges: NDArray[np.float64]  # (B + 1,), edges of the similarity bins
    step_counts: NDArray[np.int64]  # (B,), number of retained examples in each bin
    step_drop: NDArray[np.float64]  # (B,), accuracy lost by the step; NaN in an empty bin
    auto_size: NDArray[np.int64]  # (), size of the support that `k: auto` chooses


@dataclass(frozen=True)
class Probe(ArrayFile):
    """Results of probes for all runs and Retrain; None for probes that the config lacks."""

    runs: NDArray[np.str_]  # (R,), names of the R runs
    # (R, steps + 1), accuracy on one half of the forget set, before and after each step.
    relearn_accuracy: NDArray[np.float64] | None = None
    # (R, F), fraction of noisy copies of each forget example that are classified correctly.
    residual_share: NDArray[np.float32] | None = None
    zrf_logits: NDArray[np.float32] | None = None  # (F, C), logits of an untrained network
    # (R, 2), accuracy of a new head: on the forget set, on the test set.
    linear_accuracy: NDArray[np.float64] | None = None
    # CKA is computed on four sets of examples, `contract.probes.PARTS`: forget, near, far, test.
    cka_retrain: NDArray[np.float64] | None = None  # (R, 4), CKA with Retrain, by set
    cka_base: NDArray[np.float64] | None = None  # (R, 4), CKA with the base model, by set
    cka_features: NDArray[np.float32] | None = None  # (E, D), Retrain's features of E examples
    cka_part: NDArray[np.int64] | None = None  # (E,), index in PARTS of each example's set
    resurface_steps: NDArray[np.int64] | None = None  # (S + 1,), 0 and the S measured steps
    resurface_accuracy: NDArray[np.float64] | None = None  # (R, S + 1), forget set
    resurface_near_accuracy: NDArray[np.float64] | None = None  # (R, S + 1), near examples
    resurface_test_accuracy: NDArray[np.float64] | None = None  # (R, S + 1), test examples

    def row(self, run: str) -> int:
        """Return the row of a run in the arrays."""
        return list(self.runs).index(run)


@dataclass(frozen=True)
class ShadowMargins(ArrayFile):
    """One shadow model: its training set, and its margin on every training example."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # (N,), whether the model was trained on the example
    margin: NDArray[np.float32]  # (N,), log p - log(1 - p) of the true class


@dataclass(frozen=True)
class Exposure(ArrayFile):
    """All K shadow models of a cell; the margins of a model that diverged are not finite."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # (K, N), whether shadow model k was trained on example n
    before: NDArray[np.float32]  # (K, N), margins before unlearning
    after: NDArray[np.float32]  # (K, N), margins after unlearning
