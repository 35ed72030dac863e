"""Training ResNets: the whole machine against the plain loop, precisions, and the bare step.

    python benchmarks/bench_training.py [--quick]

The plain loop has torch's default threads and a DataLoader with two workers. Ours has one thread
and runs once on every core, side by side, as jobs do. The bare step is forward, backward and
optimiser on one ready batch; its time divided by ours says how close ours is to this limit. With
little memory, stages with more than 250 MB of activations recompute them.
"""

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from multiprocessing.connection import Connection
from os import cpu_count

import torch
from measure import Row, Seconds, cpu_ratio, in_turns, ratio, run, timed
from plain.data import BATCH_SIZE, INFO, loader, plain_images, random_examples
from plain.methods import train_epoch
from torch.nn import functional as F
from torch.optim import SGD

from collateral.contract.params import TrainingParams
from collateral.models import resnet
from collateral.models._build import build_model
from collateral.training.fit import fit
from collateral.training.optimizers import BFLOAT16_INSTRUCTIONS, cpu_flags, descend
from collateral.training.run import Run

Work = Callable[[], object]
MODEL = "resnet20"
SHORT = (
    resnet.find_step(len(resnet.WIDTHS)) * 250e6
)  # bytes of free memory with which ResNet-56 recomputes activations
FLOAT32, BFLOAT16 = "float32", "bfloat16"
# Number of steps by model; they take about equally long.
STEPS = {"resnet56": 8, "resnet20": 16, "resnet8": 48}
# Targets by model: speed of float32 and of bfloat16, relative to float32 with little memory.
GOALS = {"resnet56": (1.5, 2.4), "resnet20": (None, 1.6), "resnet8": (None, None)}
PARAMS = TrainingParams(epochs=1, batch_size=BATCH_SIZE, lr=1e-3)
WORKERS = 2


def plain_epoch(steps: int, size: int) -> Work:
    """Return a function that trains one epoch with the plain loop and torch's default threads."""
    model = build_model(MODEL, INFO)
    images = plain_images(random_examples(steps * size))
    batches = loader(images, None, size, shuffle=True, workers=WORKERS)
    optimizer = SGD(model.parameters(), lr=PARAMS.lr, momentum=0.9, weight_decay=5e-4)
    return lambda: train_epoch(model, batches, optimizer)


def our_epoch(
    steps: int, size: int, name: str = MODEL, precision: str = FLOAT32, free: float = inf
) -> Work:
    """Return a function that trains one epoch on one thread, with `free` bytes of free memory."""
    torch.set_num_threads(1)
    model = build_model(name, INFO).to(memory_format=torch.channels_last)
    params = PARAMS.model_copy(update={"batch_size": size, "precision": precision})
    examples = random_examples(steps * size)

    def work() -> None:
        resnet.find_free_memory = lambda: free  # type: ignore[assignment]
        fit(model, examples, examples, params, Run(torch.device("cpu"), seed=0))

    return work


def bare_steps(steps: int, size: int, name: str, precision: str) -> Work:
    """Return a function that takes the same number of optimiser steps on one ready batch."""
    torch.set_num_threads(1)
    model = build_model(name, INFO).to(memory_format=torch.channels_last).train()
    is_mixed = precision != FLOAT32
    optimizer = SGD(
        model.parameters(),
        PARAMS.lr,
        momentum=0.9,
        weight_decay=PARAMS.weight_decay,
        nesterov=True,
        fused=True,
    )
    x, y = next(random_examples(size).batches(size, torch.Generator()))

    def work() -> None:
        resnet.find_free_memory = lambda: inf  # type: ignore[assignment]
        for _ in range(steps):
            with torch.autocast("cpu", torch.bfloat16, is_mixed):
                loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)

    return work


class Crew:
    """Processes that do the same work at the same time, on request."""

    def __init__(self, make: Callable[[], Work], count: int) -> None:
        """Start the processes and let them warm up."""
        context = multiprocessing.get_context("spawn")
        self._ends = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            context.Process(target=_serve, args=(theirs, make)).start()
            theirs.close()  # closed here, so that the pipe ends if the process fails
            self._ends.append(ours)
        self.work()

    def __enter__(self) -> "Crew":
        """Return the processes, which run until the end of the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        for end in self._ends:
            end.close()

    def work(self) -> Seconds:
        """Let all processes work; return wall-clock seconds and the sum of CPU seconds."""
        seconds: list[Seconds] = []

        def together() -> None:
            for end in self._ends:
                end.send(True)
            seconds.extend(end.recv() for end in self._ends)

        return Seconds(timed(together).wall, sum(each.cpu for each in seconds))


def _serve(end: Connection, make: Callable[[], Work]) -> None:
    work = make()
    with suppress(EOFError):  # The loop ends when the other end of the pipe is closed.
        while end.recv():
            end.send(timed(work))


def whole_machine(steps: int, size: int, repeats: int) -> Row:
    """Compare images per second: the plain loop alone, and ours on every core."""
    cores = cpu_count() or 1
    theirs, of_ours = partial(plain_epoch, steps * cores, size), partial(our_epoch, steps, size)
    with Crew(theirs, 1) as plain, Crew(of_ours, cores) as ours:
        pairs = [(plain.work(), ours.work()) for _ in range(repeats)]
    images = steps * cores * size
    rates = [images / min(side[i].wall for side in pairs) for i in range(2)]
    note = f"plain {rates[0]:.0f}, ours {rates[1]:.0f} images a second"
    what = f"training {MODEL}, machine busy: plain loop / ours"
    return ratio(what, *zip(*pairs, strict=True), at_least=1.4, note=note)


def precisions(name: str, steps: int, size: int, repeats: int) -> list[Row]:
    """Compare float32 with little memory, float32 and bfloat16, and each with its bare step."""
    known = [FLOAT32, BFLOAT16] if cpu_flags() & {*BFLOAT16_INSTRUCTIONS} else [FLOAT32]
    works = {"short": our_epoch(steps, size, name, free=SHORT)}
    works |= {precision: our_epoch(steps, size, name, precision) for precision in known}
    bare = {f"bare {precision}": bare_steps(steps, size, name, precision) for precision in known}
    seconds = in_turns(works | bare, repeats)
    rates = {
        mode: steps * size / max(0.01, min(one.cpu for one in seconds[mode])) for mode in works
    }
    note = f"images per CPU second: {rates['short']:.0f} and "
    rows = []
    for precision, goal in zip(known, GOALS[name], strict=False):
        what = f"training {name}: float32 with little memory / {precision}, in CPU seconds"
        about = {"at_least": goal, "note": f"{note}{rates[precision]:.0f}"}
        rows.append(cpu_ratio(what, seconds["short"], seconds[precision], **about))
        what = f"training {name}, {precision}: bare step / ours, in CPU seconds"
        bare_seconds = seconds[f"bare {precision}"]
        rows.append(cpu_ratio(what, bare_seconds, seconds[precision], at_least=0.97))
    if BFLOAT16 in known:
        what = f"bare step of {name}: float32 / bfloat16, in CPU seconds"
        rows.append(cpu_ratio(what, *(seconds[f"bare {precision}"] for precision in known)))
    return rows


def measure(quick: bool) -> list[Row]:
    """Compare with the plain loop, then precisions, and each with its bare step."""
    steps, size, repeats = (1, 4, 1) if quick else (8, BATCH_SIZE, 5)
    rows = [whole_machine(steps, size, min(repeats, 3))]
    for name, count in STEPS.items():
        rows += precisions(name, 1 if quick else count, size, repeats)
    return rows


if __name__ == "__main__":
    run(measure, __doc__)
