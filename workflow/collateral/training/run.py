"""The run of a method: device, random numbers, clock, log, and resumable epochs."""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from collateral.training.checkpoints import Checkpoints, Saver, random_state, set_random_state
from collateral.training.devices import device_name

LOG = logging.getLogger(__name__)
# A tracker maps a model to tensors to store.
Tracker = Callable[[nn.Module], Mapping[str, Tensor]]


class Stateful(Protocol):
    """A model, an optimiser, or anything else whose state a checkpoint must contain."""

    def state_dict(self) -> Any:
        """Return the state for a checkpoint."""

    def load_state_dict(self, state: Any) -> Any:
        """Load a state that `state_dict` returned."""


class Run:
    """Everything a method gets besides model, data and parameters, such as a random generator."""

    def __init__(
        self,
        device: torch.device,
        seed: int,
        *,
        checkpoints: Checkpoints | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        """Seed the generator, and torch's global generator for code such as dropout."""
        self.device = device
        # Names of the devices used so far; the list grows if the run resumes on another device.
        self.devices = [device_name(device)]
        self.generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        self.clock = Clock(device)
        self.history: list[dict[str, Any]] = []
        self.reported: dict[str, float] = {}
        # Images that `fit` trained on in this process, and their seconds: of the CPU on a CPU.
        self.fitted_images, self.fitted_seconds = 0, 0.0
        self.skipped = ""  # reason why the method could not run; empty if it ran
        # Tracked tensors of the base model, then those after each epoch.
        self.tracked: list[Mapping[str, Tensor]] = []
        # measured seconds until each item of `tracked` was added
        self.tracked_seconds: list[float] = []
        self._checkpoints = checkpoints
        self._tracker = tracker
        self._loops = 0
        self._stopped = False

    def epochs(
        self, count: int, model: nn.Module, *stateful: Stateful, name: str = ""
    ) -> Iterator[int]:
        """Yield the numbers (from 0) of the remaining epochs; save and track after each epoch.

        An interrupted loop resumes after its last saved epoch; a finished loop restores its final
        state. Leave a loop early by `stop`, not by `break`. A loop with a `name` trains another
        model than the unlearned one, and is not tracked.
        """
        self._loops += 1
        loop = f"loop-{self._loops}"
        states = (model, *stateful)
        with self.phase(None):
            start, self._stopped = self._restore(loop, states)
        saver = Saver(self._checkpoints, loop)
        with saver.saving_on_signals():
            for epoch in range(start, count):
                if self._stopped:
                    break
                yield epoch
                if not name:
                    self.track(model)
                with self.phase(None):
                    if self._checkpoints:
                        saver.note(self._state(epoch + 1, states))
            with self.phase(None):
                saver.save()
        self._stopped = False

    def track(self, model: nn.Module) -> None:
        """Call the tracker and store its tensors; meanwhile, the clock stops."""
        if not self._tracker:
            return
        with self.phase(None):
            self.tracked.append(self._tracker(model))
            self.tracked_seconds.append(sum(self.clock.seconds.values()))

    def stop(self) -> None:
        """End the running loop after this epoch."""
        self._stopped = True

    def log(self, **values: float | None) -> None:
        """Add values to the history; values of one epoch and loop are in one row."""
        key = {"loop": self._loops, "epoch": values.pop("epoch", None)}
        if self.history and key.items() <= self.history[-1].items():
            self.history[-1].update(values)
        else:
            self.history.append({**key, **values})

    def report(self, **numbers: float) -> None:
        """Report numbers for the tables; infinite and undefined numbers are omitted."""
        self.reported |= {name: value for name, value in numbers.items() if math.isfinite(value)}

    def phase(self, name: str | None) -> AbstractContextManager[None]:
        """Add the seconds within this context to phase `name`, or to no phase if `name` is None."""
        return self.clock.phase(name)

    def random_seed(self) -> int:
        """Draw a seed for libraries with a generator of their own, such as scikit-learn."""
        return int(torch.randint(2**31, (), generator=self.generator))

    @contextmanager
    def seeded(self) -> Iterator[None]:
        """Within this context, seed torch's global generator, which initialises new models."""
        before = random_state()
        torch.manual_seed(self.random_seed())
        try:
            yield
        finally:
            set_random_state(before)

    def _state(self, epochs_done: int, states: tuple[Stateful, ...]) -> dict[str, Any]:
        return {
            "epochs_done": epochs_done,
            "stopped": self._stopped,
            "states": [_copy_state(state.state_dict()) for state in states],
            "generator": self.generator.get_state(),
            "random": random_state(),
            "history": list(self.history),
            "tracked": list(self.tracked),
            "tracked_seconds": list(self.tracked_seconds),
            "reported": dict(self.reported),
            "seconds": dict(self.clock.seconds),
            "devices": self.devices,
        }

    def _restore(self, loop: str, states: tuple[Stateful, ...]) -> tuple[int, bool]:
        saved = self._checkpoints.load(loop) if self._checkpoints else None
        if saved is None:
            return 0, False
        for state, content in zip(states, saved["states"], strict=True):
            state.load_state_dict(content)
        self.generator.set_state(saved["generator"])
        set_random_state(saved["random"])
        self.history, self.reported = saved["history"], saved["reported"]
        self.tracked, self.tracked_seconds = saved["tracked"], saved["tracked_seconds"]
        self.clock.seconds.update(saved["seconds"])
        self._take_over(saved["devices"])
        LOG.info("%s goes on after epoch %d", loop, saved["epochs_done"])
        return saved["epochs_done"], saved["stopped"]

    def _take_over(self, devices: list[str]) -> None:
        """Continue the device list of a checkpoint; append the present device if it differs."""
        here = self.devices[-1]
        if devices[-1] != here:
            LOG.warning("begun on %s: the record will say so", devices[-1])
            devices = [*devices, here]
        self.devices = devices


def _copy_state(value: Any) -> Any:
    """Copy the tensors of a state, because the next epoch changes them in place."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copy_state(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_state(item) for item in value]
    return value


class Clock:
    """Sums the seconds of each phase; an inner phase is not added to the outer phase."""

    def __init__(self, device: torch.device) -> None:
        """Create a clock without a running phase."""
        self.seconds: dict[str, float] = defaultdict(float)
        self._device = device
        self._phase: str | None = None
        self._since = 0.0

    @contextmanager
    def phase(self, name: str | None) -> Iterator[None]:
        """Add the seconds within this context to phase `name`, or to no phase if `name` is None."""
        outer = self._switch(name)
        try:
            yield
        finally:
            self._switch(outer)

    def _switch(self, name: str | None) -> str | None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        elif self._device.type == "mps":
            torch.mps.synchronize()
        now = time.perf_counter()
        if self._phase is not None:
            self.seconds[self._phase] += now - self._since
        previous, self._phase, self._since = self._phase, name, now
        return previous
