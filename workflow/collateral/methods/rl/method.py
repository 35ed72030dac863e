"""RL: train on random labels for the forget set, mixed with the retained examples."""

from itertools import islice

from torch import nn
from torch.nn import functional as F

from collateral.methods._shared.training import draw_labels, start_with_warm_pass
from collateral.methods.rl.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import count_batches, descend, steps_by_epoch
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_with_warm_pass(model, task, params, run)
    seen = task.forget.joined(task.retain) if params.retain else task.forget
    steps = steps_by_epoch(params.epochs, params.steps, count_batches(seen, params.batch_size))
    for epoch in run.epochs(len(steps), model, optimizer):
        labels = draw_labels(task, params.labels, run.generator)
        examples = task.forget.relabelled(labels)
        if params.retain:
            examples = examples.joined(task.retain)
        batches = examples.batches(params.batch_size, run.generator, augment=params.augment)
        for x, y in islice(batches, steps[epoch]):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model
