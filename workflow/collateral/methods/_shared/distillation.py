"""Training on soft labels for the forget set, shuffled among the retained examples."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.distillation import StudentParams
from collateral.methods._shared.steps import start_with_warm_pass
from collateral.training.examples import Task
from collateral.training.optimizers import descend
from collateral.training.run import Run

# From images of forget examples as they are trained on, and their places in the forget set, (b,),
# to their soft labels, (b, C).
Online = Callable[[Tensor, Tensor], Tensor]


def distil(
    model: nn.Module,
    task: Task,
    soft: Tensor,
    params: StudentParams,
    run: Run,
    online: Online | None = None,
) -> nn.Module:
    """Train `model` in place towards `soft` (n_f, C) on the forget set, or `online` if given.

    A step's loss is [sum over retained of CE + beta * sum over forgotten of soft CE] / batch size.
    """
    soft = soft.to(run.device)
    run.report(top_mass=top_mass(soft, params.top))
    optimizer = start_with_warm_pass(model, task, params, run)
    targets = weighted_targets(task, soft, params)
    examples = task.forget.joined(task.retain).relabelled(torch.arange(len(targets)))
    for epoch in run.epochs(params.epochs, model, optimizer):
        batches = examples.batches(params.batch_size, run.generator, augment=params.augment)
        for x, index in batches:
            target, forget = targets[index], index < len(soft)
            if online and forget.any():
                seen = online(x[forget], index[forget])
                target[forget] = params.beta * renormalised_top(seen, params.top)
            loss = F.cross_entropy(model(x), target)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def weighted_targets(task: Task, soft: Tensor, params: StudentParams) -> Tensor:
    """Return a target (C,) for each forget, then each retained example; its sum is its weight.

    Cross entropy is linear in the target, so that forgotten ones times beta weigh beta.
    """
    hard = F.one_hot(task.retain.labels, task.num_classes).to(soft.dtype)
    return torch.cat([params.beta * renormalised_top(soft, params.top), hard])


def renormalised_top(soft: Tensor, top: int | str) -> Tensor:
    """Keep the `top` largest entries of every row, scaled to sum to 1; "all" changes nothing."""
    if top == "all":
        return soft
    values, classes = _largest(soft, int(top))
    return torch.zeros_like(soft).scatter(1, classes, values / values.sum(1, keepdim=True))


def top_mass(soft: Tensor, top: int | str) -> float:
    """Return the mean share of a row that its `top` largest entries hold."""
    return 1.0 if top == "all" else _largest(soft, int(top))[0].sum(1).mean().item()


def _largest(soft: Tensor, top: int) -> tuple[Tensor, Tensor]:
    values, classes = soft.topk(min(top, soft.shape[1]), dim=1)
    return values, classes
