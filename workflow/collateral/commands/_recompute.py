"""Compute the outputs of submitted weights again; imported only where torch is needed."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from collateral.training.inference import compute_outputs
from collateral.training.job_io import open_session
from collateral.training.weights import load_trained


def recompute_logits(data: Path, model: str, weights: Path) -> dict[str, NDArray[Any]]:
    """Return the logits of a file of weights on the train and the test set."""
    session = open_session(data, threads=1)
    net = session.new_model(model)
    load_trained(net, weights, {})
    outputs, _ = compute_outputs(net, session.train, session.test)
    return {"train": outputs.train.logits, "test": outputs.test.logits}
