"""Mixed precision on GPUs: forward pass and loss in half, weights and optimiser in float32."""

import logging
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from collateral.training.optimizers import descend

LOG = logging.getLogger(__name__)
DEVICES = ("cuda",)  # devices on which half precision is faster


class Precision:
    """Precision of forward passes and steps; always float32 without a GPU."""

    def __init__(self, name: str, device: torch.device) -> None:
        """Set the precision: "float32", "bfloat16" or "float16"."""
        self._type = getattr(torch, name)
        self._device = device
        self._is_mixed = device.type in DEVICES and name != "float32"
        if name != "float32" and not self._is_mixed:
            LOG.warning("base.precision: %s is for GPUs; on %s it is float32", name, device.type)
        # Small gradients underflow in float16, so the loss is scaled before the backward pass.
        self._scaler = torch.amp.GradScaler(
            device.type, enabled=self._is_mixed and name == "float16"
        )

    def forward(self) -> AbstractContextManager[Any]:
        """Compute within this context in half precision."""
        return torch.autocast(self._device.type, self._type) if self._is_mixed else nullcontext()

    def descend(self, optimizer: Optimizer, loss: Tensor) -> None:
        """Take one step down the loss."""
        if not self._scaler.is_enabled():
            descend(optimizer, loss)
            return
        optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self) -> dict[str, Any]:
        """Return the scaler's state, for checkpoints."""
        return self._scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load the state of the scaler; a run that began on a CPU has none."""
        if state:
            self._scaler.load_state_dict(state)
