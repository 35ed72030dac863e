"""What the jobs of a benchmark compute: time limits and the estimate read it here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property
from math import ceil, prod, sqrt
from typing import Any

from collateral.contract.batches import num_batches
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.params import MethodParams, TrainedParams
from collateral.contract.plugins import DATA, FORGET
from collateral.contract.work import NOTHING, Sizes, Work, looking, training
from collateral.data._facts import size_of
from collateral.models._facts import Facts, facts_of
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.preparation import preparations_of

SPREAD = 4  # standard deviations that the share of a shadow model may be below the mean


class SizeUnknownError(ValueError):
    """The user's files do not tell how much data there is; the job that reads them will say why."""


class WorkError(ValueError):
    """A method, perhaps the user's own, does not say what it computes."""


class Workload:
    """The work of every job of a benchmark that trains, in images by model."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Read nothing yet."""
        self.benchmark = benchmark
        self._sizes: dict[str, Sizes] = {}
        self._runs: dict[tuple[str, str, bool], Work] = {}  # the same for all seeds but the first

    @cached_property
    def size(self) -> DatasetSize:
        """How much data there is."""
        name = str(self.benchmark.config.data["name"])
        try:
            return size_of(name, data_options(self.benchmark))
        except ValueError as error:
            raise SizeUnknownError(str(error)) from None

    @property
    def facts(self) -> Facts:
        """What the benchmark's model is like."""
        return facts_of(self.benchmark.config.model, self.size.shape)

    def sizes(self, cell: Cell) -> Sizes:
        """Return what the work of methods on a cell depends on."""
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

    def base(self) -> Work:
        """Return the work of a base model; the user's own is only looked at."""
        if self.benchmark.config.base.weights is not None:
            return self._named(self._evaluation * 2)  # its accuracy comes first
        return self._named(self._fit(self.size.num_train) + self._evaluation)

    def retrain(self, cell: Cell) -> Work:
        """Return the work of a retrained model."""
        retrain = self.benchmark.config.retrain
        if retrain and retrain.weights is not None:
            return self._named(self._evaluation * 2)
        return self._named(self._fit(self.sizes(cell).retain) + self._evaluation)

    def given(self) -> Work:
        """Return the work of weights that somebody else unlearned: a look at everything."""
        return self._named(self._evaluation)

    def support_size(self, cell: Cell) -> Work:
        """Return the work of teachers on supports of every size."""
        assert cell.support_sized is not None and self.benchmark.config.support_size is not None
        params, sizes = cell.support_sized.params, self.benchmark.config.support_size.k
        by_k = {"k_each": None, "min_similarity": None}  # what would replace k
        choices = [params.model_copy(update={"k": size, **by_k}) for size in sizes]
        return self._named(self._prepare(cell, choices))

    def probe(self, cell: Cell) -> Work:
        """Return the work of using all models of a seed once more."""
        assert self.benchmark.config.probe is not None
        return self._named(self.benchmark.config.probe.work(self.sizes(cell), len(cell.probed)))

    def teacher(self, cell: Cell) -> Work:
        """Return the work of the teacher that tuning asks."""
        assert cell.teacher is not None
        return self._named(self._prepare(cell, [cell.teacher.params]))

    def shadow(self) -> Work:
        """Return the work of a shadow model; its margins are of the train set alone."""
        seen = round(self.benchmark.pool.share * self.size.num_train)
        return self._named(self._fit(seen) + looking(self.size.num_train))

    def expose(self, cell: Cell, run: RunSpec) -> Work:
        """Return the work of unlearning from all shadow models, each of its share."""
        whole, pool = self.sizes(cell), self.benchmark.pool
        of_share = {key: round(pool.share * getattr(whole, key)) for key in ("retain", "forget")}
        sizes = replace(whole, **of_share)
        work = looking(self.size.num_train) * len(run.choices)
        for params in run.choices:
            work += _asked(params, "unlearn_work", sizes)
            if run.preparations:
                work += _asked(params, "prepare_work", sizes)
        return self._named(work * (pool.count / len(run.choices)))

    def least_retained(self, cell: Cell) -> int:
        """Return how many examples every shadow model has to retain, but for very bad luck."""
        retained, share = self.sizes(cell).retain, self.benchmark.pool.share
        return int(share * retained - SPREAD * sqrt(share * (1 - share) * retained))

    def tune(self, cell: Cell, run: RunSpec) -> Work:
        """Return the work of all trials."""
        trials = self._unlearn(cell, run.tried) + self._evaluation * len(run.tried)
        made = preparations_of(cell).of_tuning(run).made
        return self._named(trials + self._prepare(cell, made))

    def run(self, cell: Cell, run: RunSpec, seed: int) -> Work:
        """Return the work of a run: where tuning will choose, the mean over its choices."""
        key = (cell.name, run.name, seed == self.benchmark.seeds[0])
        if key not in self._runs:
            self._runs[key] = self._run(cell, run, is_first_seed=key[2])
        return self._runs[key]

    def _run(self, cell: Cell, run: RunSpec, *, is_first_seed: bool) -> Work:
        work = self._unlearn(cell, run.choices) * (1 / len(run.choices)) + self._evaluation
        if run.tracked:
            work += self._evaluation * num_tracked(run, self.sizes(cell))
        made = preparations_of(cell).of_run(run, is_first_seed=is_first_seed).made
        return self._named(work + self._prepare(cell, made) * (1 / max(1, len(run.preparations))))

    def _num_forgotten(self, cell: Cell) -> int:
        kind: Any = FORGET.load(cell.forget.kind)
        params = kind.Params.model_validate(dict(cell.forget.params))
        size = self.size
        try:
            return int(kind.count(size, params))
        except ValueError as error:
            raise SizeUnknownError(str(error)) from None

    def _fit(self, examples: int) -> Work:
        """Return the work of training from scratch, with the choice of the epoch."""
        base = self.benchmark.config.base
        if base.checkpoint == "best_test":
            return (training(examples) + looking(sum(self.size.test))) * base.epochs
        if base.checkpoint == "best_validation":
            held_out = base.validation_share * examples
            return (training(examples - held_out) + looking(held_out)) * base.epochs
        return training(examples) * base.epochs

    @property
    def _evaluation(self) -> Work:
        """The look at everything that ends a run."""
        return looking(self.size.num_examples)

    def _prepare(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        sizes = self.sizes(cell)
        return sum((_asked(params, "prepare_work", sizes) for params in choices), NOTHING)

    def _unlearn(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        sizes = self.sizes(cell)
        return sum((_asked(params, "unlearn_work", sizes) for params in choices), NOTHING)

    def _named(self, work: Work) -> Work:
        return work.of(self.benchmark.config.model)


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
    epoch = _asked(params.model_copy(update={"epochs": 1, "steps": None}), "unlearn_work", sizes)
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


def _asked(params: MethodParams, function: str, sizes: Sizes) -> Work:
    """Ask a method, which may be a user's own, for its work."""
    where = f"{type(params).__module__}: {function}"
    try:
        work = getattr(params, function)(sizes)
    except Exception as error:
        raise WorkError(f"{where} raised {type(error).__name__}: {error}") from error
    if not isinstance(work, Work):
        raise WorkError(f"{where} returned {work!r}; expected Work")
    return work
