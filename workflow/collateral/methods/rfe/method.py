"""RFE: constrained gradient ascent on the forget set, then repair of adjacent retained examples.

It follows the two stages of the authors' code, which states no augmentation; here images are not
augmented.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, Adam

from collateral.contract.conventions import Skipped
from collateral.methods._shared.gradients import by_parameter, flat_gradient, trainable
from collateral.methods._shared.nearest import select, similarity
from collateral.methods.rfe.params import Params, Prepare
from collateral.training.examples import Batch, Examples, Task, Tensors
from collateral.training.inference import infer
from collateral.training.optimizers import descend
from collateral.training.run import Run

# Added to the diagonal of the Gram matrix, once for each weight tensor, as in the public code.
RIDGE = 1e-8


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return indices of retained examples near the forget set, and the base's loss on far ones."""
    with run.phase("embedding"):
        (retain, logits), (forget, _) = (infer(model, part) for part in (task.retain, task.forget))
    size = params.count_adjacent(len(task.retain))
    places = select(similarity(retain, forget), size, "closest", run.generator)
    losses = F.cross_entropy(logits, task.retain.labels.cpu(), reduction="none")
    return {"adjacent": places, "remote_loss": losses[complement(places, len(retain))].mean()}


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    if len(task.retain) < 2:
        raise Skipped("fewer than two retained examples: none are adjacent and others remote")
    stages = Stages(model.eval(), task, params, run, prepared)
    for epoch in run.epochs(params.epochs, model, stages.adam, stages):
        if epoch < params.ascent_epochs:
            loss = stages.climb()
        else:
            if epoch == params.ascent_epochs:
                stages.store_losses()
            loss = stages.repair()
        run.log(epoch=epoch, loss=loss.item())
    return model


class Stages:
    """Both stages of RFE, with the state that checkpoints need besides model and optimiser."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        params: Params,
        run: Run,
        prepared: Tensors,
    ) -> None:
        """Split the retained examples into those adjacent to the forget set and remote ones.

        The multiplier, the momentum and the stored losses of forget examples start at zero.
        """
        self._model, self._params, self._run = model, params, run
        adjacent = prepared["adjacent"]
        remote = complement(adjacent, len(task.retain))
        self._adjacent = task.retain.select(adjacent.to(run.device))
        self._remote = task.retain.select(remote.to(run.device))
        self._forget = task.forget
        self._bound = prepared["remote_loss"].to(run.device)
        self._weights = list(trainable(model).values())
        self.adam = Adam(self._weights, params.ascent_lr, fused=True)
        # No momentum here, because `repair` keeps and projects its own momentum buffer.
        self._sgd = SGD(self._weights, params.lr, fused=True)
        size = sum(weight.numel() for weight in self._weights)
        self._state = {
            "multiplier": torch.zeros((), device=run.device),
            "velocity": torch.zeros(size, device=run.device),
            "reference": torch.zeros(len(task.forget), device=run.device),
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Return multiplier, momentum buffer, and the forget examples' losses after stage 1."""
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load a state that `state_dict` returned."""
        self._state = {name: tensor.to(self._run.device) for name, tensor in state.items()}

    def climb(self) -> Tensor:
        """Train one epoch of stage 1; a step uses a batch of remote and one of forget examples."""
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

    def store_losses(self) -> None:
        """Store the losses of the forget examples after stage 1."""
        logits = infer(self._model, self._forget)[1]
        losses = F.cross_entropy(logits, self._forget.labels.cpu(), reduction="none")
        self._state["reference"] = losses.to(self._run.device)

    def repair(self) -> Tensor:
        """Train one epoch of stage 2, orthogonally to the forget and the remote gradient."""
        params = self._params
        for x, y in self._batches(self._adjacent, params.batch_size):
            loss = F.cross_entropy(self._model(x), y)
            velocity = params.momentum * self._state["velocity"] + flat_gradient(
                loss, self._weights
            )
            plane = self._forget_gradient(), self._remote_gradient()
            velocity = project(velocity, *plane, RIDGE * len(self._weights))
            self._state["velocity"] = velocity
            for name, piece in by_parameter(self._model, velocity).items():
                weight = self._model.get_parameter(name)
                weight.grad = torch.empty_like(weight).copy_(piece)
            self._sgd.step()
            self._sgd.zero_grad()
        return loss

    def _forget_gradient(self) -> Tensor:
        """Return the gradient of the forgetting objective, summed over batches."""
        labels, reference = self._forget.labels, self._state["reference"]
        places = torch.arange(len(labels))

        def objective(x: Tensor, index: Tensor) -> Tensor:
            losses = F.cross_entropy(self._model(x), labels[index], reduction="none")
            weight = self._params.distance
            return weight * distance(losses, reference[index]) - (1 - weight) * losses.mean()

        indexed = self._forget.relabelled(places)
        return self._sum_gradients(indexed, self._params.forget_batch, objective)

    def _remote_gradient(self) -> Tensor:
        """Return the gradient of the loss on remote examples, summed over batches."""

        def loss(x: Tensor, y: Tensor) -> Tensor:
            return F.cross_entropy(self._model(x), y)

        return self._sum_gradients(self._remote, self._params.remote_batch, loss)

    def _sum_gradients(
        self, examples: Examples, size: int, loss: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        batches = islice(self._batches(examples, size), self._params.span_batches)
        return torch.stack([flat_gradient(loss(x, y), self._weights) for x, y in batches]).sum(0)

    def _batches(self, examples: Examples, size: int) -> Iterator[Batch]:
        return examples.batches(size, self._run.generator, augment=False)


def complement(places: Tensor, count: int) -> Tensor:
    """Return the indices below `count` that are not in `places`, in ascending order."""
    is_other = torch.ones(count, dtype=torch.bool)
    is_other[places] = False
    return is_other.nonzero().squeeze(1)


def lagrangian(climbed: Tensor, excess: Tensor, multiplier: Tensor, penalty: float) -> Tensor:
    """Return the augmented Lagrangian, the loss of stage 1."""
    return -climbed + multiplier * excess + penalty / 2 * excess.square()


def distance(losses: Tensor, reference: Tensor) -> Tensor:
    """Return the squared Wasserstein-2 distance between two samples of losses of equal size."""
    return (losses.sort().values - reference.sort().values).square().mean()


def project(vector: Tensor, one: Tensor, other: Tensor, ridge: float) -> Tensor:
    """Return the component of a vector that is orthogonal to two other vectors."""
    plane = torch.stack([one, other]).double()  # (2, P), two vectors over all P weights
    gram = plane @ plane.T + ridge * torch.eye(2, dtype=plane.dtype, device=plane.device)
    (a, b), (_, c) = gram
    left, right = plane @ vector.double()
    # A 2 x 2 system is solved by a formula, because solvers differ between devices.
    shares = torch.stack([c * left - b * right, a * right - b * left]) / (a * c - b * b)
    return (vector - shares @ plane).to(vector.dtype)
