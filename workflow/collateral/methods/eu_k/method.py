"""EU-k: draw the last k blocks anew, then train them on the retained examples.

Layers are drawn as PyTorch draws new ones (no He initialisation), and batch norm starts with the
statistics 0 and 1. Deviations are those of CF-k; `batchnorm: frozen` leaves new layers without
statistics.
"""

from collections.abc import Sequence

import torch
from torch import nn

from collateral.methods._shared.initial import redraw
from collateral.methods._shared.last_blocks import select_last, train_last
from collateral.methods.eu_k.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    chosen = select_last(model, params.k, head=params.head)
    redraw_all(model, chosen, run)
    return train_last(model, task, params, run, chosen)


def redraw_all(model: nn.Module, chosen: Sequence[nn.Module], run: Run) -> None:
    """Draw all layers of the chosen modules anew, in place, except layers that never train."""
    # Weights are drawn on the CPU, so that they are the same for every device.
    model.cpu()
    with run.seeded(), torch.no_grad():
        for module in (module for part in chosen for module in part.modules()):
            if all(weight.requires_grad for weight in module.parameters(recurse=False)):
                redraw(module)
    model.to(run.device)
