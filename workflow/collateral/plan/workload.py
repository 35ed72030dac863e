"""What the jobs of a benchmark compute and keep: time limits and the estimate read it here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import prod
from typing import Any

from collateral.contract.params import MethodParams
from collateral.contract.work import NOTHING, Sizes, Work, looking, training
from collateral.contract.data import DatasetSize
from collateral.contract.plugins import DATA, FORGET
from collateral.data._facts import size_of
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.models._facts import Facts, facts_of


class Workload:
    """The work of every job of a benchmark that trains, in images by model."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Read nothing yet."""
        self.benchmark = benchmark
        self._sizes: dict[str, Sizes] = {}

    @cached_property
    def size(self) -> DatasetSize:
        """How much data there is; ValueError where the user's files do not tell."""
        options = dict(self.benchmark.config.data)
        name = options.pop("name")
        return size_of(name, DATA.load(name).Options.model_validate(options))

    @property
    def facts(self) -> Facts:
        """What the benchmark's model is like."""
        return facts_of(self.benchmark.config.model, self.size.shape)

    def sizes(self, cell: Cell) -> Sizes:
        """Return what the work of methods on a cell depends on."""
        if cell.name not in self._sizes:
            kind: Any = FORGET.load(cell.forget.kind)
            params = kind.Params.model_validate(dict(cell.forget.params))
            forget = kind.count(self.size, params)
            self._sizes[cell.name] = Sizes(
                retain=self.size.num_train - forget,
                forget=forget,
                classes=self.size.num_classes,
                pixels=prod(self.size.shape),
                weights=self.facts.numbers,
            )
        return self._sizes[cell.name]

    def base(self) -> Work:
        """Return the work of a base model."""
        return self._named(self._fit(self.size.num_train) + self._evaluation)

    def retrain(self, cell: Cell) -> Work:
        """Return the work of a retrained model."""
        return self._named(self._fit(self.sizes(cell).retain) + self._evaluation)

    def diagnose(self, cell: Cell) -> Work:
        """Return the work of teachers on supports of every size."""
        assert cell.diagnosed is not None and self.benchmark.config.support_size is not None
        params, sizes = cell.diagnosed.params, self.benchmark.config.support_size.k
        by_k = {"k_each": None, "min_similarity": None}  # what would replace k
        choices = [params.model_copy(update={"k": size, **by_k}) for size in sizes]
        return self._named(self._prepare(cell, choices))

    def tune(self, cell: Cell, run: RunSpec) -> Work:
        """Return the work of all trials; the defaults are tried too, where they are none."""
        choices = list(run.choices)
        default = run.method.default_trial()
        if default is not None and default not in run.method.trials():
            choices.append(run.method.params(default))
        trials = self._unlearn(cell, choices) + self._evaluation * len(choices)
        return self._named(trials + self._prepare(cell, prepared_by_tuning(cell, run)))

    def run(self, cell: Cell, run: RunSpec, seed: int) -> Work:
        """Return the work of a run: where tuning will choose, the mean over its choices."""
        work = self._unlearn(cell, run.choices) * (1 / len(run.choices)) + self._evaluation
        if run.tracked:
            work += self._evaluation * (getattr(run.params, "epochs", 0) + 1)
        first_seed = seed == self.benchmark.seeds[0]
        prepared = self._prepare(cell, prepared_by_run(cell, run, first_seed=first_seed))
        return self._named(work + prepared * (1 / max(1, len(run.candidates))))

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
        return sum((params.prepare_work(self.sizes(cell)) for params in choices), NOTHING)

    def _unlearn(self, cell: Cell, choices: Iterable[MethodParams]) -> Work:
        return sum((params.unlearn_work(self.sizes(cell)) for params in choices), NOTHING)

    def _named(self, work: Work) -> Work:
        return work.of(self.benchmark.config.model)


def prepared_by_tuning(cell: Cell, run: RunSpec) -> list[MethodParams]:
    """Return the choices for which a tuning job prepares: those that none before it has."""
    makers = cell.tuned_preparations
    return [params for name, params in run.preparations.items() if makers[name] == run.name]


def prepared_by_run(cell: Cell, run: RunSpec, *, first_seed: bool) -> list[MethodParams]:
    """Return the choices for which a run has to prepare itself, should it get one of them."""
    if first_seed and cell.preparing_tunings(run):
        is_made = cell.tuned_preparations
        return [params for name, params in run.preparations.items() if name not in is_made]
    return [] if cell.preparing_run(run) else list(run.preparations.values())
