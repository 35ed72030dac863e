"""Training ResNet-20: the whole machine busy with ours against the plain loop, and the bare step.

    python benchmarks/bench_training.py [--quick]

The plain loop has torch's default threads and a DataLoader with two workers. Ours has one thread
and runs once on every core, side by side, as jobs do. The bare step is forward, backward and
optimiser on a batch that is ready: what is left of it is the share of the hardware's limit.
"""

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from os import cpu_count

import torch
from measure import Row, Seconds, in_turns, ratio, run, timed
from plain.images import loader
from plain.training import train_epoch
from randoms import BATCH_SIZE, INFO, plain_images, random_examples
from torch.nn import functional as F
from torch.optim import SGD

from collateral.contract.params import TrainingParams
from collateral.models._build import build_model
from collateral.training.fit import fit
from collateral.training.optimizers import descend
from collateral.training.run import Run

Work = Callable[[], object]
MODEL = "resnet20"
PARAMS = TrainingParams(epochs=1, batch_size=BATCH_SIZE, lr=1e-3)
WORKERS = 2


def plain_epoch(steps: int, size: int) -> Work:
    """Return an epoch of the plain loop, with the threads that torch takes by default."""
    model = build_model(MODEL, INFO)
    images = plain_images(random_examples(steps * size))
    batches = loader(images, None, size, shuffle=True, workers=WORKERS)
    optimizer = SGD(model.parameters(), lr=PARAMS.lr, momentum=0.9, weight_decay=5e-4)
    return lambda: train_epoch(model, batches, optimizer)


def our_epoch(steps: int, size: int) -> Work:
    """Return an epoch of ours on one thread."""
    torch.set_num_threads(1)
    model = build_model(MODEL, INFO).to(memory_format=torch.channels_last)
    examples, params = random_examples(steps * size), PARAMS.model_copy(update={"batch_size": size})
    return lambda: fit(model, examples, examples, params, Run(torch.device("cpu"), seed=0))


def bare_steps(steps: int, size: int) -> Work:
    """Return as many steps of ours on one batch."""
    torch.set_num_threads(1)
    model = build_model(MODEL, INFO).to(memory_format=torch.channels_last).train()
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
        for _ in range(steps):
            descend(optimizer, F.cross_entropy(model(x), y))

    return work


class Crew:
    """Processes that each have the same work, and do it at the same time when told to."""

    def __init__(self, make: Callable[[], Work], count: int) -> None:
        """Start them and let them warm up."""
        context = multiprocessing.get_context("spawn")
        self._ends = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            context.Process(target=_serve, args=(theirs, make)).start()
            theirs.close()  # here, so that a process that fails ends the pipe
            self._ends.append(ours)
        self.work()

    def __enter__(self) -> "Crew":
        """Use it for a while."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send them home."""
        for end in self._ends:
            end.close()

    def work(self) -> Seconds:
        """Let all of them work; return the wall's seconds and the sum of theirs."""
        seconds: list[Seconds] = []

        def together() -> None:
            for end in self._ends:
                end.send(True)
            seconds.extend(end.recv() for end in self._ends)

        return Seconds(timed(together).wall, sum(each.cpu for each in seconds))


def _serve(end: Connection, make: Callable[[], Work]) -> None:
    work = make()
    with suppress(EOFError):  # until the other end is closed
        while end.recv():
            end.send(timed(work))


def whole_machine(steps: int, size: int, repeats: int) -> Row:
    """Compare images a second: the plain loop alone, and ours on every core."""
    cores = cpu_count() or 1
    theirs, of_ours = partial(plain_epoch, steps * cores, size), partial(our_epoch, steps, size)
    with Crew(theirs, 1) as plain, Crew(of_ours, cores) as ours:
        pairs = [(plain.work(), ours.work()) for _ in range(repeats)]
    images = steps * cores * size
    rates = [images / min(side[i].wall for side in pairs) for i in range(2)]
    note = f"plain {rates[0]:.0f}, ours {rates[1]:.0f} images a second"
    what = f"training {MODEL}, machine busy: plain loop / ours"
    return ratio(what, *zip(*pairs, strict=True), at_least=1.4, note=note)


def limit(steps: int, size: int, repeats: int) -> Row:
    """Compare an epoch with as many bare steps."""
    contestants = {"bare": bare_steps(steps, size), "ours": our_epoch(steps, size)}
    seconds = in_turns(contestants, repeats)
    what = f"training {MODEL}: share of the hardware limit (bare step / ours)"
    return ratio(what, seconds["bare"], seconds["ours"], at_least=0.97)


def measure(quick: bool) -> list[Row]:
    """Compare with the plain loop, then with the bare step."""
    steps, size, repeats = (1, 4, 1) if quick else (8, BATCH_SIZE, 5)
    return [whole_machine(steps, size, min(repeats, 3)), limit(steps, size, repeats)]


if __name__ == "__main__":
    run(measure, __doc__)
