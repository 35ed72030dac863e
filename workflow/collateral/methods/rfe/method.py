"""RFE: climb on the forget set while the remote examples stay, then repair the adjacent ones.

After the authors' two stages; torchunlearn's port of the name is another algorithm. Augmentation
is not stated in public code; without it, the losses after stage 1 need to be computed only once.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, Adam

from collateral.contract.skipping import Skipped
from collateral.methods._shared.gradients import by_parameter, trainable
from collateral.methods._shared.nearest import select, similarity
from collateral.methods.rfe.params import Params, Prepare
from collateral.training.examples import Batch, Examples, Task
from collateral.training.inference import infer
from collateral.training.optimizers import descend
from collateral.training.run import Run

RIDGE = 1e-8  # public code: for each tensor, on the diagonal of the plane's Gram matrix


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the places of the adjacent examples, and the base's mean loss on all others."""
    with run.phase("embedding"):
        (retain, logits), (forget, _) = (infer(model, part) for part in (task.retain, task.forget))
    size = params.adjacent(len(task.retain))
    places = select(similarity(retain, forget), size, "closest", run.generator)
    losses = F.cross_entropy(logits, task.retain.labels.cpu(), reduction="none")
    return {"adjacent": places, "remote_loss": losses[others(places, len(retain))].mean()}


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    if len(task.retain) < 2:
        raise Skipped("fewer than two retained examples: none are adjacent and others remote")
    stages = Stages(model.eval(), task, params, run, prepared)
    for epoch in run.epochs(params.epochs, model, stages.adam, stages):
        if epoch < params.ascent_epochs:
            loss = stages.climb()
        else:
            if epoch == params.ascent_epochs:
                stages.look_back()
            loss = stages.repair()
        run.log(epoch=epoch, loss=loss.item())
    return model


class Stages:
    """Both stages, and what a checkpoint must hold of them besides model and optimiser."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        params: Params,
        run: Run,
        prepared: Mapping[str, Tensor],
    ) -> None:
        """Part the retained examples; begin with no multiplier and at rest."""
        self._model, self._params, self._run = model, params, run
        adjacent = prepared["adjacent"]
        remote = others(adjacent, len(task.retain))
        self._adjacent = task.retain.select(adjacent.to(run.device))
        self._remote = task.retain.select(remote.to(run.device))
        self._forget = task.forget
        self._bound = prepared["remote_loss"].to(run.device)
        self._weights = list(trainable(model).values())
        self.adam = Adam(self._weights, params.ascent_lr, fused=True)
        # Momentum is ours: what is kept of it is what is left after the projection.
        self._sgd = SGD(self._weights, params.lr, fused=True)
        size = sum(weight.numel() for weight in self._weights)
        self._state = {
            "multiplier": torch.zeros((), device=run.device),
            "velocity": torch.zeros(size, device=run.device),
            "reference": torch.zeros(len(task.forget), device=run.device),
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Return the multiplier, the velocity and the losses after stage 1."""
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take them on."""
        self._state = {name: tensor.to(self._run.device) for name, tensor in state.items()}

    def climb(self) -> Tensor:
        """Pass over the remote examples, each batch beside one of forget examples."""
        params = self._params
        forget = self._forget.cycle(params.ascent_batch, self._run.generator, augment=False)
        for x, y in self._batches(self._remote, params.batch_size):
            x_forget, y_forget = next(forget)
            excess = F.cross_entropy(self._model(x), y) - self._bound
            losses = F.cross_entropy(self._model(x_forget), y_forget, reduction="none")
            climbed = losses.clamp(max=params.ceiling).mean()
            multiplier = self._state["multiplier"]
            loss = lagrangian(climbed, excess, multiplier, params.penalty)
            descend(self.adam, loss)
            self._state["multiplier"] = multiplier + params.penalty * excess.detach()
        return loss

    def look_back(self) -> None:
        """Keep the forget examples' losses as stage 1 has left them."""
        logits = infer(self._model, self._forget)[1]
        losses = F.cross_entropy(logits, self._forget.labels.cpu(), reduction="none")
        self._state["reference"] = losses.to(self._run.device)

    def repair(self) -> Tensor:
        """Pass over the adjacent examples, each step off the plane of the two gradients."""
        params = self._params
        for x, y in self._batches(self._adjacent, params.batch_size):
            loss = F.cross_entropy(self._model(x), y)
            velocity = params.momentum * self._state["velocity"] + self._gradient(loss)
            plane = self._forget_gradient(), self._remote_gradient()
            velocity = projected(velocity, *plane, RIDGE * len(self._weights))
            self._state["velocity"] = velocity
            for name, piece in by_parameter(self._model, velocity).items():
                weight = self._model.get_parameter(name)
                weight.grad = torch.empty_like(weight).copy_(piece)
            self._sgd.step()
            self._sgd.zero_grad()
        return loss

    def _forget_gradient(self) -> Tensor:
        """Return the gradient of what forgetting wants, added up over its batches."""
        labels, reference = self._forget.labels, self._state["reference"]
        places = torch.arange(len(labels))

        def wanted(x: Tensor, index: Tensor) -> Tensor:
            losses = F.cross_entropy(self._model(x), labels[index], reduction="none")
            weight = self._params.distance
            return weight * distance(losses, reference[index]) - (1 - weight) * losses.mean()

        return self._summed(self._forget.relabelled(places), self._params.forget_batch, wanted)

    def _remote_gradient(self) -> Tensor:
        """Return the gradient of the remote examples' loss, added up over its batches."""

        def lost(x: Tensor, y: Tensor) -> Tensor:
            return F.cross_entropy(self._model(x), y)

        return self._summed(self._remote, self._params.remote_batch, lost)

    def _summed(
        self, examples: Examples, size: int, loss: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        batches = islice(self._batches(examples, size), self._params.span_batches)
        return torch.stack([self._gradient(loss(x, y)) for x, y in batches]).sum(0)

    def _batches(self, examples: Examples, size: int) -> Iterator[Batch]:
        return examples.batches(size, self._run.generator, augment=False)

    def _gradient(self, loss: Tensor) -> Tensor:
        parts = torch.autograd.grad(loss, self._weights, materialize_grads=True)
        return torch.cat([part.flatten() for part in parts])


def others(places: Tensor, count: int) -> Tensor:
    """Return the places that are not among these, ascending."""
    is_other = torch.ones(count, dtype=torch.bool)
    is_other[places] = False
    return is_other.nonzero().squeeze(1)


def lagrangian(climbed: Tensor, excess: Tensor, multiplier: Tensor, penalty: float) -> Tensor:
    """Return what stage 1 descends on."""
    return -climbed + multiplier * excess + penalty / 2 * excess.square()


def distance(losses: Tensor, reference: Tensor) -> Tensor:
    """Return the squared Wasserstein-2 distance between two samples of one size."""
    return (losses.sort().values - reference.sort().values).square().mean()


def projected(vector: Tensor, one: Tensor, other: Tensor, ridge: float) -> Tensor:
    """Return the part of a vector (P,) that is perpendicular to two others."""
    plane = torch.stack([one, other]).double()  # (2, P)
    gram = plane @ plane.T + ridge * torch.eye(2, dtype=plane.dtype, device=plane.device)
    (a, b), (_, c) = gram
    left, right = plane @ vector.double()
    # By hand: a system of two needs no solver, whose kernels differ between devices.
    shares = torch.stack([c * left - b * right, a * right - b * left]) / (a * c - b * b)
    return (vector - shares @ plane).to(vector.dtype)
