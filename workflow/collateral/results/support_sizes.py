"""What LTD's teachers on supports of every size say of the forget set; nothing of Retrain."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import reading
from collateral.results.files import atomic


@dataclass(frozen=True)
class SupportSizes:
    """A teacher for each support size, and what one step of gradient ascent does (`k: auto`)."""

    sizes: NDArray[np.int64]  # (K,), examples in the support, increasing
    soft_labels: NDArray[np.float32]  # (K, F, C), the teacher's probabilities of D_f's classes
    top: NDArray[np.int64]  # (), classes of them that the student is shown
    epochs: NDArray[np.int64]  # (K,), of the teacher's training
    support_accuracy: NDArray[np.float64]  # (K,), as trained, in its last epoch
    least_similarity: NDArray[np.float64]  # (K,), to the forget set, in the support
    num_classes: NDArray[np.int64]  # (K,), in the support
    step_rate: NDArray[np.float64]  # (), of the step of gradient ascent
    step_edges: NDArray[np.float64]  # (B + 1,), of the bins of similarity of the retained examples
    step_counts: NDArray[np.int64]  # (B,)
    step_drop: NDArray[np.float64]  # (B,), accuracy lost by the step; NaN in an empty bin
    auto_size: NDArray[np.int64]  # (), examples that `k: auto` takes

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        with atomic(path) as temporary:
            np.savez(temporary, **{field.name: getattr(self, field.name) for field in fields(self)})

    @staticmethod
    def load(path: Path) -> SupportSizes:
        """Read what `save` wrote."""
        with reading(path) as file:
            return SupportSizes(**{field.name: file[field.name] for field in fields(SupportSizes)})
