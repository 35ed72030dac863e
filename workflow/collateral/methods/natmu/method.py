"""NatMU: train on blends of forget images with retained ones, labelled as the latter are."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.batches import num_batches
from collateral.contract.protocols import Run, Task
from collateral.methods._shared.mixing import mixed
from collateral.methods.natmu.params import Params, Prepare
from collateral.training.inference import infer
from collateral.training.optimizers import cosine, descend, set_rate, start_training

NONE = -1  # no retained image is left
WHITE = 255


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the blends, uint8, and their labels."""
    ranking = wrong_classes(infer(model, task.forget)[1], task.forget.labels.cpu())
    places = partners(ranking, stock_of(task, run.generator), params.blends)
    height, width, _ = task.info.shape
    images, labels = [], []
    for mask, chosen in zip(masks(height, width, params.delta), places.T, strict=False):
        has_one = (chosen != NONE).nonzero().squeeze(1)
        partner = task.retain.select(chosen[has_one].to(run.device))
        forget = task.forget.select(has_one.to(run.device))
        images.append(blended(forget.pixels(), partner.pixels(), mask.to(run.device)))
        labels.append(partner.labels)
    return {"images": torch.cat(images), "labels": torch.cat(labels)}


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    images = prepared["images"].to(run.device).float().div(WHITE)
    blends = images, prepared["labels"].to(run.device)
    optimizer = start_training(model, params)
    batches = num_batches(len(task.retain) + len(images), params.batch_size)
    for epoch in run.epochs(params.epochs, model, optimizer):
        trained = mixed(task.retain, blends, params, run.generator)
        for step, (x, y) in enumerate(trained, start=epoch * batches + 1):
            set_rate(optimizer, params.lr * cosine(step, params.epochs * batches))
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def wrong_classes(logits: Tensor, labels: Tensor) -> Tensor:
    """Return all classes but the true one, (n, C - 1), the likeliest first."""
    others = logits.scatter(1, labels[:, None], -torch.inf)
    return others.argsort(dim=1, descending=True, stable=True)[:, :-1]


def stock_of(task: Task, generator: torch.Generator) -> list[list[int]]:
    """Return the places of each class's retained images, shuffled."""
    labels = task.retain.labels.cpu()
    order = torch.randperm(len(labels), generator=generator)
    return [order[labels[order] == label].tolist() for label in range(task.num_classes)]


def partners(ranking: Tensor, stock: Sequence[list[int]], count: int) -> Tensor:
    """Return a retained place of each of the first `count` classes in stock, (n, count).

    They are taken out of the stock; NONE where it has too few classes left.
    """
    found = []
    for ranked in ranking.tolist():
        taken = [stock[label].pop() for label in [c for c in ranked if stock[c]][:count]]
        found.append(taken + [NONE] * (count - len(taken)))
    return torch.tensor(found)


def masks(height: int, width: int, delta: float) -> Tensor:
    """Return the share of the forget image in each pixel, of the four blends, (4, H, W)."""
    rows, columns = ramp(height)[:, None].expand(-1, width), ramp(width).expand(height, -1)
    falling = _highest(height) - rows, _highest(width) - columns
    return (torch.stack([rows, columns, *falling]) + delta).clamp(0, 1)


def ramp(side: int) -> Tensor:
    """Return what rises from 0 at both ends to the middle, (side,)."""
    half, places = max(side // 2, 1), torch.arange(side)
    return torch.where(places < half, places, side - 1 - places) / half


def _highest(side: int) -> float:
    half = max(side // 2, 1)
    return (half - 1) / half


def blended(forget: Tensor, retain: Tensor, mask: Tensor) -> Tensor:
    """Return images (n, C, H, W) of bytes, cut off and not rounded, from two in [0, 1]."""
    forget, retain = (torch.round(WHITE * image) for image in (forget, retain))
    return (mask * forget + (1 - mask) * retain).to(torch.uint8)
