"""Bad Teacher: distil an untrained network on the forget set, and the base model on other examples.

The loss is the mean over images of KL(teacher, student). Public code also divides it by the number
of classes: with SGD a smaller learning rate, with Adam a larger eps (a first update differs by
about 1 % with 100 classes). The untrained network is the base model with all weights
re-initialised.
"""

import copy

import torch
from torch import nn

from collateral.methods._shared.distillation import divergence
from collateral.methods._shared.initial import redraw
from collateral.methods.bad_teacher.params import Params
from collateral.training.examples import Examples, Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    good, bad = copy.deepcopy(model).eval(), reinitialize(model, run).eval()
    optimizer = start_training(model, params)
    examples = select_examples(task, params.share, run.generator)
    for epoch in run.epochs(params.epochs, model, optimizer):
        for x, is_forget in examples.batches(
            params.batch_size, run.generator, augment=params.augment
        ):
            with torch.no_grad():
                # Both teachers process all images, because selecting images would make a GPU wait.
                expected = torch.where(is_forget[:, None], bad(x), good(x))
            loss = divergence(model(x), expected, params.temperature)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def select_examples(task: Task, share: float, generator: torch.Generator) -> Examples:
    """Return the forget set, labelled True, and random retained examples, labelled False."""
    order = torch.randperm(len(task.retain), generator=generator)
    drawn = task.retain.select(order[: int(share * len(order))])
    examples = task.forget.joined(drawn)
    return examples.relabelled(torch.arange(len(examples)) < len(task.forget))


def reinitialize(model: nn.Module, run: Run) -> nn.Module:
    """Return a copy of the model on the device, with all weights re-initialised by `redraw`."""
    # Weights are drawn on the CPU, so that they are the same for every device.
    fresh = copy.deepcopy(model).cpu()
    with run.seeded(), torch.no_grad():
        for module in fresh.modules():
            redraw(module)
    return fresh.to(run.device)
