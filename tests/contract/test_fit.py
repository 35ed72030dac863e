"""The training engine: it learns, repeats bit for bit, and goes on where it was cut off."""

import pytest

torch = pytest.importorskip("torch")

from collateral.training.inference import accuracy  # noqa: E402


def test_the_base_model_fits_its_training_data(small):
    assert accuracy(small.base, small.task([0]).retain) > 0.95
