"""Original: the base model, untouched."""

from torch import nn

from collateral.controls.original.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model` as it is."""
    return model
