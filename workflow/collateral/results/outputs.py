"""Outputs of models: on every example, after every epoch, and in further experiments.

Outputs on every example are computed once, in the job that makes the model. Further experiments are
those on support sizes, probes and shadow models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile, open_arrays, write_arrays

MANY_CLASSES = 256  # if there are more classes, only KEPT logits of each example are stored
# Number of logits stored per example: that of the true class, and the largest other logits.
KEPT = 10
AT_ONCE = 4096  # number of examples whose logits are compressed at a time
MAX_BYTES = 2**27  # largest total size of the logits that stay in memory after reading
Arrays = dict[str, NDArray[Any]]

# Cache of the logits that were read last; the key is file path, set and modification time.
_LAST_READ: dict[tuple[Path, str, int], NDArray[np.float16]] = {}


@dataclass(frozen=True)
class Outputs:
    """A model's outputs on one set of examples, in data-set order."""

    logits: NDArray[np.float16]  # (N, C)
    confidence: NDArray[np.float32]  # probability of the true class, computed in float32
    prediction: NDArray[np.int64]  # class of the largest float32 logit
    # True class; needed only if there are more than MANY_CLASSES classes.
    label: NDArray[np.int64] | None = None

    def parts(self) -> Arrays:
        """Return the arrays that the file stores, by name."""
        logits: Arrays = {"logits": self.logits}
        if self.logits.shape[1] > MANY_CLASSES:
            assert self.label is not None, "with many classes, the true class is needed"
            logits = compress_logits(self.logits, self.label)
        return {**logits, "confidence": self.confidence, "prediction": self.prediction}


@dataclass(frozen=True)
class ModelOutputs:
    """A model's outputs on the train and the test set."""

    train: Outputs
    test: Outputs

    def save(self, path: Path) -> None:
        """Write an .npz file, which `StoredOutputs` reads."""
        sets = {"train": self.train, "test": self.test}
        arrays = {f"{s}_{name}": a for s, o in sets.items() for name, a in o.parts().items()}
        write_arrays(path, arrays, compress=True)


@dataclass(frozen=True)
class StoredOutputs:
    """A model's outputs on the train or test set, read on access from a file of `ModelOutputs`."""

    path: Path
    set: str  # train or test

    @property
    def logits(self) -> NDArray[np.float16]:
        """Read the logits, one row per example, as a read-only array.

        Only the arrays that were read last stay in memory.
        """
        key = self.path, self.set, self.path.stat().st_mtime_ns
        logits = _LAST_READ.pop(key, None)
        _LAST_READ[key] = logits = self._read_logits() if logits is None else logits
        while sum(array.nbytes for array in _LAST_READ.values()) > MAX_BYTES:
            del _LAST_READ[next(iter(_LAST_READ))]
        return logits

    def _read_logits(self) -> NDArray[np.float16]:
        with open_arrays(self.path) as file:
            if f"{self.set}_logits" in file:
                logits: NDArray[np.float16] = file[f"{self.set}_logits"]
            else:
                logits = expand_logits({part: file[f"{self.set}_{part}"] for part in SHORT})
        logits.flags.writeable = False
        return logits

    @cached_property
    def confidence(self) -> NDArray[np.float32]:
        """Probability of the true class, one value per example."""
        return self._read("confidence")

    @cached_property
    def prediction(self) -> NDArray[np.int64]:
        """Class of the largest float32 logit, one value per example."""
        return self._read("prediction")

    def _read(self, part: str) -> NDArray[Any]:
        with open_arrays(self.path) as file:
            array: NDArray[Any] = file[f"{self.set}_{part}"]
            return array


SHORT = ("kept", "classes", "rest", "num_classes")


def compress_logits(logits: NDArray[np.float16], label: NDArray[np.int64]) -> Arrays:
    """Return KEPT logits per example (true class, largest others), and log-sum-exp of all others.

    The logit of the true class is always stored: it cannot be recovered from the rest.
    """
    starts = range(0, len(logits), AT_ONCE)
    parts = [_compress_chunk(logits[i : i + AT_ONCE], label[i : i + AT_ONCE]) for i in starts]
    kept, classes, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
    return dict(zip(SHORT, (kept, classes, rest, np.array(logits.shape[1])), strict=True))


def _compress_chunk(
    logits: NDArray[np.float16], label: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    ranked = logits.copy()
    np.put_along_axis(ranked, label[:, None], np.inf, axis=1)
    order = np.argpartition(ranked, -KEPT, axis=1)
    rest, classes = order[:, :-KEPT], order[:, -KEPT:]
    small = np.take_along_axis(logits, rest, axis=1).astype(np.float32)
    top = small.max(axis=1)
    rest_logit = top + np.log(np.exp(small - top[:, None]).sum(axis=1))
    kept = np.take_along_axis(logits, classes, axis=1)
    return kept, classes.astype(np.uint16), rest_logit.astype(np.float16)


def expand_logits(parts: Arrays) -> NDArray[np.float16]:
    """Undo `compress_logits`. Classes without a stored logit get equal parts of the remaining
    probability.

    The probabilities of the stored classes are exact; an entropy can only be too large.
    """
    count = int(parts["num_classes"])
    each = (parts["rest"] - np.log(count - KEPT)).astype(np.float16)
    logits = np.repeat(each[:, None], count, axis=1)
    np.put_along_axis(logits, parts["classes"].astype(np.int64), parts["kept"], axis=1)
    return logits


@dataclass(frozen=True)
class Embeddings(ArrayFile):
    """Penultimate features of the base model on clean images, in eval mode."""

    train: NDArray[np.float32]  # (N, D)
    test: NDArray[np.float32]  # (M, D)


@dataclass(frozen=True)
class EpochOutputs:
    """Outputs of a model after an epoch on one set of examples, in data-set order."""

    confidence: NDArray[np.float32]  # probability of the true class
    prediction: NDArray[np.int16]  # class of the largest logit


@dataclass(frozen=True)
class Epoch:
    """Outputs of a model after one epoch."""

    train: EpochOutputs
    test: EpochOutputs

    @property
    def is_diverged(self) -> bool:
        """Whether an output of the model is not finite."""
        return not all(np.isfinite(part.confidence).all() for part in (self.train, self.test))


@dataclass(frozen=True)
class Epochs(ArrayFile):
    """Outputs of a tracked run: first of the base model, then of the model after every epoch.

    Arrays have shape (epochs, examples).
    """

    is_compressed: ClassVar[bool] = True

    train_confidence: NDArray[np.float32]
    train_prediction: NDArray[np.int16]
    test_confidence: NDArray[np.float32]
    test_prediction: NDArray[np.int16]

    @classmethod
    def stack(cls, epochs: Sequence[Mapping[str, Any]]) -> Epochs:
        """Stack the arrays that `keep_outputs` returned for each epoch."""
        return cls(**{name: np.stack([one[name] for one in epochs]) for name in epochs[0]})

    @property
    def models(self) -> list[Epoch]:
        """Outputs after each epoch; the first item has the outputs of the base model."""
        train = map(EpochOutputs, self.train_confidence, self.train_prediction)
        test = map(EpochOutputs, self.test_confidence, self.test_prediction)
        return [Epoch(*pair) for pair in zip(train, test, strict=True)]


def keep_outputs(outputs: ModelOutputs) -> Arrays:
    """Return the arrays that `Epochs` stores for one epoch, by name."""
    return {
        "train_confidence": outputs.train.confidence,
        "train_prediction": outputs.train.prediction.astype(np.int16),
        "test_confidence": outputs.test.confidence,
        "test_prediction": outputs.test.prediction.astype(np.int16),
    }


@dataclass(frozen=True)
class SupportSizes(ArrayFile):
    """Results of LTD's teachers for several support sizes, and of the gradient-ascent step by which
    `k: auto` chooses a support size.

    The arrays describe the forget set and the support; they do not use Retrain.
    """

    sizes: NDArray[np.int64]  # number of examples in each support, increasing
    # (teachers, forget examples, classes), probabilities that each teacher predicts.
    soft_labels: NDArray[np.float32]
    top: NDArray[np.int64]  # (), number of classes that each soft label keeps
    epochs: NDArray[np.int64]  # training epochs of each teacher
    # Accuracy of each teacher on its support, in its last epoch.
    support_accuracy: NDArray[np.float64]
    least_similarity: NDArray[np.float64]  # smallest similarity to forget set in each support
    num_classes: NDArray[np.int64]  # number of classes in each support
    # Scalar: learning rate of the gradient-ascent step by which LTD's `k: auto` chooses k.
    step_rate: NDArray[np.float64]
    step_edges: NDArray[np.float64]  # (B + 1,), edges of the B bins of similarity to the forget set
    step_counts: NDArray[np.int64]  # number of retained examples in each bin
    step_drop: NDArray[np.float64]  # accuracy that the step costs in each bin; NaN if empty
    auto_size: NDArray[np.int64]  # (), size of the support that `k: auto` chooses


@dataclass(frozen=True)
class Probe(ArrayFile):
    """Results of probes for all runs and Retrain; arrays of probes that were not run are None."""

    runs: NDArray[np.str_]  # names of the runs
    # (runs, steps + 1), accuracy on half of the forget set after 0, 1, ... training steps on the
    # other half.
    relearn_accuracy: NDArray[np.float64] | None = None
    # (runs, forget examples), fraction of each example's noisy copies that are classified
    # correctly.
    residual_share: NDArray[np.float32] | None = None
    # Logits of an untrained network on the forget set.
    zrf_logits: NDArray[np.float32] | None = None
    # (runs, 2), accuracy of a new linear head on the forget set, and on test examples of the
    # classes that are in the forget set.
    linear_accuracy: NDArray[np.float64] | None = None
    # CKA is computed on four sets of examples, `contract.probes.PARTS`: forget, near, far, test.
    cka_retrain: NDArray[np.float64] | None = None  # (runs, 4 sets), CKA with Retrain
    cka_base: NDArray[np.float64] | None = None  # (runs, 4 sets), CKA with base model
    cka_features: NDArray[np.float32] | None = None  # Retrain's features, one row per example
    cka_part: NDArray[np.int64] | None = None  # index (0 to 3) of each example's set
    resurface_steps: NDArray[np.int64] | None = None  # steps at which accuracy is measured
    # The next three arrays have the accuracy of each run (row) after each step in `resurface_steps`
    # (column) of fine-tuning on retained examples.
    resurface_accuracy: NDArray[np.float64] | None = None  # on the forget set
    # on retained examples near the forget set
    resurface_near_accuracy: NDArray[np.float64] | None = None
    resurface_test_accuracy: NDArray[np.float64] | None = None  # on test examples
    # (runs, 2), accuracy on patched test images, and share of those of other classes that get the
    # label of the patched train examples.
    patch_rates: NDArray[np.float64] | None = None

    def row(self, run: str) -> int:
        """Return the index of a run's row in the arrays."""
        return list(self.runs).index(run)


@dataclass(frozen=True)
class ShadowMargins(ArrayFile):
    """One shadow model: the examples it was trained on, and its margin on every train example."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # whether the model was trained on each example
    margin: NDArray[np.float32]  # log p - log(1 - p), p: probability of the true class


@dataclass(frozen=True)
class Exposure(ArrayFile):
    """Margins of all shadow models of a cell; the margins of a diverged model are not finite."""

    is_compressed: ClassVar[bool] = True

    is_in: NDArray[np.bool_]  # (models, examples), whether the model was trained on the example
    before: NDArray[np.float32]  # (models, examples), margins before unlearning
    after: NDArray[np.float32]  # (models, examples), margins after unlearning
