"""Ideal soft labels: distil Retrain's predictions on the forget set."""

from torch import Tensor, nn

from collateral.controls.ideal.params import Params
from collateral.methods._shared.distillation import distill
from collateral.training.examples import Task
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, retrained: Tensor) -> nn.Module:
    """Return `model`, trained in place; `retrained` (n_f, C) has Retrain's probabilities."""
    return distill(model, task, retrained, params, run)
