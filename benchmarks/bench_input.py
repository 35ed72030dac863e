"""Speed of the input pipeline: batches from memory against a DataLoader with two workers.

    python benchmarks/bench_input.py [--quick]

One epoch of shuffled batches of random 32x32x3 images, cropped after padding by 4 and flipped. A
second comparison: images that stay on disk (in the page cache) against images in memory.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from measure import Row, in_turns, ratio, run
from plain.data import BATCH_SIZE, loader, plain_images, random_examples

from collateral.results.arrays import map_array
from collateral.training.examples import Examples

WORKERS = 2


def on_disk(examples: Examples, file: Path) -> Examples:
    """Return the same examples with images that are mapped from a file."""
    np.savez(file, pixels=examples.images.pixels.numpy())
    pixels = torch.from_numpy(map_array(file, "pixels"))
    return replace(examples, images=replace(examples.images, pixels=pixels))


def measure(quick: bool) -> list[Row]:
    """Compare one epoch of each pipeline."""
    count, repeats = (256, 1) if quick else (10_000, 5)
    torch.set_num_threads(1)
    examples = random_examples(count)
    theirs = loader(plain_images(examples), None, BATCH_SIZE, shuffle=True, workers=WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        paged = on_disk(examples, Path(folder) / "images.npz")
        flows = {"plain": lambda: drain(theirs)}
        for name, ours in (("ours", examples), ("on disk", paged)):
            flows[name] = lambda ours=ours: drain(ours.batches(BATCH_SIZE, torch.Generator()))
        seconds = in_turns(flows, repeats)
    rate = count / min(second.wall for second in seconds["ours"])
    note = f"ours on one thread: {rate:,.0f} images a second"
    what = "input pipeline: DataLoader with 2 workers / ours"
    from_disk = "input pipeline: images on disk / in memory"
    return [
        ratio(what, seconds["plain"], seconds["ours"], at_least=8, note=note),
        ratio(from_disk, seconds["on disk"], seconds["ours"], at_most=1.2),
    ]


def drain(batches: Iterable[object]) -> None:
    """Iterate over all batches without using them."""
    for _ in batches:
        pass


if __name__ == "__main__":
    run(measure, __doc__)
