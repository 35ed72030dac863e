"""Checkpoints from which a killed job resumes: safetensors with a hash, never a pickle."""

import hashlib
import json
import logging
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from collateral.results.files import atomic

LOG = logging.getLogger(__name__)
HASH_BYTES = 32  # length of the hash at the beginning of a checkpoint file
INTERVAL_SECONDS = 60.0  # default time between two checkpoints
# Warning signals that SLURM sends before it kills a job.
WARNINGS = (signal.SIGTERM, signal.SIGUSR1)


def open_checkpoints(folder: Path, identity: Mapping[str, Any]) -> "Checkpoints":
    """Return the checkpoints of a job; only a job with the same `identity` can load them."""
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    interval = float(os.environ.get("COLLATERAL_CHECKPOINT_SECONDS", INTERVAL_SECONDS))
    return Checkpoints(folder, digest, interval)


class Checkpoints:
    """The checkpoints of one job, one file per training loop."""

    def __init__(
        self, folder: Path, identity: str, interval_seconds: float = INTERVAL_SECONDS
    ) -> None:
        """Store checkpoints in `folder`; only checkpoints with this `identity` can be loaded."""
        self._folder = folder
        self._identity = identity
        self.interval_seconds = interval_seconds

    def save(self, name: str, state: Mapping[str, Any]) -> None:
        """Write a nested state of tensors, numbers and strings to a file, after its own hash."""
        tensors: dict[str, Tensor] = {}
        tree = {"identity": self._identity, "state": _take_tensors(state, tensors)}
        body = save(tensors, metadata={"tree": json.dumps(tree)})
        with atomic(self._path(name)) as temporary:
            temporary.write_bytes(hashlib.sha256(body).digest() + body)

    def load(self, name: str) -> dict[str, Any] | None:
        """Return the saved state or None; delete a file that is damaged or of another job."""
        path = self._path(name)
        if not path.exists():
            return None
        state = self._read(path.read_bytes())
        if state is None:
            LOG.warning("checkpoint %s is damaged or of another job: starting anew", path.name)
            path.unlink()
        return state

    def within(self, name: str) -> "Checkpoints":
        """Return checkpoints of the same job in a subfolder."""
        return Checkpoints(self._folder / name, self._identity, self.interval_seconds)

    def clear(self) -> None:
        """Delete all checkpoints of the job."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.checkpoint"

    def _read(self, content: bytes) -> dict[str, Any] | None:
        digest, body = content[:HASH_BYTES], content[HASH_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            return None
        try:
            tensors, tree = load(body), json.loads(_metadata(body)["tree"])
        except (SafetensorError, KeyError):
            return None
        if tree["identity"] != self._identity:
            return None
        return _put_tensors(tree["state"], tensors)


class Saver:
    """Saves the latest state of one loop: periodically, on a warning signal, and at the end."""

    def __init__(self, checkpoints: Checkpoints | None, loop: str) -> None:
        """Save under the name `loop`; save nothing if `checkpoints` is None."""
        self._checkpoints = checkpoints
        self._loop = loop
        self._latest: dict[str, Any] | None = None
        self._saved_at = time.monotonic()

    def note(self, state: dict[str, Any]) -> None:
        """Remember the state after an epoch; write it if the last write is long enough ago."""
        self._latest = state
        elapsed = time.monotonic() - self._saved_at
        if self._checkpoints and elapsed >= self._checkpoints.interval_seconds:
            self.save()

    def save(self) -> None:
        """Write the latest state if it is not on disk yet."""
        if self._checkpoints and self._latest:
            self._checkpoints.save(self._loop, self._latest)
            self._latest, self._saved_at = None, time.monotonic()

    @contextmanager
    def saving_on_signals(self) -> Iterator[None]:
        """Within this context, save and exit when a warning signal arrives."""

        def leave(number: int, _frame: FrameType | None) -> None:
            self.save()
            raise SystemExit(128 + number)

        previous = {number: signal.signal(number, leave) for number in WARNINGS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


def _metadata(body: bytes) -> dict[str, str]:
    """Return the metadata in the header of a safetensors file: 8 bytes of length, then JSON."""
    length = int.from_bytes(body[:8], "little")
    return json.loads(body[8 : 8 + length])["__metadata__"]


def _take_tensors(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return `value` without its tensors, in JSON types; the tensors are moved into `tensors`."""
    if isinstance(value, Tensor):
        key, dense = str(len(tensors)), value.detach().cpu().clone()
        tensors[key] = dense.contiguous()
        return {"tensor": key, "strides": dense.stride()}
    if isinstance(value, Mapping):
        # Dictionaries are stored as pairs, because the state of an optimiser has integer keys.
        return {"pairs": [[key, _take_tensors(item, tensors)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [_take_tensors(item, tensors) for item in value]}
    return value


def _put_tensors(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo `_take_tensors`: put the tensors back into the value."""
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return _with_strides(tensors[value["tensor"]], value["strides"])
    if "pairs" in value:
        return {key: _put_tensors(item, tensors) for key, item in value["pairs"]}
    return [_put_tensors(item, tensors) for item in value["list"]]


def _with_strides(tensor: Tensor, strides: list[int]) -> Tensor:
    """Restore the memory layout of a tensor, which fused optimisers require."""
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)


def random_state() -> dict[str, Tensor]:
    """Return the state of torch's global generators."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_random_state(state: Mapping[str, Tensor]) -> None:
    """Set the state of torch's global generators."""
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
