"""Batches from memory against a DataLoader, and a training step against a bare one, in one process.

    python benchmarks/bench_training.py [--images 10000] [--steps 8] [--repeats 5]

Random 32x32x3 images, cropped after padding by 4 and flipped. Ours has one thread and no workers;
the DataLoader has torchvision's per-image transforms and two workers. The contestants take turns in
each repeat, and a ratio is of two neighbours. CPU seconds, workers' included, tell what is left for
training; on a busy machine they also vary less than seconds of the wall.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from os import times
from statistics import median

import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from collateral.config.schema import TrainingParams
from collateral.core.dataset import ImageInfo
from collateral.models.build import build_model
from collateral.training.examples import Examples, Images
from collateral.training.fit import fit
from collateral.training.run import Run

CPU = torch.device("cpu")
INFO = ImageInfo(num_classes=100, shape=(32, 32, 3), mean=(0.5,) * 3, std=(0.25,) * 3)
PADDING = 4
BATCH_SIZE = 128
WORKERS = 2


@dataclass(frozen=True)
class Seconds:
    """How long something took: on the wall, and on all CPUs together."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Seconds:
    """Run `work`; processes that it started and joined count for the CPU."""
    before = times()
    work()
    after = times()
    return Seconds(after.elapsed - before.elapsed, sum(after[:4]) - sum(before[:4]))


def random_examples(count: int) -> Examples:
    """Draw images, in a frame of zeros as the engine keeps them, and labels."""
    height, width, channels = INFO.shape
    padded = torch.zeros(count, height + 2 * PADDING, width + 2 * PADDING, channels).byte()
    inside = padded[:, PADDING:-PADDING, PADDING:-PADDING]
    inside.copy_(torch.randint(256, inside.shape, dtype=torch.uint8))
    labels = torch.randint(INFO.num_classes, (count,))
    return Examples(Images(padded, PADDING, flip=True), torch.arange(count), labels)


class OneByOne(Dataset[tuple[Tensor, int]]):
    """The same images as torchvision's data sets give them."""

    def __init__(self, examples: Examples) -> None:
        """Take the images out of their frame."""
        self._pixels = examples.images.padded[:, PADDING:-PADDING, PADDING:-PADDING].numpy()
        self._labels = examples.labels.tolist()
        crop = transforms.RandomCrop(INFO.shape[0], padding=PADDING)
        steps = [crop, transforms.RandomHorizontalFlip(), transforms.ToTensor()]
        self._augment = transforms.Compose(steps)

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        """Return one augmented image and its label."""
        return self._augment(Image.fromarray(self._pixels[index])), self._labels[index]


def compare_pipelines(count: int, repeats: int) -> None:
    """Print images a second of both, and their ratios."""
    examples = random_examples(count)
    loader = DataLoader(OneByOne(examples), BATCH_SIZE, shuffle=True, num_workers=WORKERS)
    generator = torch.Generator()

    def ours() -> None:
        for _ in examples.batches(BATCH_SIZE, generator):
            pass

    def theirs() -> None:
        for _ in loader:
            pass

    pairs = _in_turns(theirs, ours, repeats)
    for clock in ("wall", "cpu"):
        rates = [
            count / median(getattr(s, clock) for s in side) for side in zip(*pairs, strict=True)
        ]
        print(f"DataLoader {rates[0]:,.0f}, ours {rates[1]:,.0f} images a second of {clock}")
    _print_ratios("DataLoader's seconds over ours", pairs)


def compare_steps(steps: int, repeats: int) -> None:
    """Print how much longer an epoch of `fit` takes than as many bare steps on one batch."""
    examples = random_examples(steps * BATCH_SIZE)
    model = build_model("resnet20", INFO).to(memory_format=torch.channels_last).train()
    optimizer = SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    x, y = next(examples.batches(BATCH_SIZE, torch.Generator()))
    params = TrainingParams(epochs=1, batch_size=BATCH_SIZE, lr=1e-3)

    def bare() -> None:
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    def ours() -> nn.Module:
        return fit(model, examples, examples, params, Run(CPU, seed=0))

    pairs = _in_turns(ours, bare, repeats)
    rate = steps * BATCH_SIZE / median(ours.cpu for ours, _ in pairs)
    print(f"resnet20, {steps} steps of {BATCH_SIZE}: {rate:,.0f} images a second of cpu")
    _print_ratios("an epoch of `fit` over bare steps", pairs)


def _in_turns(
    one: Callable[[], object], other: Callable[[], object], repeats: int
) -> list[tuple[Seconds, Seconds]]:
    for warm_up in (one, other):
        warm_up()
    return [(timed(one), timed(other)) for _ in range(repeats)]


def _print_ratios(what: str, pairs: list[tuple[Seconds, Seconds]]) -> None:
    for clock in ("wall", "cpu"):
        ratios = [getattr(one, clock) / getattr(other, clock) for one, other in pairs]
        spread = f"from {min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{what}, {clock}: {median(ratios):.2f} (median), {spread}")


def main() -> None:
    """Compare input pipelines, then steps."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=10_000, help="images in an epoch of input")
    parser.add_argument("--steps", type=int, default=8, help="training steps in an epoch")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    compare_pipelines(args.images, args.repeats)
    compare_steps(args.steps, args.repeats)


if __name__ == "__main__":
    main()
