"""How much of a student's spread is its teacher's luck: sweeps of LTD's `teacher_seed`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import LAST_BITS
from collateral.results.plan import Sweep
from collateral.results.table import CellTable

NAME = "teacher-noise"  # of the table and the figure
SEED = "teacher_seed"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """UA of teachers that differ in their seed alone, and of their students; (teachers, seeds)."""

    sweep: Sweep
    teacher: Floats
    student: Floats
    epochs: Floats

    @property
    def agreement(self) -> float:
        """The correlation of both, each taken from its mean within a seed; NaN if one is still."""
        teacher, student = (both - both.mean(axis=0) for both in (self.teacher, self.student))
        size = np.sqrt((teacher**2).sum() * (student**2).sum())
        return float((teacher * student).sum() / size) if size > LAST_BITS else float("nan")


def noises(cell: CellTable) -> list[Noise]:
    """Return the noise of every sweep of teachers with at least two whose runs all ended well."""
    found = [_noise(cell, sweep) for sweep in cell.plan.sweeps if sweep.key == SEED]
    return [noise for noise in found if len(noise.teacher) > 1]


def spread(values: Floats) -> float:
    """Return the standard deviation over teachers, the root of its mean square over seeds."""
    return float(np.sqrt(values.var(axis=0, ddof=1).mean()))


def _noise(cell: CellTable, sweep: Sweep) -> Noise:
    # The method's own teacher is one more draw.
    teacher, student, epochs = (
        np.array([cell.values(run, metric) for run in sweep.values])
        for metric in ("teacher_ua", "ua", "teacher_epochs")
    )
    known = ~np.isnan(teacher + student).any(axis=1)
    return Noise(sweep, teacher[known], student[known], epochs[known])
