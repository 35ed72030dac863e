"""A first config for a folder of images: as many seeds, epochs and pixels as fit the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from collateral.config.load import load
from collateral.config.names import slug
from collateral.data._reading.decoding import look_at, looks_of, spread
from collateral.data._reading.listing import TESTS, TRAIN, Tree, tree_of
from collateral.data._reading.test_set import Source
from collateral.data.forget import files, where
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
# Of the command line, by the key of the config that an error names.
OPTIONS = {
    "data.path": "folder",
    "data.table": "--table",
    "data.test_path": "--test",
    "data.test_share": "--test-share",
    "data.train_list": "--forget",
    "data.train_where": "--forget-where",
}


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
    table: Path | None = None  # a CSV file beside the images
    forget_where: where.Params | None = None  # values in the table to forget
    test: Path | None = None  # a folder, or a list of files
    test_share: float | None = None

    @property
    def has_own_test(self) -> bool:
        """Whether the folder has train/ and test/ or val/."""
        parts = [(self.folder / name).is_dir() for name in TESTS]
        return (self.folder / TRAIN).is_dir() and any(parts)

    @property
    def source(self) -> Source:
        """Where the images are, and which are tested on: if drawn, none of those to forget."""
        if self.has_own_test or self.test:
            return Source(self.folder, self.table, self.test, self.test_share)
        stay = self.forget_where
        return Source(
            self.folder,
            self.table,
            test_share=self.test_share or TEST_SHARE,
            test_by=stay.column if stay else None,
            train_list=self.forget,
            train_where=((stay.column, stay.is_),) if stay else (),
        )


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
        data = {"name": "folder", "path": str(wish.folder), "size": self.size, **self._options()}
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

    def _options(self) -> dict[str, Any]:
        """Return the options of the data set on its table and its test set."""
        source = self.wish.source
        named = {key: getattr(source, key) for key in ("table", "test_path", "train_list")}
        told: dict[str, Any] = {key: str(path) for key, path in named.items() if path}
        told |= {"test_share": source.test_share} if source.test_share else {}
        told |= {"test_by": source.test_by} if source.test_by else {}
        stay = {column: [*values] for column, values in source.train_where}
        return told | ({"train_where": stay} if stay else {})

    def forgotten(self) -> dict[str, Any]:
        """Return what is forgotten: the list, values in the table, or a part of the first class."""
        wish, forget = self.wish, dict[str, Any]()
        if wish.forget:
            forget = {"kind": "files", "path": str(wish.forget)}
        if wish.forget_where:
            forget = {"kind": "where", **wish.forget_where.model_dump(mode="json", by_alias=True)}
        if forget:
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
    """List the folder; errors name the options of the command line."""
    try:
        return tree_of(wish.source)
    except ValueError as error:
        key, _, problem = str(error).partition(": ")
        raise ValueError(f"{OPTIONS.get(key, key)}: {problem}") from None


def unreadable(tree: Tree) -> dict[str, str]:
    """Return which of some files, spread over all, cannot be read, and why."""
    some = spread([*zip(tree.train, tree.locations, strict=False)], NUM_LOOKED_AT)
    found = {file.path: look_at(path) for file, path in some}
    return {path: problem for path, problem in found.items() if isinstance(problem, str)}


def _num_forget(wish: Wish, tree: Tree) -> int:
    """Return how many train images are to be forgotten; refuse none, and all of them."""
    columns = tree.columns(tree.train)
    count, option = int(FRACTION * tree.counts(tree.train)[0]), "--forget"
    try:
        if wish.forget:
            tested = [file.path for file in tree.test]
            count = len(files.places(files.Params(path=wish.forget), columns, tested))
        if wish.forget_where:
            option = "--forget-where"
            count = len(where.places(wish.forget_where, columns))
    except ValueError as error:
        raise ValueError(f"{option}: {str(error).partition(': ')[2]}") from None
    if not count:
        name = tree.class_names[0]
        raise ValueError(f"class {name!r} has one image; say with --forget what to forget")
    if count == len(tree.train):
        raise ValueError(f"{option}: all {count} train images, none is retained")
    return count


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
