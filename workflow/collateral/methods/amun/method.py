"""AMUN: train on the forget images moved just over the decision boundary, with the wrong labels.

The adversarial images stay floats and are not augmented, as in the public code: they end just over
the boundary, and rounding to 256 levels alone puts some back (15 of 62 on a cut of CIFAR-100).
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.protocols import Batch, Examples, Run, Task
from collateral.methods.amun.attack import attack
from collateral.methods.amun.params import Params, Prepare
from collateral.training.examples import moved
from collateral.training.optimizers import descend, set_rate, start_training


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the adversarial images and labels; what never flips is left out and reported."""
    with run.phase("attack"):
        flips = attack(model, task.forget, params)
    run.report(
        amun_unflipped=len(task.forget) - len(flips["index"]),
        amun_epsilon_mean=flips["epsilon"].mean().item(),
    )
    return flips


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    adversarial = prepared["images"].to(run.device), prepared["labels"].to(run.device)
    clean = task.retain.joined(task.forget) if params.variant == "standard" else task.retain
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        if params.lr_decay_epochs:
            set_rate(optimizer, params.lr * 0.1 ** (epoch // params.lr_decay_epochs))
        for x, y in _mixed(clean, adversarial, params, run.generator):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def _mixed(
    clean: Examples, adversarial: Batch, params: Params, generator: torch.Generator
) -> Iterator[Batch]:
    """Yield batches shuffled over both, each example once; only the clean ones are augmented."""
    images, labels = adversarial
    order = torch.randperm(len(clean) + len(labels), generator=generator)
    for index in order.split(params.batch_size):
        is_clean = index < len(clean)
        some = clean.select(moved(index[is_clean], labels.device))
        places = moved(index[~is_clean] - len(clean), labels.device)
        x = some.augmented(generator) if params.augment else some.pixels()
        yield torch.cat([x, images[places]]), torch.cat([some.labels, labels[places]])
