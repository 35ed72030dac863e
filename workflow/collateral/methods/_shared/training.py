"""Functions for training that several methods share: start, random labels, batches and steps."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from collateral.contract.conventions import batch_sizes
from collateral.contract.params import TrainedParams, WarmedParams
from collateral.training.examples import Batch, Examples, Task, Tensors, move_to
from collateral.training.optimizers import start_training
from collateral.training.run import Run


def start_with_warm_pass(model: nn.Module, task: Task, params: WarmedParams, run: Run) -> Optimizer:
    """Call `start_training`; then, if `warm_pass` is set, run the model once on an image of noise.

    The public code of the paper makes this pass to warm a GPU up.
    """
    optimizer = start_training(model, params)
    if params.warm_pass:
        show_noise(model, task, run)
    return optimizer


@torch.no_grad()
def show_noise(model: nn.Module, task: Task, run: Run) -> None:
    """Run the model once on an image of noise (standard normal after normalisation)."""
    height, width, channels = task.info.shape
    noise = torch.randn(1, channels, height, width, generator=run.generator)
    mean, std = (torch.tensor(values)[:, None, None] for values in (task.info.mean, task.info.std))
    model((mean + std * noise).to(run.device))


def draw_labels(task: Task, which: str, generator: torch.Generator) -> Tensor:
    """Draw a label for each forget example: of any class (`any`), or of a wrong class (`wrong`)."""
    count = len(task.forget)
    if which == "any":
        return torch.randint(task.num_classes, (count,), generator=generator)
    shift = torch.randint(1, task.num_classes, (count,), generator=generator)
    return (task.forget.labels.cpu() + shift) % task.num_classes


def mix_batches(
    clean: Examples,
    made: Batch,
    params: TrainedParams,
    generator: torch.Generator,
    copies: int = 1,
) -> Iterator[Batch]:
    """Yield shuffled batches of `clean` and of `copies` of `made`; only `clean` is augmented."""
    images, labels = made
    order = torch.randperm(len(clean) + copies * len(labels), generator=generator)
    for index in order.split(batch_sizes(len(order), params.batch_size)):
        is_clean = index < len(clean)
        some = clean.select(move_to(index[is_clean], labels.device))
        places = move_to((index[~is_clean] - len(clean)) % len(labels), labels.device)
        x = some.augmented(generator) if params.augment else some.pixels()
        yield torch.cat([x, images[places]]), torch.cat([some.labels, labels[places]])


def squared_distance(model: nn.Module, base: Sequence[Tensor]) -> Tensor:
    """Return the squared Euclidean distance of the weights from those of the base model."""
    pairs = zip(model.parameters(), base, strict=True)
    return torch.stack([(weight - start).square().sum() for weight, start in pairs]).sum()


def step_with_gradient_hook(optimizer: Optimizer, loss: Tensor, hook: Callable[[], None]) -> None:
    """Take one optimiser step; `hook` may edit the gradients in place before the step."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    hook()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def scale_gradients(weights: Tensors, factors: Tensors) -> None:
    """Multiply each weight tensor's gradient in place by the factors with the tensor's name."""
    for name, factor in factors.items():
        gradient = weights[name].grad
        assert gradient is not None
        gradient *= factor


@torch.no_grad()
def clip(gradients: Sequence[Tensor], max_norm: float) -> None:
    """Scale all gradients in place by one factor, so that their norm is at most `max_norm`."""
    length = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (max_norm / length).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factor)
