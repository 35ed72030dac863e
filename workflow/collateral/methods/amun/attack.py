"""L2 PGD attack in pixel space; the radius doubles until the prediction becomes wrong (flips).

Like the public code (Ali-E/AMUN at 9e341a9), the attack is untargeted, has no random start,
continues from the current image when the radius doubles, and stops for an example once its
prediction flips; `median_after` comes from the port in the paper's code. Deviations: a maximal
radius; `give_up`; and each step ascends the margin, the log-sum-exp of the other logits minus the
true logit. Cross-entropy is softplus(margin), so its gradient has the same direction, but in
float32 it vanishes for confident predictions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor, nn

from collateral.methods.amun.params import Prepare
from collateral.training.examples import Examples
from collateral.training.inference import BATCH_SIZE


@dataclass(frozen=True)
class Unflipped:
    """The examples that the model still classifies correctly; one row per example."""

    index: Tensor  # index in the forget set
    clean: Tensor  # (n, C, H, W)
    images: Tensor  # (n, C, H, W), images perturbed so far
    labels: Tensor  # true labels
    epsilon: Tensor  # radius of the perturbation; 0 before the first step
    steps_left: Tensor  # number of remaining steps at this radius
    margin: Tensor  # result of `margins` before the last step

    @classmethod
    def start(cls, examples: Examples) -> Unflipped:
        """Return all examples before the first step of the attack, with unperturbed images."""
        pixels, labels = examples.pixels(), examples.labels
        zeros = torch.zeros(len(labels), device=labels.device)
        index = torch.arange(len(labels), device=labels.device)
        return cls(index, pixels, pixels, labels, zeros, torch.zeros_like(labels), zeros)

    def where(self, mask: Tensor) -> Unflipped:
        """Return the examples for which a mask is true."""
        return Unflipped(*(getattr(self, field.name)[mask] for field in fields(self)))


def attack(model: nn.Module, examples: Examples, params: Prepare) -> dict[str, Tensor]:
    """Return image, wrong label, radius and index of each example whose prediction flips."""
    model.eval()
    everyone = Unflipped.start(examples)
    if params.median_after is None:
        return _attack(model, everyone, params.epsilon0, params)
    is_first = everyone.index < params.median_after
    first = _attack(model, everyone.where(is_first), params.epsilon0, params)
    start = _median_radius(first["epsilon"], params.epsilon0)
    rest = _attack(model, everyone.where(~is_first), start, params)
    return {name: torch.cat([first[name], rest[name]]) for name in first}


def _median_radius(epsilon: Tensor, epsilon0: float) -> float:
    """Return the median radius of flipped examples; a radius of 0 counts as epsilon0."""
    return epsilon.clamp_min(epsilon0).quantile(0.5).item() if len(epsilon) else epsilon0


def _attack(
    model: nn.Module, unflipped: Unflipped, start: float, params: Prepare
) -> dict[str, Tensor]:
    """Attack examples, beginning with the radius `start`; return those whose prediction flips."""
    flips = [_flips(unflipped.where(unflipped.index < 0), unflipped.labels[:0])]
    while len(unflipped.index):
        prediction, margin, gradient = _margin_gradients(model, unflipped)
        is_flipped = prediction != unflipped.labels
        flips.append(_flips(unflipped.where(is_flipped), prediction[is_flipped]))
        unflipped = _step(unflipped, margin, gradient, start, params)
        unflipped = unflipped.where(~is_flipped & (unflipped.epsilon <= params.max_epsilon))
    order = torch.cat([some["index"] for some in flips]).argsort()
    return {name: torch.cat([some[name] for some in flips])[order] for name in flips[0]}


def _margin_gradients(model: nn.Module, unflipped: Unflipped) -> tuple[Tensor, Tensor, Tensor]:
    """Return predictions, margins, and the gradients of the margins with respect to the images."""
    parts = []
    batches = (tensor.split(BATCH_SIZE) for tensor in (unflipped.images, unflipped.labels))
    for x, y in zip(*batches, strict=True):
        x = x.detach().requires_grad_()
        logits = model(x)
        margin = margins(logits, y)
        (gradient,) = torch.autograd.grad(margin.sum(), x)
        parts.append((logits.detach().argmax(1), margin.detach(), gradient))
    prediction, margin, gradient = (torch.cat(part) for part in zip(*parts, strict=True))
    return prediction, margin, gradient


def margins(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the log-sum-exp of the wrong classes' logits minus the true class's logit."""
    true = labels[:, None]
    others = logits.scatter(1, true, -torch.inf).logsumexp(1)
    return others - logits.gather(1, true).squeeze(1)


def _step(
    unflipped: Unflipped, margin: Tensor, gradient: Tensor, start: float, params: Prepare
) -> Unflipped:
    """Take one PGD step for each example, at its current radius or at twice this radius.

    The radius doubles if no steps are left at it or, with `give_up`, if the gain of the last step
    in all steps that are left would not flip the prediction.
    """
    is_done = unflipped.steps_left == 0
    if params.give_up:
        is_done |= (margin - unflipped.margin) * unflipped.steps_left < -margin
    doubled = torch.where(unflipped.epsilon == 0, start, 2 * unflipped.epsilon)
    epsilon = torch.where(is_done, doubled, unflipped.epsilon)
    steps_left = torch.where(is_done, params.steps, unflipped.steps_left) - 1
    radius = epsilon[:, None, None, None]
    direction = gradient / _norm(gradient).clamp_min(torch.finfo(gradient.dtype).tiny)
    delta = unflipped.images + params.step_share * radius * direction - unflipped.clean
    delta *= (radius / _norm(delta)).clamp(max=1)
    # Clamping moves pixels towards the clean pixels, so the perturbation stays within the radius.
    images = (unflipped.clean + delta).clamp(0, 1)
    return replace(unflipped, images=images, epsilon=epsilon, steps_left=steps_left, margin=margin)


def _flips(flipped: Unflipped, prediction: Tensor) -> dict[str, Tensor]:
    """Check adversarial images; return them with wrong labels, radii and indices."""
    x, distance = flipped.images, _norm(flipped.images - flipped.clean).flatten()
    # Rounding of pixels can make a distance larger than the radius, by at most this value.
    rounding = 4 * torch.finfo(x.dtype).eps * math.sqrt(math.prod(x.shape[1:]))
    assert ((x >= 0) & (x <= 1)).all(), "an adversarial image is outside [0, 1]"
    assert (distance <= flipped.epsilon + rounding).all(), "an adversarial image is too far away"
    return {
        "images": x,
        "labels": prediction,
        "epsilon": flipped.epsilon,
        "index": flipped.index,
    }


def _norm(images: Tensor) -> Tensor:
    return torch.linalg.vector_norm(images, dim=(1, 2, 3), keepdim=True)
