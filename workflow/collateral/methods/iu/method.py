"""IU: one step along the inverse Fisher matrix times the gradient that D_f's removal leaves.

v = (n_f / n) (mean gradient of D_f - mean gradient of D_r): up on the forget set, down on the
retained one. Public code: `Wfisher` in OPTML-Group/Unlearn-Saliency (a6e89fd). Deviations: images
are clean, where the code of the paper augments them, and the retained examples are in data-set
order, where that code puts those of the affected class last.
"""

from collections.abc import Mapping
from importlib import import_module

import torch
from torch import Tensor, nn

from collateral.contract.protocols import Run, Task
from collateral.methods._shared.gradients import by_parameter, summed_gradient, trainable
from collateral.methods.iu.fisher import corrected_by_first, solved
from collateral.methods.iu.params import Params, Prepare
from collateral.methods.iu.products import is_known


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the direction of the step, which every alpha shares."""
    if params.mode == "exact" or not is_known(model):
        with run.phase(None):
            import_module("torch._dynamo")  # torch.func does, with its first gradient, for seconds
    v = removal_gradient(model, task)
    if params.mode == "exact":
        drawn = torch.randperm(len(task.retain), generator=run.generator)[: params.samples]
        direction = solved(model, task.retain.select(drawn), v, params.damping)
    else:
        direction = corrected_by_first(model, task.retain, v, params)
    # How far F is from lambda I along v: 0 means one plain gradient step.
    plain = v / params.damping
    run.report(curvature_correction=((direction - plain).norm() / plain.norm()).item())
    return by_parameter(model, direction)


def removal_gradient(model: nn.Module, task: Task) -> Tensor:
    """Return v, by one pass over all examples."""
    num_forget, num_retain = len(task.forget), len(task.retain)
    of_forget = summed_gradient(model, task.forget) / num_forget
    of_retain = summed_gradient(model, task.retain) / num_retain
    return num_forget / (num_forget + num_retain) * (of_forget - of_retain)


@torch.no_grad()
def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place; no example is read."""
    for name, weight in trainable(model).items():
        weight.add_(prepared[name].to(weight), alpha=params.alpha)
    return model
