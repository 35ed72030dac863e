"""Measure the level and the power of the atlas's tests where the truth is known.

    python benchmarks/atlas_level.py > docs/data/atlas-level.csv

Matrices of damage are made of habits of emitters and receivers, noise over seeds and, for power,
similarity. In the worlds with hubs, some classes are similar to many others and are also easy to
hurt: no damage depends on which pair it is, but plain permutation (Mantel's test) finds it so.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from itertools import permutations
from math import factorial

import numpy as np

from collateral.metrics import emitters
from collateral.metrics.arrays import Floats

SEEDS, IMAGES = 5, 45
HARM, NUM_HURT = 0.15, 3
NUM_FEATURES = 8  # dimension of the made-up class means


def make_similarity(size: int, hubs: Floats, rng: np.random.Generator) -> Floats:
    """Return cosines of class means; hubs lie nearer to the common centre of all classes."""
    centre = np.ones(NUM_FEATURES)
    means = centre + rng.normal(size=(size, NUM_FEATURES)) * (2.0 - 1.8 * hubs)[:, None]
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return means @ means.T


def make_world(
    size: int, slope: float, rng: np.random.Generator, *, has_hubs: bool
) -> tuple[Floats, Floats]:
    """Return damage (emitters, receivers, seeds) in accuracy, and the similarity of classes."""
    hubs = rng.random(size) if has_hubs else np.full(size, 0.5)
    similarity = make_similarity(size, hubs, rng)
    strength = 0.10 * rng.random(size)
    weakness = 0.20 * (hubs if has_hubs else rng.random(size))
    pairs = 0.02 * rng.normal(size=(size, size, 1))  # damage of a pair that no similarity explains
    noise = 0.02 * rng.normal(size=(size, size, SEEDS))
    damage = strength[:, None, None] + weakness[None, :, None] + pairs + noise
    return damage + slope * similarity[..., None], similarity


def mantel_p(
    damage: Floats, similarity: Floats, rng: np.random.Generator, count: int = 999
) -> float:
    """Return the p-value of plain joint permutation of classes (Mantel's test).

    It is exact if there are at most `count` permutations.
    """
    size = len(damage)
    used = emitters.off_diagonal(size)

    def correlation(order: np.ndarray) -> float:
        return float(np.corrcoef(damage[used], similarity[np.ix_(order, order)][used])[0, 1])

    is_complete = factorial(size) <= count
    every = map(np.array, permutations(range(size)))
    orders = every if is_complete else (rng.permutation(size) for _ in range(count))
    found = np.abs([correlation(order) for order in orders])
    hits = np.count_nonzero(found >= abs(correlation(np.arange(size))) - emitters.LAST_BITS)
    return hits / len(found) if is_complete else (1 + hits) / (count + 1)


def measure_tests(wanted: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the share of worlds in which each test rejects at 5 %."""
    rng, repeats = np.random.default_rng(29), wanted.worlds
    for size in wanted.classes:
        for has_hubs in (False, True):
            for slope in wanted.slopes:
                own, plain, covers = [], [], []
                for _ in range(repeats):
                    damage, similarity = make_world(size, slope, rng, has_hubs=has_hubs)
                    mean = damage.mean(axis=-1)
                    stack = np.repeat(similarity[..., None], SEEDS, axis=-1)
                    found = emitters.find_slope(damage, stack, rng)
                    own.append(found.p < 0.05)
                    plain.append(mantel_p(mean, similarity, rng) < 0.05)
                    covers.append(found.low <= slope <= found.high)
                place = {"classes": size, "hubs": has_hubs, "slope": slope, "worlds": repeats}
                yield {**place, "test": "semi-partialling", "rejected": np.mean(own)}
                yield {**place, "test": "mantel", "rejected": np.mean(plain)}
                yield {**place, "test": "interval over seeds covers", "rejected": np.mean(covers)}


def draw_accuracies(
    rate: Floats, spread: Floats, rng: np.random.Generator, harm: float = 0.0
) -> Floats:
    """Return accuracies of counted test images (emitters, receivers, seeds).

    Accuracies differ by receiver, and so does their spread over seeds. With `harm`, the first
    emitter hurts the next three classes.
    """
    size = len(rate)
    noise = spread[None, :, None] * rng.normal(size=(size, size, SEEDS))
    mean = np.broadcast_to(rate[None, :, None], noise.shape).copy()
    mean[0, 1 : 1 + NUM_HURT] -= harm
    return rng.binomial(IMAGES, np.clip(mean + noise, 0, 1)) / IMAGES


def measure_entries(wanted: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield how often entries are found by error where no method differs from Retrain.

    The accuracies are counts of 45 test images per class; classes differ in difficulty, and models
    in how much their accuracy varies over seeds.
    """
    rng, repeats = np.random.default_rng(28), wanted.worlds
    for size in wanted.classes:
        used, step = emitters.off_diagonal(size), np.full(size, 1 / IMAGES)
        any_found, shares, floors, power = [], [], [], []
        for _ in range(repeats):
            rate = np.clip(1 - 0.15 * rng.random(size), 0, 1)
            spread = 0.06 * rng.random(size) ** 2
            retrained, run = (draw_accuracies(rate, spread, rng) for _ in range(2))
            hurt = draw_accuracies(rate, spread, rng, HARM)
            found, harmed = (
                emitters.find_entries(emitters.compare_entries(retrained, one, step, used), used)
                for one in (run, hurt)
            )
            power.append(harmed[0, 1 : 1 + NUM_HURT].mean())
            any_found.append(found.any())
            shares.append(found.sum() / used.sum())
            floors.append(emitters.floor_rate(retrained, used, step))
        place = {"classes": size, "hubs": "", "slope": 0.0, "worlds": repeats}
        yield {**place, "test": "entries: any found", "rejected": np.mean(any_found)}
        yield {**place, "test": "entries: share found", "rejected": np.mean(shares)}
        yield {**place, "test": "floor: share found", "rejected": np.mean(floors)}
        harm = f"entries: share of {NUM_HURT} pairs found that lose {100 * HARM:.0f} points"
        yield {**place, "test": harm, "rejected": np.mean(power)}


MEASURES = {"entries": measure_entries, "similarity": measure_tests}


def main() -> None:
    """Write the shares as CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--slopes", type=float, nargs="+", default=[0.0, 0.06])
    parser.add_argument("--tests", nargs="+", default=[*MEASURES], choices=[*MEASURES])
    wanted = parser.parse_args()
    names = ["classes", "hubs", "slope", "worlds", "test", "rejected"]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    for name in wanted.tests:
        for row in MEASURES[name](wanted):
            writer.writerow({**row, "rejected": f"{row['rejected']:.4f}"})
            sys.stdout.flush()


if __name__ == "__main__":
    main()
