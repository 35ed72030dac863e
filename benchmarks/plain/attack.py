"""L2 PGD with a doubling radius as in public code, without a largest radius."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods.amun.params import Prepare

Flips = dict[str, Tensor]


def attack(model: nn.Module, clean: Tensor, labels: Tensor, params: Prepare) -> Flips:
    """Return the flipped images, their new labels and their radii.

    An image leaves the batch once its prediction flips.
    """
    model.eval()
    images, found, epsilon = clean.clone(), labels.clone(), _first(labels, params)
    standing = torch.arange(len(labels))
    while True:
        for _ in range(params.steps):
            x = images[standing].requires_grad_()
            logits = model(x)
            found[standing] = logits.detach().argmax(1)
            is_standing = found[standing] == labels[standing]
            if not is_standing.any():
                return {"images": images, "labels": found, "epsilon": epsilon}
            gradient = _gradient(logits, labels[standing], x)[is_standing]
            standing = standing[is_standing]
            rows = images[standing], clean[standing], epsilon[standing]
            images[standing] = _stepped(*rows, gradient, params)
        with torch.no_grad():
            is_standing = model(images[standing]).argmax(1) == labels[standing]
        epsilon[standing[is_standing]] *= 2


def whole_batch(model: nn.Module, clean: Tensor, labels: Tensor, params: Prepare) -> Flips:
    """Attack like `attack`, but keep the whole batch until the last image has flipped."""
    model.eval()
    images, epsilon = clean, _first(labels, params)
    while True:
        for _ in range(params.steps):
            x = images.detach().requires_grad_()
            logits = model(x)
            found = logits.detach().argmax(1)
            is_standing = found == labels
            if not is_standing.any():
                return {"images": images, "labels": found, "epsilon": epsilon}
            moved = _stepped(images, clean, epsilon, _gradient(logits, labels, x), params)
            images = torch.where(_column(is_standing), moved, images)
        with torch.no_grad():
            is_standing = model(images).argmax(1) == labels
        epsilon = torch.where(is_standing, 2 * epsilon, epsilon)


def one_by_one(model: nn.Module, clean: Tensor, labels: Tensor, params: Prepare) -> Flips:
    """Attack each image in a batch of its own."""
    singles = zip(clean.split(1), labels.split(1), strict=True)
    found = [attack(model, image, label, params) for image, label in singles]
    return {name: torch.cat([flips[name] for flips in found]) for name in found[0]}


def _first(labels: Tensor, params: Prepare) -> Tensor:
    return torch.full((len(labels),), params.epsilon0)


def _gradient(logits: Tensor, labels: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(F.cross_entropy(logits, labels, reduction="sum"), x)[0]


def _stepped(
    images: Tensor, clean: Tensor, epsilon: Tensor, gradient: Tensor, params: Prepare
) -> Tensor:
    """Return the images after one step, projected to their radii."""
    direction = gradient / (_norm(gradient) + 1e-10)
    delta = images + _column(params.step_share * epsilon) * direction - clean
    return (clean + delta * (_column(epsilon) / _norm(delta)).clamp(max=1)).clamp(0, 1)


def _norm(images: Tensor) -> Tensor:
    return images.flatten(1).norm(dim=1)[:, None, None, None]


def _column(values: Tensor) -> Tensor:
    return values[:, None, None, None]
