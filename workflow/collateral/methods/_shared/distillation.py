"""Distillation: train on soft labels of the forget set, mixed with the retained examples."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.params import StudentParams
from collateral.methods._shared.training import start_with_warm_pass
from collateral.training.examples import Task
from collateral.training.optimizers import descend
from collateral.training.run import Run

# Function that returns soft labels, given augmented forget images and their indices in D_f.
OnlineTargets = Callable[[Tensor, Tensor], Tensor]


def distill(
    model: nn.Module,
    task: Task,
    soft: Tensor,
    params: StudentParams,
    run: Run,
    online: OnlineTargets | None = None,
) -> nn.Module:
    """Train `model` in place on labels of retained examples and soft labels of forget examples.

    `soft` (n_f, C) contains one soft label per forget example. If `online` is given, it computes
    other soft labels from the augmented images of every batch, and these are used instead.
    Loss of a step: [sum of CE over retained + beta * sum of soft CE over forgotten] / batch size.
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
                target[forget] = params.beta * keep_top(seen, params.top)
            loss = F.cross_entropy(model(x), target)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def weighted_targets(task: Task, soft: Tensor, params: StudentParams) -> Tensor:
    """Return training targets (n_f + n_r, C): soft labels times beta, then one-hot retained labels.

    Cross-entropy is linear in the target: a soft label times beta gives the example the weight
    beta.
    """
    hard = F.one_hot(task.retain.labels, task.num_classes).to(soft.dtype)
    return torch.cat([params.beta * keep_top(soft, params.top), hard])


def divergence(logits: Tensor, expected: Tensor, temperature: float) -> Tensor:
    """Return KL(teacher, student) of the softmax at this temperature, averaged over images."""
    found = (logits / temperature).log_softmax(1)
    return F.kl_div(found, (expected / temperature).softmax(1), reduction="batchmean")


def keep_top(soft: Tensor, top: int | str) -> Tensor:
    """Return soft labels with only the `top` largest entries (or "all"), rescaled to sum to 1."""
    if top == "all":
        return soft
    values, classes = _largest(soft, int(top))
    return torch.zeros_like(soft).scatter(1, classes, values / values.sum(1, keepdim=True))


def top_mass(soft: Tensor, top: int | str) -> float:
    """Return the sum of the `top` largest entries of a soft label, averaged over soft labels."""
    return 1.0 if top == "all" else _largest(soft, int(top))[0].sum(1).mean().item()


def _largest(soft: Tensor, top: int) -> tuple[Tensor, Tensor]:
    values, classes = soft.topk(min(top, soft.shape[1]), dim=1)
    return values, classes
