"""UNSIR: learn noise on which the model errs, train on it with the forgotten label, then repair.

After the authors' notebook (vikram2000b/Fast-Machine-Unlearning, 252bc92). Deviations: their loop
`for i in range(batch[0].size(0))` counts the channels of an image, so that only the first 3 of 256
images of noise are used, 20 times each (`noises: 3` is that); the noise of a class has that class
as its label, where they label the noise of every class 0; retained examples are drawn at random,
where they take the first ones. Noise is learned in eval mode and not clipped, as theirs.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Adam

from collateral.methods._shared.training import mix_batches
from collateral.methods.unsir.params import Params, Prepare
from collateral.models._classifier import eval_mode
from collateral.training.examples import Examples, Task, Tensors, move_to
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


class Noise(nn.Module):
    """Images of noise, in units of normalised pixels."""

    def __init__(self, start: Tensor) -> None:
        """Store the images as weights."""
        super().__init__()
        self.images = nn.Parameter(start)


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return images of noise for each class of the forget set, and their labels."""
    height, width, channels = task.info.shape
    mean, std = (torch.tensor(of)[:, None, None] for of in (task.info.mean, task.info.std))
    found, labels = [], []
    for label in task.forget.labels.unique().tolist():
        start = torch.randn(params.noises, channels, height, width, generator=run.generator)
        noise = learn_noise(model, start.to(run.device), label, task, params, run)
        found.append(mean + std * noise.cpu())
        labels.append(torch.full((params.noises,), label))
    return {"images": torch.cat(found), "labels": torch.cat(labels)}


def learn_noise(
    model: nn.Module, start: Tensor, label: int, task: Task, params: Prepare, run: Run
) -> Tensor:
    """Return images, in units of normalised pixels, on which the model errs most about a class."""
    mean, std = (
        torch.tensor(of)[:, None, None].to(run.device) for of in (task.info.mean, task.info.std)
    )
    noise, labels = Noise(start), torch.full((len(start),), label, device=run.device)
    optimizer = Adam(noise.parameters(), params.noise_lr, fused=True)
    for step in run.epochs(params.noise_steps, noise, optimizer, name=f"noise of class {label}"):
        with eval_mode(model), torch.enable_grad():
            error = F.cross_entropy(model(mean + std * noise.images), labels)
            loss = noise_loss(error, noise.images, params.noise_penalty)
        # The model's own weights get no gradient.
        noise.images.grad = torch.autograd.grad(loss, noise.images)[0]
        optimizer.step()
        run.log(epoch=step, loss=loss.item())
    return noise.images.detach()


def noise_loss(error: Tensor, images: Tensor, penalty: float) -> Tensor:
    """Return what noise minimises: minus the error, plus its mean squared length."""
    return penalty * images.square().sum((1, 2, 3)).mean() - error


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    noise = prepared["images"].to(run.device), prepared["labels"].to(run.device)
    kept = draw_by_class(task, params.per_class, run.generator)
    impair = start_training(model, params)
    repair = start_training(model, params.model_copy(update={"lr": params.repair_lr}))
    count = params.impair_epochs + params.repair_epochs
    for epoch in run.epochs(count, model, impair, repair):
        if epoch < params.impair_epochs:
            optimizer = impair
            batches: Any = mix_batches(kept, noise, params, run.generator, params.copies)
        else:
            optimizer = repair
            batches = kept.batches(params.batch_size, run.generator, augment=params.augment)
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def draw_by_class(task: Task, count: int, generator: torch.Generator) -> Examples:
    """Draw at most `count` retained examples of each class; return them in their order."""
    order = torch.randperm(len(task.retain), generator=generator)
    labels = task.retain.labels.cpu()[order]
    chosen = [order[labels == label][:count] for label in range(task.num_classes)]
    index = torch.cat(chosen).sort().values
    return task.retain.select(move_to(index, task.retain.rows.device))
