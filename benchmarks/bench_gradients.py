"""Per-sample gradients against batches of one, and five alphas of IU against one, in one process.

    python benchmarks/bench_gradients.py [--samples 128] [--repeats 5]

ResNet-20 on random images, one thread. Seconds are of the CPU, not of the wall, so that other jobs
on the machine count only by the cache and the cores that they share; all contestants take turns in
each repeat, and a ratio is of two neighbours. `others` is how many cores other processes used.
"""

import copy
import os
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.core.dataset import ImageInfo
from collateral.methods.iu.method import prepare, unlearn
from collateral.methods.iu.params import Params
from collateral.models.build import build_model
from collateral.training.examples import Examples, Images, Task
from collateral.training.gradients import per_sample_gradients, summed_gradient
from collateral.training.run import Run

CHUNK_SIZES = (8, 16, 32, 64)
ALPHAS = (1.0, 2.0, 5.0, 10.0, 20.0)
INFO = ImageInfo(num_classes=100, shape=(32, 32, 3), mean=(0.5,) * 3, std=(0.25,) * 3)


def random_examples(count: int) -> Examples:
    """Draw images and labels."""
    pixels = torch.randint(256, (count, *INFO.shape), dtype=torch.uint8)
    labels = torch.randint(INFO.num_classes, (count,))
    return Examples(Images(pixels, 0, False), torch.arange(count), labels)


def one_by_one(model: nn.Module, examples: Examples) -> Tensor:
    """Return the gradient of every example's loss by a pass of its own."""
    weights = list(model.parameters())
    result = torch.empty(len(examples), sum(weight.numel() for weight in weights))
    for row, (x, y) in zip(result, examples.in_order(1), strict=True):
        parts = torch.autograd.grad(F.cross_entropy(model(x), y), weights)
        torch.cat([part.flatten() for part in parts], out=row)
    return result


def stepped(model: nn.Module, task: Task, mode: str, alphas: tuple[float, ...]) -> None:
    """Run IU with every alpha: one direction, then a step from a copy of the model each."""
    run, params = Run(torch.device("cpu"), seed=0), Params(mode=mode)
    prepared = prepare(model, task, params, run)
    for alpha in alphas:
        chosen = params.model_copy(update={"alpha": alpha})
        unlearn(copy.deepcopy(model), task, chosen, run, prepared)


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds that `work` takes."""
    start = process_time()
    work()
    return process_time() - start


def compare(contestants: dict[str, Callable[[], object]], repeats: int) -> None:
    """Print how many times as fast as the first each other one is, with the spread."""
    rounds = [{name: seconds(work) for name, work in contestants.items()} for _ in range(repeats)]
    first, *rest = contestants
    print(f"{first}: {median(times[first] for times in rounds):.3f} s (median)")
    for name in rest:
        ratios = [times[first] / times[name] for times in rounds]
        taken = median(times[name] for times in rounds)
        print(
            f"{name}: {taken:.3f} s, ratio {median(ratios):.2f} (median), "
            f"from {min(ratios):.2f} to {max(ratios):.2f}"
        )


def busy_seconds() -> float:
    """Return the seconds that all cores together have worked; 0 where the system does not tell."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    ticks = [int(field) for field in stat.read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Compare gradients, then alphas."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=128, help="gradients to compute")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    start, busy, own = perf_counter(), busy_seconds(), process_time()
    model = build_model("resnet20", INFO).eval().to(memory_format=torch.channels_last)
    examples = random_examples(args.samples)
    per_sample_gradients(model, examples)  # the first call imports what torch.func needs
    gradients: dict[str, Callable[[], object]] = {
        "batches of one": lambda: one_by_one(model, examples),
        "one sum, the limit": lambda: summed_gradient(model, examples),
    }
    for size in CHUNK_SIZES:
        gradients[f"chunks of {size}"] = lambda size=size: per_sample_gradients(
            model, examples, size
        )
    compare(gradients, args.repeats)
    task = Task(examples, random_examples(32), INFO)
    for mode in ("public", "exact"):
        alphas = {
            f"IU {mode}, {count} alpha": lambda mode=mode, count=count: stepped(
                model, task, mode, ALPHAS[:count]
            )
            for count in (1, len(ALPHAS))
        }
        compare(alphas, args.repeats)
    wall = perf_counter() - start
    others = (busy_seconds() - busy - (process_time() - own)) / wall
    print(f"others used {others:.1f} cores of {os.cpu_count()}")


if __name__ == "__main__":
    main()
