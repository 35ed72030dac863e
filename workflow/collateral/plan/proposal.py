"""A first config for a folder of images: as many seeds, epochs and pixels as fit the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from collateral.config.load import load
from collateral.config.names import slug
from collateral.data._reading.decoding import looks_of, spread
from collateral.data._reading.file_list import listed_files, spellings
from collateral.data._reading.listing import TESTS, TRAIN, Tree, tree_of
from collateral.plan.estimate.total import estimate
from collateral.plan.rates import Rates

# What is wanted, the best first: enough seeds to tell a difference from chance, then epochs.
SEEDS_AND_EPOCHS = ((5, 30), (5, 20), (3, 30), (3, 20), (3, 12), (2, 10), (1, 10))
SIZES = (224, 160, 128, 96, 64, 48, 32)  # pixels
FAIR_SIZE, FEW_SEEDS = 64, 3
TEST_SHARE = 0.2
FRACTION = 0.5  # of the first class, where nobody says what to forget
NUM_LOOKED_AT = 64
SUPPORT_SHARE = 0.1  # of the retained examples
BATCH_SIZES = (64, 60, 56, 48)


@dataclass(frozen=True)
class Trained:
    """A model of theirs that is trained already, and on images of which mean and spread."""

    weights: str
    mean: list[float]
    std: list[float]


@dataclass(frozen=True)
class Wish:
    """What somebody has, and how long they will wait."""

    folder: Path
    model: str
    forget: Path | None  # a list of files
    trained: Trained | None
    size: int | None  # in pixels, where they know it
    minutes: float
    rates: Rates
    cores: int  # that compute at a time; one GPU
    plugins: tuple[str, ...] = ()
    name: str = ""  # of the benchmark

    @property
    def has_own_test(self) -> bool:
        """Whether the folder has train/ and test/ or val/."""
        parts = [(self.folder / name).is_dir() for name in TESTS]
        return (self.folder / TRAIN).is_dir() and any(parts)


@dataclass(frozen=True)
class Proposal:
    """A config, and what is known of it."""

    wish: Wish
    tree: Tree
    num_forget: int
    size: int
    seeds: int
    epochs: int
    minutes: float = 0.0

    @property
    def name(self) -> str:
        """The benchmark's name: the folder's, if they give none."""
        return self.wish.name or slug(self.wish.folder.resolve().name)

    @property
    def batch_size(self) -> int:
        """One that leaves no single example at the end, which batch norm cannot train on."""
        num_train = len(self.tree.train)
        parts = (num_train, num_train - self.num_forget, self.num_forget)
        return min(BATCH_SIZES, key=lambda size: sum(part % size == 1 for part in parts))

    @property
    def k(self) -> int:
        """How many neighbours LTD's teacher is trained on."""
        num_retain = len(self.tree.train) - self.num_forget
        return min(num_retain, max(50, int(SUPPORT_SHARE * num_retain)))

    def config(self) -> dict[str, Any]:
        """Return what the config says."""
        wish, training = self.wish, {"batch_size": self.batch_size, "augment": False}
        alike = {**training, "epochs": 5}
        data: dict[str, Any] = {"name": "folder", "path": str(wish.folder), "size": self.size}
        if not self.wish.has_own_test:
            data["test_share"] = TEST_SHARE
            data |= {"train_list": str(wish.forget)} if wish.forget else {}
        weights = {}
        if wish.trained:
            weights = {"weights": wish.trained.weights}
            told = {"mean": wish.trained.mean, "std": wish.trained.std}
            data |= {key: values for key, values in told.items() if values}
        benchmark = {
            "data": data,
            "model": wish.model,
            "base": {**weights, **training, "epochs": self.epochs, "lr": 0.05},
            "seeds": [*range(self.seeds)],
            **self.forgotten(),
            "methods": {
                "ft": {**alike, "lr": [0.01, 0.05]},
                "ga": {**alike, "lr": [1e-4, 1e-3]},
                "salun": {**alike, "lr": [0.003, 0.01]},
                "ltd": {**alike, "lr": [3e-4, 1e-3], "k": self.k, "teacher_augment": False},
            },
            "controls": ["original", "ideal"],
            "track": "all",
        }
        plugins = {"plugins": [*wish.plugins]} if wish.plugins else {}
        return {**plugins, "benchmarks": {self.name: benchmark}}

    def forgotten(self) -> dict[str, Any]:
        """Return what is forgotten: the list, or a part of the first class."""
        if self.wish.forget:
            forget = {"kind": "files", "path": str(self.wish.forget)}
            return {"cells": {"withdrawn": {"forget": forget}}}
        return {"classes": [self.tree.class_names[0]], "fractions": [FRACTION]}


def propose(wish: Wish) -> Proposal:
    """Return the best config that fits the time; if none does, the smallest."""
    tree = _tree(wish)
    last = None
    for size, seeds, epochs in _candidates(wish, tree):
        last = _timed(Proposal(wish, tree, _num_forget(wish, tree), size, seeds, epochs))
        if last.minutes <= wish.minutes:
            return last
    assert last, "there is always a candidate"
    return last


def looks(tree: Tree) -> tuple[int, int]:
    """Return the usual width and height of some files, spread over all."""
    seen = looks_of([tree.folder / file.path for file in spread(tree.train, NUM_LOOKED_AT)])
    if not seen:
        raise ValueError(f"{str(tree.folder)!r}: none of its files can be read as an image")
    return int(median(one.width for one in seen)), int(median(one.height for one in seen))


def _tree(wish: Wish) -> Tree:
    if wish.has_own_test:
        return tree_of(wish.folder, None)
    return tree_of(wish.folder, TEST_SHARE, train_list=wish.forget)


def _num_forget(wish: Wish, tree: Tree) -> int:
    if wish.forget:
        return len({spellings(line)[-1] for line in listed_files(wish.forget).values()})
    if count := int(FRACTION * tree.counts(tree.train)[0]):
        return count
    raise ValueError(
        f"class {tree.class_names[0]!r} has one image; say with --forget what to forget"
    )


def _candidates(wish: Wish, tree: Tree) -> Iterator[tuple[int, int, int]]:
    """Yield sizes, seeds and epochs, the best first: few seeds are worse than few pixels."""
    short_side = min(looks(tree))
    sizes = [size for size in SIZES if size <= short_side] or [max(short_side, 4)]
    if wish.size is not None:
        sizes = [wish.size]
    fair = [size for size in sizes if size >= FAIR_SIZE] or sizes[:1]
    enough = [plan for plan in SEEDS_AND_EPOCHS if plan[0] >= FEW_SEEDS]
    yield from ((size, *plan) for size in fair for plan in enough)
    yield from ((size, *plan) for size in sizes for plan in enough if size not in fair)
    yield from ((sizes[-1], *plan) for plan in SEEDS_AND_EPOCHS if plan not in enough)


def _timed(proposal: Proposal) -> Proposal:
    wish = proposal.wish
    total = estimate(load(proposal.config()), wish.rates, wish.cores).total
    seconds = total.gpu_seconds if wish.rates.is_gpu else total.cpu_seconds / wish.cores
    return replace(proposal, minutes=seconds / 60)
