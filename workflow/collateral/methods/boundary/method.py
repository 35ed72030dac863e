"""Boundary unlearning: train the forget set on the label across the boundary, or on a new class.

Public code: TY-LEE-KR/Boundary-Unlearning-Code (86c2f1f), and OPTML-Group/Unlearn-Saliency. Both
train an image on its true label if the attack does not change the prediction (`uncrossed:
true_class`); the text has incorrect labels only. OPTML-Group's `expand` never removes the new
output, so that every forgotten image is classified as no class at all; the authors remove it, and
so do we. OPTML-Group rounds the attacked image to 1/255; here it is only kept in [0, 1]. A new
output starts with PyTorch's initial weights.
"""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods.boundary.params import Params
from collateral.models._classifier import Classifier
from collateral.training.examples import Task
from collateral.training.optimizers import descend, make_optimizer, start_training
from collateral.training.run import Run


def unlearn(model: Classifier, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    return (shrink if params.variant == "shrink" else expand)(model, task, params, run)


def shrink(model: Classifier, task: Task, params: Params, run: Run) -> nn.Module:
    """Train every forgotten image on the class across its nearest boundary."""
    base = copy.deepcopy(model).eval()
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        crossed = []
        for x, y in task.forget.batches(params.batch_size, run.generator, augment=params.augment):
            target, has_crossed = find_neighbours(base, x, y, params)
            crossed.append(has_crossed)
            loss = F.cross_entropy(model(x), target)
            descend(optimizer, loss)
        share = torch.cat(crossed).float().mean().item()
        run.log(epoch=epoch, loss=loss.item(), crossed=share)
    return model


def find_neighbours(base: nn.Module, x: Tensor, y: Tensor, params: Params) -> tuple[Tensor, Tensor]:
    """Return the class across the boundary of each image, and whether the attack reached it."""
    x = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        loss = F.cross_entropy(base(x), y, reduction="sum")
        gradient = torch.autograd.grad(loss, x)[0]
    with torch.no_grad():
        logits = base((x + params.epsilon * gradient.sign()).clamp(0, 1))
        reached = logits.argmax(1)
        nearest = logits.scatter(1, y[:, None], -torch.inf).argmax(1)
    has_crossed = reached != y
    return (nearest if params.uncrossed == "nearest" else reached), has_crossed


def expand(model: Classifier, task: Task, params: Params, run: Run) -> nn.Module:
    """Train the forget set on a class of its own, whose output is not part of the model."""
    with run.seeded():  # on the CPU, so that every device gets the same weights
        wider = nn.Linear(model.head.in_features, task.num_classes + 1)
    extra = nn.Linear(model.head.in_features, 1)
    extra.load_state_dict({name: value[-1:] for name, value in wider.state_dict().items()})
    extra.to(run.device)
    start_training(model, params)
    optimizer = make_optimizer(nn.ModuleList([model, extra]), params)
    for epoch in run.epochs(params.epochs, model, extra, optimizer):
        for x, y in task.forget.batches(params.batch_size, run.generator, augment=params.augment):
            features = model.features(x)
            logits = torch.cat([model.head(features), extra(features)], 1)
            loss = F.cross_entropy(logits, torch.full_like(y, task.num_classes))
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model
