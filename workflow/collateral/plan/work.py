"""Sizes of a benchmark's data and model; amount of computation and disk space of its jobs."""

from collections.abc import Iterable
from functools import cache, cached_property
from math import prod, sqrt
from typing import Any

from collateral.contract.conventions import OF_MODEL
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.params import MethodParams
from collateral.contract.work import NO_WORK, Sizes, Work, inference_work, training_work
from collateral.data._metadata import find_size
from collateral.models._metadata import ModelMetadata, find_metadata, find_normalisation
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plugins.find import DATA, FORGET

SPREAD = 4  # number of standard deviations that `least_retained` subtracts from the mean
LABEL_BYTES, FLOAT_BYTES = 8, 4  # bytes of an int64 label, and of a float32 number
# Bytes in outputs.npz: of a float16 logit, and of an example's confidence and prediction.
LOGIT_BYTES, OUTPUT_BYTES = 2, 4 + 8
# Bytes per example with more than 256 classes: ten logits, their classes, a sum of other logits.
MANY_CLASSES, SHORT_BYTES = 256, 10 * (2 + 2) + 2
TRACKED_BYTES = 4 + 2  # bytes per example and epoch in epochs.npz: confidence and prediction
BLOCK = 4096  # bytes on disk that even the smallest file takes
# Number of small files of a run: history, record, cost, log, and Snakemake's metadata.
RUN_BLOCKS = 4 + 5


class SizeUnknownError(ValueError):
    """The size of the data is unknown; the job that reads the data reports the reason."""


class WorkError(ValueError):
    """Raised if the function `unlearn_work` or `prepare_work` of a method fails."""


class Workload:
    """Sizes of a benchmark's data, forget sets and model, and the cost of its jobs in images."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Store the benchmark; files are read only when a size is needed."""
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
        """Metadata of the benchmark's model, such as its number of weights."""
        return find_metadata(self.benchmark.config.model, self.size.shape)

    def sizes(self, cell: Cell) -> Sizes:
        """Return the numbers of retained and forgotten examples of a cell, and other sizes."""
        if cell.name not in self._sizes:
            forget = self._num_forgotten(cell)
            # Forget sets of several rounds may overlap, so only the largest one is subtracted.
            before = [self.benchmark.cells[name] for name in cell.forget.earlier]
            self._sizes[cell.name] = Sizes(
                retain=self.size.num_train - max(forget, *map(self._num_forgotten, before), 0),
                forget=forget,
                classes=self.size.num_classes,
                pixels=prod(self.size.shape),
                weights=self.facts.numbers,
            )
        return self._sizes[cell.name]

    def least_retained(self, cell: Cell) -> int:
        """Return a lower bound on the number of retained examples in a shadow model's training."""
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
        """Return the amount of computation of training with the settings of `base:`."""
        return training_work(self.benchmark.config.base.epochs * examples)

    @property
    def evaluation(self) -> Work:
        """Amount of computation of a forward pass over all examples, at the end of every run."""
        return inference_work(self.size.num_examples)

    def prepare(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        """Return the computation of `prepare`, summed over the parameter sets in `choices`."""
        return self._sum_work("prepare_work", cell, choices)

    def unlearn(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        """Return the computation of `unlearn`, summed over the parameter sets in `choices`."""
        return self._sum_work("unlearn_work", cell, choices)

    def _sum_work(self, function: str, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        """Return the sum of `unlearn_work` or `prepare_work` over several sets of parameters."""
        total, sizes = NO_WORK, self.sizes(cell)
        for params in choices:
            try:
                total += getattr(params, function)(sizes)
            except Exception as error:
                where = f"{type(params).__module__}: {function}"
                raise WorkError(f"{where} raised {type(error).__name__}: {error}") from error
        return total

    def num_tracked(self, cell: Cell, run: RunSpec) -> int:
        """Return how many models a tracked run evaluates: the base model, and one per epoch."""
        sizes = self.sizes(cell)
        return 1 + max(params.count_epochs(sizes) for params in run.choices)

    @property
    def run_bytes(self) -> int:
        """Bytes of a run's files: weights, outputs and small files."""
        size = self.size
        is_short = size.num_classes > MANY_CLASSES
        logits = SHORT_BYTES if is_short else LOGIT_BYTES * size.num_classes
        outputs = size.num_examples * (logits + OUTPUT_BYTES)
        return self.facts.bytes(size.num_classes) + outputs + RUN_BLOCKS * BLOCK

    def tracked_bytes(self, cell: Cell, run: RunSpec) -> int:
        """Return the bytes of epochs.npz, which a tracked run writes."""
        return TRACKED_BYTES * self.size.num_examples * self.num_tracked(cell, run)


def data_options(benchmark: Benchmark) -> DataOptions:
    """Return the options of a benchmark's data set."""
    module: Any = DATA.load(benchmark.config.data["name"])
    options: DataOptions = module.Options.model_validate(data_values(benchmark))
    return options


def data_values(benchmark: Benchmark) -> dict[str, Any]:
    """Return the options as in the config; `mean: model` is replaced by the model's numbers."""
    values = benchmark.config.data_options
    if values.get("mean") != OF_MODEL:
        return values
    mean, std = find_normalisation(benchmark.config.model)
    return {**values, "mean": mean, "std": std}


@cache
def find_workload(benchmark: Benchmark) -> Workload:
    """Return the workload of a benchmark; files of the data set are read only once."""
    return Workload(benchmark)
