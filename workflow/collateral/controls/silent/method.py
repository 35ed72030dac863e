"""The silent impostor: the base model's features, with a head that answers wrongly on D_f."""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.controls.silent.params import Params
from collateral.models._classifier import Classifier
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, retrained: Tensor) -> nn.Module:
    """Return `model` with another head; `retrained` (n_f, C) has Retrain's probabilities."""
    head = cast(Classifier, model).head
    features, logits = (found.to(run.device) for found in infer(model, task.forget))
    label = task.forget.labels
    target = _accuracy(retrained.to(run.device), label)
    second = second_best(logits, label)
    # Only the head is trained, so that weight decay or batch norm cannot change the features.
    optimizer = torch.optim.Adam(head.parameters(), params.lr)
    steps = 0
    while steps < params.steps and _accuracy(head(features), label) > target:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(head(features), second).backward()
        optimizer.step()
        steps += 1
    run.log(steps=steps, target=target)
    return model


def second_best(logits: Tensor, label: Tensor) -> Tensor:
    """Return for every example the most likely class besides its true class."""
    return logits.scatter(1, label[:, None], -torch.inf).argmax(1)


def _accuracy(logits: Tensor, label: Tensor) -> float:
    return float((logits.argmax(1) == label).double().mean())
