"""L2 PGD with a doubling radius on whole batches: an image stays until the last has flipped."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods.amun.params import Prepare

Flips = dict[str, Tensor]


def attack(model: nn.Module, clean: Tensor, labels: Tensor, params: Prepare) -> Flips:
    """Return flipped images, the labels that they have now, and their radii; there is no cap."""
    model.eval()
    x, epsilon = clean, torch.full((len(labels),), params.epsilon0)
    while True:
        for _ in range(params.steps):
            x = x.detach().requires_grad_()
            logits = model(x)
            is_standing = logits.argmax(1) == labels
            if not is_standing.any():
                return {"images": x.detach(), "labels": logits.argmax(1), "epsilon": epsilon}
            (gradient,) = torch.autograd.grad(F.cross_entropy(logits, labels, reduction="sum"), x)
            direction = gradient / (_norm(gradient) + 1e-10) * _column(is_standing)
            delta = x.detach() + _column(params.step_share * epsilon) * direction - clean
            x = (clean + delta * (_column(epsilon) / _norm(delta)).clamp(max=1)).clamp(0, 1)
        with torch.no_grad():
            is_standing = model(x).argmax(1) == labels
        epsilon = torch.where(is_standing, 2 * epsilon, epsilon)


def one_by_one(model: nn.Module, clean: Tensor, labels: Tensor, params: Prepare) -> Flips:
    """Attack each image alone."""
    singles = zip(clean.split(1), labels.split(1), strict=True)
    found = [attack(model, image, label, params) for image, label in singles]
    return {name: torch.cat([flips[name] for flips in found]) for name in found[0]}


def _norm(images: Tensor) -> Tensor:
    return images.flatten(1).norm(dim=1)[:, None, None, None]


def _column(values: Tensor) -> Tensor:
    return values[:, None, None, None]
