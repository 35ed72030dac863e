"""Arrays of the experiments beside the main runs: support sizes, probes and shadow models."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile


@dataclass(frozen=True)
class SupportSizes(ArrayFile):
    """Results of LTD's teachers for several support sizes, and of the ascent step of `k: auto`.

    The arrays describe the forget set and the support; they do not use Retrain.
    """

    sizes: NDArray[np.int64]  # number of examples in each support, increasing
    # (teachers, forget examples, classes), probabilities that each teacher predicts.
    soft_labels: NDArray[np.float32]
    top: NDArray[np.int64]  # (), number of classes that each soft label keeps
    epochs: NDArray[np.int64]  # training epochs of each teacher
    # Accuracy of each teacher on its support, in its last epoch.
    support_accuracy: NDArray[np.float64]
    least_similarity: NDArray[np.float64]  # smallest similarity of an example in each support
    num_classes: NDArray[np.int64]  # number of classes in each support
    # Scalar: learning rate of the gradient-ascent step by which LTD's `k: auto` chooses k.
    step_rate: NDArray[np.float64]
    step_edges: NDArray[np.float64]  # (B + 1,), edges of the B bins of similarity to the forget set
    step_counts: NDArray[np.int64]  # number of retained examples in each bin
    step_drop: NDArray[np.float64]  # accuracy that each bin lost by the step; NaN if empty
    auto_size: NDArray[np.int64]  # (), size of the support that `k: auto` chooses


@dataclass(frozen=True)
class Probe(ArrayFile):
    """Results of probes for all runs and Retrain; arrays of probes that were not run are None."""

    runs: NDArray[np.str_]  # names of the runs
    # (runs, steps + 1), accuracy on half of the forget set after 0, 1, ... steps on the other half.
    relearn_accuracy: NDArray[np.float64] | None = None
    # (runs, forget examples), fraction of noisy copies that are classified correctly.
    residual_share: NDArray[np.float32] | None = None
    zrf_logits: NDArray[np.float32] | None = None  # logits of an untrained network
    # (R, 2), accuracy of a new head: on the forget set, on test examples of the affected classes.
    linear_accuracy: NDArray[np.float64] | None = None
    # CKA is computed on four sets of examples, `contract.probes.PARTS`: forget, near, far, test.
    cka_retrain: NDArray[np.float64] | None = None  # (runs, 4 sets), CKA with Retrain
    cka_base: NDArray[np.float64] | None = None  # (runs, 4 sets), CKA with base model
    cka_features: NDArray[np.float32] | None = None  # Retrain's features, by example
    cka_part: NDArray[np.int64] | None = None  # index (0 to 3) of each example's set
    resurface_steps: NDArray[np.int64] | None = None  # (S + 1,), measured steps; the first is 0
    # The next three: accuracy of each run (row) after each measured step of fine-tuning (column).
    resurface_accuracy: NDArray[np.float64] | None = None  # on the forget set
    resurface_near_accuracy: NDArray[np.float64] | None = None  # near the forget set
    resurface_test_accuracy: NDArray[np.float64] | None = None  # on test examples

    def row(self, run: str) -> int:
        """Return the row of a run in the arrays."""
        return list(self.runs).index(run)


@dataclass(frozen=True)
class ShadowMargins(ArrayFile):
    """One shadow model: its training set, and its margin on every training example."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # whether the model was trained on each example
    margin: NDArray[np.float32]  # log p - log(1 - p), p: probability of the true class


@dataclass(frozen=True)
class Exposure(ArrayFile):
    """Margins of all K shadow models of a cell; those of a diverged model are not finite."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # (models, examples), whether the model was trained on it
    before: NDArray[np.float32]  # (models, examples), margins before unlearning
    after: NDArray[np.float32]  # (models, examples), margins after unlearning
