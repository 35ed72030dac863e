"""The sizes of a benchmark, and the parts of which the work of its jobs consists."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from math import ceil, prod, sqrt
from typing import Any

from collateral.contract.batches import num_batches
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.params import MethodParams, TrainedParams
from collateral.contract.plugins import DATA, FORGET
from collateral.contract.work import NO_WORK, Sizes, Work, inference_work, training_work
from collateral.data._metadata import find_size
from collateral.models._metadata import ModelMetadata, find_metadata
from collateral.plan.grid import Benchmark, Cell, RunSpec

SPREAD = 4  # standard deviations that the share of a shadow model may be below the mean


class SizeUnknownError(ValueError):
    """The user's files do not tell how much data there is; the job that reads them will say why."""


class WorkError(ValueError):
    """A method, perhaps the user's own, does not say what it computes."""


class Workload:
    """The sizes of data, forget sets and model, and the work of training, in images by model."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Read nothing yet."""
        self.benchmark = benchmark
        self._sizes: dict[str, Sizes] = {}

    @cached_property
    def size(self) -> DatasetSize:
        """The size of the data set."""
        name = str(self.benchmark.config.data["name"])
        try:
            return find_size(name, data_options(self.benchmark))
        except ValueError as error:
            raise SizeUnknownError(str(error)) from None

    @property
    def facts(self) -> ModelMetadata:
        """The size and speed of the benchmark's model."""
        return find_metadata(self.benchmark.config.model, self.size.shape)

    def sizes(self, cell: Cell) -> Sizes:
        """Return the sizes of a cell, which the work of methods depends on."""
        if cell.name not in self._sizes:
            forget = self._num_forgotten(cell)
            self._sizes[cell.name] = Sizes(
                retain=self.size.num_train - forget,
                forget=forget,
                classes=self.size.num_classes,
                pixels=prod(self.size.shape),
                weights=self.facts.numbers,
            )
        return self._sizes[cell.name]

    def least_retained(self, cell: Cell) -> int:
        """Return how many examples every shadow model has to retain, but for very bad luck."""
        retained, share = self.sizes(cell).retain, self.benchmark.pool.share
        return int(share * retained - SPREAD * sqrt(share * (1 - share) * retained))

    def _num_forgotten(self, cell: Cell) -> int:
        kind: Any = FORGET.load(cell.forget.kind)
        params = kind.Params.model_validate(dict(cell.forget.params))
        size = self.size
        try:
            return int(kind.count(size, params))
        except ValueError as error:
            raise SizeUnknownError(str(error)) from None

    def fit(self, examples: int) -> Work:
        """Return the work of training from scratch, with the choice of the epoch."""
        base = self.benchmark.config.base
        if base.checkpoint == "best_test":
            return (training_work(examples) + inference_work(sum(self.size.test))) * base.epochs
        if base.checkpoint == "best_validation":
            held_out = base.validation_share * examples
            return (training_work(examples - held_out) + inference_work(held_out)) * base.epochs
        return training_work(examples) * base.epochs

    @property
    def evaluation(self) -> Work:
        """A forward pass over all examples, which ends every run."""
        return inference_work(self.size.num_examples)

    def prepare(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        """Return the work of the first phase of a method with each of these parameters."""
        return self.sum_work("prepare_work", choices, self.sizes(cell))

    def unlearn(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        """Return the work of unlearning with each of these parameters."""
        return self.sum_work("unlearn_work", choices, self.sizes(cell))

    def sum_work(self, function: str, choices: Iterable[MethodParams], sizes: Sizes) -> Work:
        """Return the sum of what a function of the parameters returns."""
        return sum((_method_work(params, function, sizes) for params in choices), NO_WORK)


def num_tracked(run: RunSpec, sizes: Sizes) -> int:
    """Return how many models of a tracked run are looked at, at most: the base, and each epoch's.

    Tuning may choose the longest.
    """
    return 1 + max(_num_epochs(params, sizes) for params in run.choices)


def _num_epochs(params: MethodParams, sizes: Sizes) -> int:
    steps = getattr(params, "steps", None)
    # Steps that may be null stand in for epochs; those of an attack do not.
    if not isinstance(params, TrainedParams) or steps is None or not _may_be_null(params, "steps"):
        return int(getattr(params, "epochs", 1))
    epoch = _method_work(
        params.model_copy(update={"epochs": 1, "steps": None}), "unlearn_work", sizes
    )
    batches = num_batches(int(sum(epoch.trained.values())), params.batch_size)
    return ceil(int(steps) / max(1, batches))


def _may_be_null(params: MethodParams, key: str) -> bool:
    return type(params).model_fields[key].default is None


def data_options(benchmark: Benchmark) -> DataOptions:
    """Return the options of a benchmark's data set."""
    module: Any = DATA.load(benchmark.config.data["name"])
    options: DataOptions = module.Options.model_validate(benchmark.config.data_options)
    return options


@cache
def workload_of(benchmark: Benchmark) -> Workload:
    """Return the workload of a benchmark, whose files are read once."""
    return Workload(benchmark)


def _method_work(params: MethodParams, function: str, sizes: Sizes) -> Work:
    """Return the work of a method, which may be a user's own."""
    where = f"{type(params).__module__}: {function}"
    try:
        work = getattr(params, function)(sizes)
    except Exception as error:
        raise WorkError(f"{where} raised {type(error).__name__}: {error}") from error
    if not isinstance(work, Work):
        raise WorkError(f"{where} returned {work!r}; expected Work")
    return work
