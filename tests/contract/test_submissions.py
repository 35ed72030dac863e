"""What a submission has of a run: its status is found by the same rule."""

import numpy as np
import pytest

from collateral.commands import _judging
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels
from collateral.results.outputs import ModelOutputs
from collateral.results.submission import compute_outputs
from collateral.training.job_io import COLLAPSE_MARGIN, find_status

LABELS = Labels(np.repeat([0, 1, 2], [30, 20, 10]), np.array([2, 0, 1]), ("a", "b", "c"))


class Cell(CellResults):
    labels = LABELS


@pytest.mark.parametrize(
    ("logits", "expected"), [(1.0, "ok"), (0.0, "collapsed"), (np.nan, "diverged")]
)
def test_a_submission_has_the_status_that_a_run_would_have(tmp_path, logits, expected):
    outputs = [np.full((len(label), 3), 0.0) for label in (LABELS.train, LABELS.test)]
    for of, label in zip(outputs, (LABELS.train, LABELS.test), strict=True):
        of[:, 2] = 0.5  # the smallest class
        of[np.arange(len(label)), label] += logits
    made = ModelOutputs(*map(compute_outputs, outputs, (LABELS.train, LABELS.test)))
    cell = Cell(folder=tmp_path, cell="cell", seeds=(0,), base_seeds=(0,))
    assert _judging._find_status(made, cell) == expected == find_status(made, LABELS)
    assert _judging.COLLAPSE_MARGIN == COLLAPSE_MARGIN
