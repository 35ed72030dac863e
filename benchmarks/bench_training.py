"""Training ResNet-20: the whole machine busy with ours against the plain loop, and the bare step.

    python benchmarks/bench_training.py [--quick]

The plain loop has torch's default threads and a DataLoader with two workers. Ours has one thread
and runs once on every core, side by side, as jobs do. The bare step is forward, backward and
optimiser on a batch that is ready: what is left of it is the share of the hardware's limit.
"""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from os import cpu_count

import torch
from measure import Row, Seconds, in_turns, ratio, run, timed
from plain.images import loader
from plain.training import train_epoch
from randoms import BATCH_SIZE, INFO, plain_images, random_examples
from torch.nn import functional as F
from torch.optim import SGD

from collateral.config.schema import TrainingParams
from collateral.models.build import build_model
from collateral.training.fit import fit
from collateral.training.optimizers import Sgd, descend
from collateral.training.run import Run

MODEL = "resnet20"
PARAMS = TrainingParams(epochs=1, batch_size=BATCH_SIZE, lr=1e-3)
WORKERS = 2


def plain_epoch(steps: int) -> Callable[[], object]:
    """Return an epoch of the plain loop, with the threads that torch takes by default."""
    model = build_model(MODEL, INFO)
    images = plain_images(random_examples(steps * BATCH_SIZE))
    batches = loader(images, None, BATCH_SIZE, shuffle=True, workers=WORKERS)
    optimizer = SGD(model.parameters(), lr=PARAMS.lr, momentum=0.9, weight_decay=5e-4)
    return lambda: train_epoch(model, batches, optimizer)


def our_epoch(steps: int) -> Callable[[], object]:
    """Return an epoch of ours on one thread."""
    torch.set_num_threads(1)
    model = build_model(MODEL, INFO).to(memory_format=torch.channels_last)
    examples = random_examples(steps * BATCH_SIZE)
    return lambda: fit(model, examples, examples, PARAMS, Run(torch.device("cpu"), seed=0))


def bare_steps(steps: int) -> Callable[[], object]:
    """Return as many steps of ours on one batch."""
    torch.set_num_threads(1)
    model = build_model(MODEL, INFO).to(memory_format=torch.channels_last).train()
    optimizer = Sgd(model.parameters(), PARAMS.lr, PARAMS.weight_decay, 0.9, nesterov=True)
    x, y = next(random_examples(BATCH_SIZE).batches(BATCH_SIZE, torch.Generator()))

    def work() -> None:
        for _ in range(steps):
            descend(optimizer, F.cross_entropy(model(x), y))

    return work


class Crew:
    """Processes that each have the same work, and do it at the same time when told to."""

    def __init__(self, make: Callable[[int], Callable[[], object]], steps: int, size: int) -> None:
        """Start them and let them warm up."""
        context = multiprocessing.get_context("spawn")
        self._ends = []
        for _ in range(size):
            ours, theirs = context.Pipe()
            context.Process(target=_serve, args=(theirs, make, steps), daemon=True).start()
            self._ends.append(ours)
        self.work()

    def work(self) -> Seconds:
        """Let all of them work; return the wall's seconds and the sum of theirs."""
        seconds: list[Seconds] = []

        def together() -> None:
            for end in self._ends:
                end.send(True)
            seconds.extend(end.recv() for end in self._ends)

        return Seconds(timed(together).wall, sum(each.cpu for each in seconds))


def _serve(end: Connection, make: Callable[[int], Callable[[], object]], steps: int) -> None:
    work = make(steps)
    while end.recv():
        end.send(timed(work))


def whole_machine(steps: int, repeats: int) -> Row:
    """Compare images a second: the plain loop alone, and ours on every core."""
    cores = cpu_count() or 1
    plain, ours = Crew(plain_epoch, steps * cores, 1), Crew(our_epoch, steps, cores)
    pairs = [(plain.work(), ours.work()) for _ in range(repeats)]
    images = steps * cores * BATCH_SIZE
    rates = [images / min(side[i].wall for side in pairs) for i in range(2)]
    note = f"plain {rates[0]:.0f}, ours {rates[1]:.0f} images a second"
    what = f"training {MODEL}, machine busy: plain loop / ours"
    return ratio(what, *zip(*pairs, strict=True), at_least=1.4, note=note)


def limit(steps: int, repeats: int) -> Row:
    """Compare an epoch with as many bare steps."""
    seconds = in_turns({"bare": bare_steps(steps), "ours": our_epoch(steps)}, repeats)
    what = f"training {MODEL}: share of the hardware limit (bare step / ours)"
    return ratio(what, seconds["bare"], seconds["ours"], at_least=0.97)


def measure(quick: bool) -> list[Row]:
    """Compare with the plain loop, then with the bare step."""
    steps, repeats = (1, 1) if quick else (8, 5)
    return [whole_machine(steps, min(repeats, 3)), limit(steps, repeats)]


if __name__ == "__main__":
    run(measure, __doc__)
