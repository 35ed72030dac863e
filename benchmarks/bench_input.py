"""The input pipeline: batches from memory on one thread against a DataLoader with two workers.

    python benchmarks/bench_input.py [--quick]

Random 32x32x3 images, cropped after padding by 4 and flipped, as an epoch of shuffled batches.
"""

import torch
from measure import Row, in_turns, ratio, run
from plain.images import loader
from randoms import BATCH_SIZE, plain_images, random_examples

WORKERS = 2


def measure(quick: bool) -> list[Row]:
    """Compare an epoch of both."""
    count, repeats = (256, 1) if quick else (10_000, 5)
    torch.set_num_threads(1)
    examples = random_examples(count)
    theirs = loader(plain_images(examples), None, BATCH_SIZE, shuffle=True, workers=WORKERS)
    generator = torch.Generator()

    def plain() -> None:
        for _ in theirs:
            pass

    def ours() -> None:
        for _ in examples.batches(BATCH_SIZE, generator):
            pass

    seconds = in_turns({"plain": plain, "ours": ours}, repeats)
    rate = count / min(second.wall for second in seconds["ours"])
    note = f"ours on one thread: {rate:,.0f} images a second"
    what = "input pipeline: DataLoader with 2 workers / ours"
    return [ratio(what, seconds["plain"], seconds["ours"], at_least=8, note=note)]


if __name__ == "__main__":
    run(measure, __doc__)
