"""What finished models of a cell and seed show when they are used once more."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import reading
from collateral.results.files import atomic


@dataclass(frozen=True)
class Probe:
    """By run, Retrain's among them; None where the config does not ask for it."""

    runs: NDArray[np.str_]  # (R,)
    relearn_accuracy: NDArray[np.float64] | None = None  # (R, steps + 1), on half of D_f
    residual_share: NDArray[np.float32] | None = None  # (R, F), of the perturbed images
    zrf_logits: NDArray[np.float32] | None = None  # (F, C), of an untrained net

    def row(self, run: str) -> int:
        """Return the place of a run."""
        return list(self.runs).index(run)

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {name: array for name, array in arrays.items() if array is not None}
        with atomic(path) as temporary:
            np.savez(temporary, **known)

    @staticmethod
    def load(path: Path) -> Probe:
        """Read what `save` wrote."""
        with reading(path) as file:
            names = (field.name for field in fields(Probe) if field.name in file)
            return Probe(**{"runs": file["runs"], **{name: file[name] for name in names}})
