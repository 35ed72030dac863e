"""A stopwatch with phases: it runs for exactly one phase at a time, or for none."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Clock:
    """Sums the seconds of each phase; an inner phase does not count for the outer one."""

    def __init__(self, device: torch.device) -> None:
        """Start with no phase running."""
        self.seconds: dict[str, float] = defaultdict(float)
        self._device = device
        self._phase: str | None = None
        self._since = 0.0

    @contextmanager
    def phase(self, name: str | None) -> Iterator[None]:
        """Count the time inside for the phase `name`; time in the phase `None` does not count."""
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
