"""From parameters to an optimiser, and the learning rate of an epoch."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sized
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from collateral.contract.batches import batch_sizes
from collateral.contract.params import TrainedParams, TrainingParams

# torch's defaults.
ADAM: dict[str, Any] = {
    "amsgrad": False,
    "beta1": 0.9,
    "beta2": 0.999,
    "eps": 1e-8,
    "maximize": False,
}


class Optimizer(ABC):
    """What SGD and Adam share. The arithmetic is torch's own functional optimisers', fused.

    torch.optim's classes import torch's compiler with the first one that is made. That takes as
    long as importing torch, in every one of some hundred jobs that last a few seconds.
    """

    def __init__(self, weights: Iterable[nn.Parameter], lr: float, weight_decay: float) -> None:
        """Train `weights`; a weight that has no gradient is left as it is."""
        self.param_groups = [{"params": list(weights), "lr": lr, "weight_decay": weight_decay}]
        self.state: dict[int, dict[str, Tensor]] = {}  # by the weight's place

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; `set_to_none` is there because torch's own have it."""
        for weight in self._group["params"]:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Take a step along the gradients."""
        weights = self._group["params"]
        moved = [place for place, weight in enumerate(weights) if weight.grad is not None]
        gradients = [weights[place].grad for place in moved]
        if moved:
            self._update(moved, [weights[place] for place in moved], gradients)

    def state_dict(self) -> dict[str, Any]:
        """Return the state, for checkpoints."""
        return {"lr": self._group["lr"], "state": self.state}

    def load_state_dict(self, content: dict[str, Any]) -> None:
        """Take the state on."""
        self._group["lr"] = content["lr"]
        weights = self._group["params"]
        self.state = {
            place: {name: tensor.to(weights[place].device) for name, tensor in tensors.items()}
            for place, tensors in content["state"].items()
        }

    @property
    def _group(self) -> dict[str, Any]:
        return self.param_groups[0]

    @abstractmethod
    def _update(self, places: list[int], weights: list[Tensor], gradients: list[Tensor]) -> None:
        """Update the weights and their state in place."""


class Sgd(Optimizer):
    """Stochastic gradient descent with momentum."""

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        lr: float,
        weight_decay: float,
        momentum: float,
        nesterov: bool = False,
    ) -> None:
        """Train `weights`."""
        super().__init__(weights, lr, weight_decay)
        self._group.update(momentum=momentum, nesterov=nesterov and momentum > 0)

    def _update(self, places: list[int], weights: list[Tensor], gradients: list[Tensor]) -> None:
        buffers = [self.state.get(place, {}).get("momentum") for place in places]
        options = {name: value for name, value in self._group.items() if name != "params"}
        sgd(weights, gradients, buffers, fused=True, dampening=0, maximize=False, **options)
        if self._group["momentum"]:
            self.state = {
                place: {"momentum": buffer}
                for place, buffer in zip(places, buffers, strict=True)
                if buffer is not None
            }


class Adam(Optimizer):
    """Adam, or with `decoupled` weight decay AdamW."""

    def __init__(
        self, weights: Iterable[nn.Parameter], lr: float, weight_decay: float, decoupled: bool
    ) -> None:
        """Train `weights` with torch's default betas and epsilon."""
        super().__init__(weights, lr, weight_decay)
        self._decoupled = decoupled

    def _update(self, places: list[int], weights: list[Tensor], gradients: list[Tensor]) -> None:
        for place, weight in zip(places, weights, strict=True):
            if place not in self.state:
                self.state[place] = {
                    "mean": torch.zeros_like(weight),
                    "square": torch.zeros_like(weight),
                    "steps": torch.zeros((), device=weight.device),
                }
        names = ("mean", "square", "steps")
        means, squares, steps = ([self.state[p][name] for p in places] for name in names)
        adam(
            weights,
            gradients,
            means,
            squares,
            [],
            steps,
            fused=True,
            decoupled_weight_decay=self._decoupled,
            lr=self._group["lr"],
            weight_decay=self._group["weight_decay"],
            **ADAM,
        )


def make_optimizer(
    model: nn.Module, params: TrainedParams | TrainingParams, *, nesterov: bool = False
) -> Optimizer:
    """Return the optimiser that `params` asks for, over all parameters of the model."""
    weights, lr, decay = model.parameters(), params.lr, params.weight_decay
    if params.optimizer == "sgd":
        return Sgd(weights, lr, decay, params.momentum, nesterov)
    return Adam(weights, lr, decay, decoupled=params.optimizer == "adamw")


def start_training(model: nn.Module, params: TrainedParams) -> Optimizer:
    """Put the model into the mode that a method's parameters ask for; return its optimiser."""
    model.train()
    if params.batchnorm == "frozen":
        for module in model.modules():
            if isinstance(module, _BatchNorm):
                module.eval()
    return make_optimizer(model, params)


def descend(optimizer: Optimizer, loss: Tensor) -> None:
    """Take one step down the loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    # Not left for the next step: among what its forward pass keeps, they would tear memory apart.
    optimizer.zero_grad(set_to_none=True)


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def cosine(epoch: int, epochs: int) -> float:
    """Return the factor of the learning rate in this epoch; it ends at zero after the last."""
    return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


def steps_by_epoch(epochs: int, steps: int | None, batches: int) -> list[int]:
    """Return how many batches each epoch has; a budget in steps may end within an epoch."""
    if steps is None:
        return [batches] * epochs
    whole, rest = divmod(steps, batches)
    return [batches] * whole + [rest] * (rest > 0)


def num_batches(examples: Sized, batch_size: int) -> int:
    """Return how many batches an epoch over `examples` has."""
    return len(batch_sizes(len(examples), batch_size))
