"""Mixed precision on GPUs: forward and loss in half, weights and optimiser in float32."""

import logging
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from collateral.training.optimizers import Optimizer, descend

LOG = logging.getLogger(__name__)
DEVICES = ("cuda",)  # that are faster with less precision


class Precision:
    """How forward passes and steps are computed; plain float32 wherever there is no GPU."""

    def __init__(self, name: str, device: torch.device) -> None:
        """Take "float32", "bfloat16" or "float16"."""
        self._type = getattr(torch, name)
        self._device = device
        self._is_mixed = device.type in DEVICES and name != "float32"
        if name != "float32" and not self._is_mixed:
            LOG.warning("base.precision: %s is for GPUs; on %s it is float32", name, device.type)
        # float16 loses small gradients, so the loss is scaled up before the backward pass.
        self._scaler = torch.amp.GradScaler(
            device.type, enabled=self._is_mixed and name == "float16"
        )

    def forward(self) -> AbstractContextManager[Any]:
        """Compute what is inside in half precision."""
        return torch.autocast(self._device.type, self._type) if self._is_mixed else nullcontext()

    def descend(self, optimizer: Optimizer, loss: Tensor) -> None:
        """Take one step down the loss."""
        if not self._scaler.is_enabled():
            descend(optimizer, loss)
            return
        optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        # It reads `param_groups` and calls `step`, which ours has as torch's own.
        self._scaler.step(optimizer)  # type: ignore[arg-type]
        self._scaler.update()

    def state_dict(self) -> dict[str, Any]:
        """Return the scaler's state, for checkpoints."""
        return self._scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the scaler's state on; where the run began on a CPU, there was none."""
        if state:
            self._scaler.load_state_dict(state)
