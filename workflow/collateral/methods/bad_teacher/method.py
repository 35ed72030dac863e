"""Bad Teacher: towards an untrained network on the forget set, towards the base model elsewhere.

The loss is the mean over images of KL(teacher, student). Public code divides it by the number of
classes too. With SGD that is a smaller rate. With Adam it is a larger eps, as that is not divided:
with 100 classes a first update differs by about 1 %, in the weights of the smallest gradients. The
untrained network is the base model's architecture with all weights drawn anew.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.protocols import Examples, Run, Task
from collateral.methods.bad_teacher.params import Params
from collateral.training.optimizers import descend, start_training

BARE_STD = 0.02  # of weights that are no layer's, such as a ViT's class token: as ViTs draw them


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    good, bad = copy.deepcopy(model).eval(), untrained(model, run).eval()
    optimizer = start_training(model, params)
    examples = lessons(task, params.share, run.generator)
    for epoch in run.epochs(params.epochs, model, optimizer):
        for x, is_forget in examples.batches(
            params.batch_size, run.generator, augment=params.augment
        ):
            with torch.no_grad():
                # Both look at all images: to sort them, a GPU would have to stop.
                expected = torch.where(is_forget[:, None], bad(x), good(x))
            loss = divergence(model(x), expected, params.temperature)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def lessons(task: Task, share: float, generator: torch.Generator) -> Examples:
    """Return the forget set and a share of the retained examples; labels tell who is forgotten."""
    order = torch.randperm(len(task.retain), generator=generator)
    drawn = task.retain.select(order[: int(share * len(order))])
    examples = task.forget.joined(drawn)
    return examples.relabelled(torch.arange(len(examples)) < len(task.forget))


def untrained(model: nn.Module, run: Run) -> nn.Module:
    """Return a copy on the device with all weights drawn anew, as torch draws them by default."""
    # On the CPU, so that the same weights are drawn for every device.
    fresh = copy.deepcopy(model).cpu()
    with run.seeded(), torch.no_grad():
        for module in fresh.modules():
            redraw(module)
    return fresh.to(run.device)


def redraw(module: nn.Module) -> None:
    """Draw a layer's own weights anew, in place."""
    reset: Any = getattr(module, "reset_parameters", None)
    if reset:
        reset()
    else:
        for weight in module.parameters(recurse=False):
            nn.init.normal_(weight, std=BARE_STD)


def divergence(logits: Tensor, expected: Tensor, temperature: float) -> Tensor:
    """Return KL(teacher, student) of predictions at a temperature, the mean over images."""
    found = (logits / temperature).log_softmax(1)
    return F.kl_div(found, (expected / temperature).softmax(1), reduction="batchmean")
