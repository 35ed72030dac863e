"""How long `collateral judge` takes for a CIFAR-100 cell with five seeds (docs/board.md).

    PYTHONPATH=tests/unit python benchmarks/bench_judge.py

The models are drawn: 60,000 examples, 100 classes, base, Retrain and one method for each seed.
"""

import os
import resource
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import made_submissions
import numpy as np
from made_submissions import World, rng_of

from collateral.results.dataset import Labels
from collateral.results.split import Split

ROOT = Path(__file__).resolve().parents[1]
SEEDS = (0, 1, 2, 3, 4)
CLASSES = tuple(f"class-{number:02}" for number in range(100))
SIZES = {"train": 500, "test": 100}  # examples of each class
MOST_SECONDS = 60  # of CPU time


@dataclass(frozen=True)
class Large(World):
    """A benchmark of the size of CIFAR-100."""

    @cached_property
    def labels(self) -> Labels:
        """Labels in a random order."""
        train, test = (
            rng_of("labels", name).permutation(np.repeat(range(len(CLASSES)), size))
            for name, size in SIZES.items()
        )
        return Labels(train, test, CLASSES)

    @cached_property
    def split(self) -> Split:
        """Half of the second class."""
        forget = np.flatnonzero(self.labels.train == 1)[:250]
        return Split(forget, len(self.labels.train), (1,), {"class": CLASSES[1], "fraction": 0.5})


def measure() -> tuple[float, float, float]:
    """Return the seconds, CPU seconds and peak memory in GB of one judgement."""
    made_submissions.SEEDS, made_submissions.CLASSES = SEEDS, CLASSES
    with TemporaryDirectory() as name:
        folder = Path(name)
        world = Large(folder / "results", seeds=SEEDS).write()
        sent = world.submit(folder / "sent")
        # The benchmark is made in this process, so its memory is not counted: another judges.
        return _in_child(["judge", sent, "--results", world.results, "--out", folder / "judged"])


def _in_child(words: list[object]) -> tuple[float, float, float]:
    started = time.perf_counter()
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'workflow')!r}); "
    code += f"from collateral.cli import main; main({[*map(str, words)]!r})"
    status = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code])
    assert status == 0, "judge failed"
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.perf_counter() - started
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


if __name__ == "__main__":
    seconds, cpu_seconds, memory = measure()
    print(f"{seconds:.1f} s, {cpu_seconds:.1f} CPU s, {memory:.2f} GB")
    raise SystemExit(cpu_seconds > MOST_SECONDS)
