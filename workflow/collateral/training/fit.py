"""Training from scratch: the base model and the retrained reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn import functional as F
from torch.optim import Optimizer

from collateral.contract.params import TrainingParams
from collateral.training.devices import compile_forward
from collateral.training.examples import Batch, Examples
from collateral.training.inference import accuracy
from collateral.training.optimizers import (
    cosine_rate,
    count_batches,
    descend,
    make_optimizer,
    set_learning_rate,
    set_precision,
)
from collateral.training.run import Run, Stateful


class Best:
    """Keeps the weights of the epoch with the best accuracy on `examples`."""

    def __init__(self, model: nn.Module, examples: Examples) -> None:
        """Start without a best epoch; `evaluate` is called after each epoch."""
        self._model = model
        self._examples = examples
        self.score = -1.0
        self._weights: dict[str, Any] = {}

    def evaluate(self) -> float:
        """Evaluate the model; keep its weights if its accuracy is the best so far."""
        score = accuracy(self._model, self._examples)
        if score > self.score:
            self.score = score
            self._weights = {k: v.detach().clone() for k, v in self._model.state_dict().items()}
        return score

    def restore(self) -> None:
        """Load the weights of the best epoch into the model."""
        self._model.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of this object, for checkpoints."""
        return {"score": self.score, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load a state that `state_dict` returned."""
        self.score, self._weights = state["score"], state["weights"]


def fit(
    model: nn.Module, examples: Examples, test: Examples, params: TrainingParams, run: Run
) -> nn.Module:
    """Train `model` in place; `test` is used only by `checkpoint: best_test`."""
    examples, judge = _held_out(examples, test, params, run)
    best = Best(model, judge) if judge else None
    optimizer = make_optimizer(model, params, nesterov=params.nesterov)
    set_precision(model, params.precision, run.device)
    # In float16, small gradients would underflow if the loss were not scaled.
    scaler = GradScaler(run.device.type, enabled=params.precision == "float16")
    states: list[Stateful] = [optimizer, scaler, *([best] if best else [])]
    forward = compile_forward(model) if params.compile else model
    model.train()
    clock = process_time if run.device.type == "cpu" else perf_counter
    for epoch in run.epochs(params.epochs, model, *states):
        start = clock()
        rate = params.lr * rate_factor(params, epoch)
        set_learning_rate(optimizer, rate)
        batches = examples.batches(params.batch_size, run.generator, augment=params.augment)
        if epoch < params.warmup:
            count = count_batches(examples, params.batch_size)
            batches = _warming(batches, optimizer, rate, epoch * count, params.warmup * count)
        loss, correct = _epoch(forward, batches, optimizer, scaler)
        run.fitted_images += len(examples)
        run.fitted_seconds += clock() - start
        run.log(epoch=epoch, loss=loss, accuracy=correct)
        if best:
            with run.phase(None):
                run.log(epoch=epoch, **{params.checkpoint: best.evaluate()})
    if best:
        best.restore()
    return model


def rate_factor(params: TrainingParams, epoch: int) -> float:
    """Return the factor of the learning rate in this epoch (from 0), without the warm-up."""
    if params.schedule == "cosine":
        return cosine_rate(epoch, params.epochs)
    num_steps = sum(epoch >= milestone for milestone in params.milestones)
    return params.factor**num_steps if params.schedule == "step" else 1.0


def _warming(
    batches: Iterator[Batch], optimizer: Optimizer, rate: float, done: int, total: int
) -> Iterator[Batch]:
    """Yield the batches, and raise the learning rate linearly before each of them (warm-up)."""
    for step, batch in enumerate(batches, start=done + 1):
        set_learning_rate(optimizer, rate * (step / total))
        yield batch


def _held_out(
    examples: Examples, test: Examples, params: TrainingParams, run: Run
) -> tuple[Examples, Examples | None]:
    """Return training examples, and the examples on which the best epoch is selected, or None."""
    if params.checkpoint == "last":
        return examples, None
    if params.checkpoint == "best_test":
        return examples, test
    order = torch.randperm(len(examples), generator=run.generator).to(examples.rows.device)
    count = max(1, round(params.validation_share * len(examples)))
    return examples.select(order[count:]), examples.select(order[:count])


def _epoch(
    forward: Callable[[Tensor], Tensor],
    batches: Iterator[Batch],
    optimizer: Optimizer,
    scaler: GradScaler,
) -> tuple[float, float]:
    """Train on all batches; return mean loss and accuracy of the training steps."""
    # Losses stay tensors, because reading each of them would make a GPU wait.
    losses, corrects, count = [], [], 0
    for x, y in batches:
        logits = forward(x)
        loss = F.cross_entropy(logits, y)
        descend(optimizer, loss, scaler)
        losses.append(loss.detach() * len(y))
        corrects.append((logits.detach().argmax(1) == y).sum())
        count += len(y)
    return torch.stack(losses).sum().item() / count, torch.stack(corrects).sum().item() / count
