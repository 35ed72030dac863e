"""NatMU: train on blends of forget and retained images, with the labels of the retained images."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.conventions import num_batches
from collateral.methods._shared.training import mix_batches
from collateral.methods.natmu.params import Params, Prepare
from collateral.training.examples import Task, Tensors
from collateral.training.inference import infer
from collateral.training.optimizers import cosine_rate, descend, set_learning_rate, start_training
from collateral.training.run import Run

NONE = -1  # index that stands for "no retained image"
WHITE = 255  # largest value of a pixel


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the blended images as uint8, and their labels."""
    ranking = wrong_classes(infer(model, task.forget)[1], task.forget.labels.cpu())
    places = partners(ranking, index_by_class(task, run.generator), params.blends)
    height, width, _ = task.info.shape
    images, labels = [], []
    for mask, chosen in zip(masks(height, width, params.delta), places.T, strict=False):
        has_one = (chosen != NONE).nonzero().squeeze(1)
        partner = task.retain.select(chosen[has_one].to(run.device))
        forget = task.forget.select(has_one.to(run.device))
        images.append(blend(forget.pixels(), partner.pixels(), mask.to(run.device)))
        labels.append(partner.labels)
    return {"images": torch.cat(images), "labels": torch.cat(labels)}


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    images = prepared["images"].to(run.device).float().div(WHITE)
    blends = images, prepared["labels"].to(run.device)
    optimizer = start_training(model, params)
    batches = num_batches(len(task.retain) + len(images), params.batch_size)
    for epoch in run.epochs(params.epochs, model, optimizer):
        trained = mix_batches(task.retain, blends, params, run.generator)
        for step, (x, y) in enumerate(trained, start=epoch * batches + 1):
            set_learning_rate(optimizer, params.lr * cosine_rate(step, params.epochs * batches))
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def wrong_classes(logits: Tensor, labels: Tensor) -> Tensor:
    """Return, for each example (row), all wrong classes, sorted by decreasing logit."""
    others = logits.scatter(1, labels[:, None], -torch.inf)
    return others.argsort(dim=1, descending=True, stable=True)[:, :-1]


def index_by_class(task: Task, generator: torch.Generator) -> list[list[int]]:
    """Return the shuffled indices of the retained images of each class."""
    labels = task.retain.labels.cpu()
    order = torch.randperm(len(labels), generator=generator)
    return [order[labels[order] == label].tolist() for label in range(task.num_classes)]


def partners(ranking: Tensor, unused: Sequence[list[int]], count: int) -> Tensor:
    """Return the indices of `count` retained images to blend with each forget image (row).

    They are one image of each of the first `count` classes in the forget image's ranking that have
    unused images. A chosen image is removed from `unused`. Indices are NONE if too few classes have
    images left.
    """
    found = []
    for ranked in ranking.tolist():
        chosen = [unused[label].pop() for label in [c for c in ranked if unused[c]][:count]]
        found.append(chosen + [NONE] * (count - len(chosen)))
    return torch.tensor(found)


def masks(height: int, width: int, delta: float) -> Tensor:
    """Return the weight of the forget image in each pixel of the four blends, (4, H, W)."""
    rows, columns = ramp(height)[:, None].expand(-1, width), ramp(width).expand(height, -1)
    falling = _highest(height) - rows, _highest(width) - columns
    return (torch.stack([rows, columns, *falling]) + delta).clamp(0, 1)


def ramp(side: int) -> Tensor:
    """Return weights that rise linearly from 0 at both ends to the middle, (side,)."""
    half, places = max(side // 2, 1), torch.arange(side)
    return torch.where(places < half, places, side - 1 - places) / half


def _highest(side: int) -> float:
    half = max(side // 2, 1)
    return (half - 1) / half


def blend(forget: Tensor, retain: Tensor, mask: Tensor) -> Tensor:
    """Blend each forget image with a retained image; return uint8 images, channels in axis 1.

    Given images have values in [0, 1]. `mask` is the weight of the forget image in each pixel.
    Blended values are truncated to whole numbers, not rounded.
    """
    forget, retain = (torch.round(WHITE * image) for image in (forget, retain))
    return (mask * forget + (1 - mask) * retain).to(torch.uint8)
