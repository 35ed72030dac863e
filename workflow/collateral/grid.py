"""From the config to everything that runs: benchmark > cell > seed > run. Pure, and light."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from collateral.config.cells import ForgetSpec, cells_of
from collateral.config.lookup import params_class, prepare_class
from collateral.config.methods import MethodSpec, prepare_values, prepared_name, resolve
from collateral.config.params import MethodParams
from collateral.config.schema import BenchmarkConfig, Config
from collateral.paths import short


@dataclass(frozen=True)
class RunSpec:
    """One run of a method in a cell; a sweep's run varies one parameter."""

    name: str
    method: MethodSpec
    vary: Mapping[str, Any] = field(default_factory=dict)
    tuned_by: str | None = None  # the method whose tuning chooses some of its values

    @property
    def label(self) -> str:
        """Return the name that tables and figures print."""
        varied = ", ".join(f"{key} {short(value)}" for key, value in self.vary.items())
        return f"{self.method.label}, {varied}" if varied else self.method.label

    @property
    def needs_retrain(self) -> bool:
        """Tell whether it is a control that is given Retrain's soft labels."""
        return params_class(self.method.uses).needs_retrain

    @cached_property
    def params(self) -> MethodParams:
        """The parameters as far as the config tells: tuned ones have their first value."""
        return self._choices[0]

    @cached_property
    def words(self) -> set[str]:
        """The texts among the values that this run may have, such as a teacher's model."""
        values = [value for params in self._choices for value in params.model_dump().values()]
        return {value for value in values if isinstance(value, str)}

    @cached_property
    def _choices(self) -> list[MethodParams]:
        return [self.method.params({**trial, **self.vary}) for trial in self.method.trials()]

    @cached_property
    def candidates(self) -> dict[str, MethodParams]:
        """Return the prepared folders that this run may need, one for each possible choice."""
        if prepare_class(self.method.uses) is None:
            return {}
        return {prepared_name(self.method.uses, params): params for params in self._choices}

    def prepare_values(self, prepared: str) -> dict[str, Any]:
        """Return the values that `prepare` reads for one of the candidates."""
        return prepare_values(self.method.uses, self.candidates[prepared])


class Cell:
    """A forget set of a benchmark and the runs on it."""

    def __init__(self, name: str, forget: ForgetSpec, benchmark: BenchmarkConfig) -> None:
        """Expand methods, controls and sweeps."""
        self.name = name
        self.forget = forget
        self.runs = {run.name: run for run in _runs(name, benchmark)}
        sizes = benchmark.support_size
        is_diagnosed = sizes is not None and (sizes.cells is None or name in sizes.cells)
        # The run whose teacher is trained on supports of every size.
        self.diagnosed = self.runs[sizes.method] if sizes and is_diagnosed else None

    @cached_property
    def tuned(self) -> dict[str, MethodSpec]:
        """Return the methods with something to tune, by name."""
        return {name: run.method for name, run in self.runs.items() if run.tuned_by == name}

    @cached_property
    def preparations(self) -> dict[str, RunSpec]:
        """Return for every prepared folder one of the runs that may need it."""
        return {name: run for run in self.runs.values() for name in run.candidates}

    def shared(self, run: RunSpec, *, first_seed: bool) -> list[str]:
        """Return the prepared folders that a run shares; what nobody shares it makes itself."""
        count = self._consumers[0 if first_seed else 1]
        return [name for name in run.candidates if count[name] > 1]

    @cached_property
    def _consumers(self) -> tuple[Counter[str], Counter[str]]:
        """Count the jobs that need a prepared folder: on the first seed, and on any other."""
        first: Counter[str] = Counter()
        other: Counter[str] = Counter()
        for run in self.runs.values():
            first.update(run.candidates.keys())
            if run.name in self.tuned:
                first.update(run.candidates.keys())
            # Where the choice is open, only the job itself knows which folder it needs.
            if len(run.candidates) == 1:
                other.update(run.candidates.keys())
        return first, other


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, expanded."""

    name: str
    config: BenchmarkConfig
    cells: dict[str, Cell]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds."""
        return self.config.seeds

    def base_seed(self, seed: int) -> int:
        """Return the seed whose base model the runs of `seed` start from."""
        return self.seeds[0] if self.config.base.sharing == "shared" else seed

    def base_seeds(self) -> tuple[int, ...]:
        """Return the seeds for which a base model is trained."""
        return tuple(dict.fromkeys(self.base_seed(seed) for seed in self.seeds))

    def labels(self) -> dict[str, str]:
        """Return the display name of every run, in the config's order."""
        return {run.name: run.label for cell in self.cells.values() for run in cell.runs.values()}


def build_grid(config: Config) -> dict[str, Benchmark]:
    """Return all benchmarks with their cells and runs."""
    return {
        name: Benchmark(
            name,
            benchmark,
            {cell: Cell(cell, forget, benchmark) for cell, forget in cells_of(benchmark).items()},
        )
        for name, benchmark in config.benchmarks.items()
    }


def _runs(cell: str, benchmark: BenchmarkConfig) -> Iterator[RunSpec]:
    overrides = benchmark.cells[cell].methods if cell in benchmark.cells else {}
    specs = {
        name: resolve(name, {**raw, **overrides.get(name, {})}, ("methods", name))
        for name, raw in benchmark.methods.items()
    }
    for spec in specs.values():
        yield RunSpec(spec.name, spec, tuned_by=spec.name if spec.grid else None)
    for name in benchmark.controls:
        yield _control(name, specs)
    for sweep in benchmark.sweeps.values():
        if sweep.cells is None or cell in sweep.cells:
            key, values = next(iter(sweep.vary.items()))
            yield from _sweep(specs[sweep.method], key, values)


def _control(name: str, specs: Mapping[str, MethodSpec]) -> RunSpec:
    """Return a control's run, with the parameters of the method that it inherits from."""
    params = params_class(name)
    parents = [spec for spec in specs.values() if spec.uses == params.inherits]
    if not parents:
        return RunSpec(name, MethodSpec(name, name, {}, {}))
    parent = specs.get(str(params.inherits), parents[0])
    fixed = {key: value for key, value in parent.fixed.items() if key in params.model_fields}
    tuned_by = parent.name if parent.grid else None
    return RunSpec(name, MethodSpec(name, name, fixed, {}), tuned_by=tuned_by)


def _sweep(spec: MethodSpec, key: str, values: list[Any]) -> Iterator[RunSpec]:
    """Yield a run for each value but the method's own, which is a run already."""
    own = spec.values()[key]
    tuned_by = spec.name if spec.grid else None
    for value in (spec.values({key: given})[key] for given in values):
        if key in spec.grid or value != own:
            yield RunSpec(f"{spec.name}@{key}={short(value)}", spec, {key: value}, tuned_by)
