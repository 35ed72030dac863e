"""From the config to everything that runs: benchmark > cell > seed > run. Pure, and light."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from collateral.config.cells import ForgetSpec, list_cells
from collateral.config.methods import MethodSpec, resolve
from collateral.config.names import format_value, format_varied
from collateral.config.schema import ALL, BenchmarkConfig, Config, ShadowsConfig, SweepConfig
from collateral.config.weights import GivenParams
from collateral.contract.params import MethodParams
from collateral.contract.plugins import METHOD, params_class, prepare_class, prepared_name
from collateral.contract.selection import TEACHER
from collateral.contract.showing import default_showing
from collateral.results import layout


@dataclass(frozen=True, eq=False)
class RunSpec:
    """One run of a method in a cell; a sweep's run varies one parameter."""

    name: str
    method: MethodSpec
    vary: Mapping[str, Any] = field(default_factory=dict)
    tuned_by: str | None = None  # the method whose tuning chooses some of its values
    tracked: bool = False  # evaluated after every epoch

    @property
    def label(self) -> str:
        """Return the name that tables and figures print."""
        varied = ", ".join(f"{key} {format_value(value)}" for key, value in self.vary.items())
        return f"{self.method.label}, {varied}" if varied else self.method.label

    @property
    def rule(self) -> str:
        """The rule that runs it: a tracked run has a file more."""
        return "track" if self.tracked else "unlearn"

    @property
    def needs_retrain(self) -> bool:
        """Tell whether it is a control that is given Retrain's soft labels."""
        return params_class(self.method.uses).needs_retrain

    @cached_property
    def params(self) -> MethodParams:
        """The parameters as far as the config tells: tuned ones have their first value."""
        return self.choices[0]

    @cached_property
    def choices(self) -> list[MethodParams]:
        """All parameters that tuning may choose among; one where nothing is tuned."""
        return [self.method.params({**trial, **self.vary}) for trial in self.method.trials()]

    @property
    def is_paced(self) -> bool:
        """Tell whether its epochs depend on how many there are, as they may be chosen."""
        return any(params.is_paced for params in self.choices)

    @cached_property
    def trials(self) -> list[dict[str, Any]]:
        """The tuned values of each trial, as trials.csv numbers them; the defaults come last."""
        trials, default = self.method.trials(), self.method.default_trial()
        return trials if default is None or default in trials else [*trials, default]

    @cached_property
    def tried(self) -> list[MethodParams]:
        """The parameters of each trial."""
        return [self.method.params(trial) for trial in self.trials]

    @cached_property
    def preparations(self) -> dict[str, MethodParams]:
        """What this run may have to prepare, by name: for each possible choice the parameters."""
        return self.prepared(self.choices)

    def prepared(self, choices: Iterable[MethodParams]) -> dict[str, MethodParams]:
        """Return what is prepared for these parameters, by name; nothing if it has one phase."""
        if prepare_class(self.method.uses) is None:
            return {}
        return {prepared_name(self.method.uses, params): params for params in choices}


@dataclass(frozen=True)
class SweepSpec:
    """A method with one parameter varied, in a cell."""

    method: MethodSpec
    key: str
    values: Mapping[str, Any]  # by run, in the config's order; the method's own run among them
    along: Mapping[str, Mapping[str, Any]]  # by run: values of other parameters, which go along
    is_tuned: bool  # tuning chooses the value of the method's own run

    @property
    def labels(self) -> dict[str, str]:
        """What a table calls the values, by run."""
        return {run: self._label(run) for run in self.values}

    def _label(self, run: str) -> str:
        """Return what a table calls a value: what goes along stands beside it."""
        if run == self.method.name and self.is_tuned:
            value = self.method.values()[self.key]
            return (
                "as tuned" if self.key in self.method.grid else f"{format_value(value)}, as tuned"
            )
        others = [f"{key} {format_value(value)}" for key, value in self.along[run].items()]
        return ", ".join([format_value(self.values[run]), *others])


class Cell:
    """A forget set of a benchmark and the runs on it."""

    def __init__(self, name: str, forget: ForgetSpec, benchmark: BenchmarkConfig) -> None:
        """Expand methods, controls and sweeps."""
        self.name = name
        self.forget = forget
        self.pictures = benchmark.pictures or default_showing(forget.kind)
        specs = _specs(name, benchmark)
        self.sweeps = {
            key: _sweep(specs[sweep.method], sweep)
            for key, sweep in benchmark.sweeps.items()
            if sweep.cells is None or name in sweep.cells
        }
        self.runs = {run.name: run for run in _runs(specs, self.sweeps.values(), benchmark)}
        self.given: dict[str, GivenParams] = benchmark.given  # runs that somebody else made
        sizes = benchmark.support_size
        is_sized = sizes is not None and (sizes.cells is None or name in sizes.cells)
        # The run whose teacher tuning asks, where it does: the config's own, or the defaults.
        self.teacher = _teacher(specs) if benchmark.select == "teacher" and self.tuned else None
        # The run whose teacher is trained on supports of every size.
        self.support_sized = self.runs[sizes.method] if sizes and is_sized else None
        # The runs whose models are used once more: sweeps are left out.
        own = [run for run in self.runs if "@" not in run]
        self.probed = [layout.RETRAIN, *own, *self.given] if benchmark.probe else []
        # The methods, and no sweep of one, that unlearn from every shadow model, if there are some.
        self.exposed = [
            run
            for run in self.runs.values()
            if benchmark.shadows and run.method.kind == "method" and not run.vary
        ]

    @cached_property
    def tuned(self) -> dict[str, MethodSpec]:
        """The methods with something to tune, by name."""
        return {name: run.method for name, run in self.runs.items() if run.tuned_by == name}

    @property
    def tracked(self) -> list[str]:
        """The runs that are evaluated after every epoch."""
        return [name for name, run in self.runs.items() if run.tracked]

    @property
    def unlearned(self) -> list[RunSpec]:
        """The runs that are computed; the control `original` is the base model itself."""
        return [run for run in self.runs.values() if run.name != layout.ORIGINAL]

    def of_kind(self, kind: str) -> list[str]:
        """Return the runs of methods, those given among them, or of controls."""
        found = [name for name, run in self.runs.items() if run.method.kind == kind]
        return found + [*self.given] * (kind == METHOD.what)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A benchmark, expanded."""

    name: str
    config: BenchmarkConfig
    cells: dict[str, Cell]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the seeds."""
        return self.config.seeds

    @property
    def reference(self) -> str:
        """Return the run that all others are held against: the base where there is no Retrain."""
        return layout.ORIGINAL if self.config.retrain is None else layout.RETRAIN

    @property
    def pool(self) -> ShadowsConfig:
        """Return what the config says of shadow models, where there are some."""
        assert self.config.shadows is not None
        return self.config.shadows

    def evaluates_base(self, cell: Cell) -> bool:
        """Tell whether the base model is a control of a cell, or the reference."""
        return layout.ORIGINAL in (*cell.runs, self.reference)

    def base_seed(self, seed: int) -> int:
        """Return the seed whose base model the runs of `seed` start from."""
        return self.seeds[0] if self.config.base.sharing == "shared" else seed

    def base_seeds(self) -> tuple[int, ...]:
        """Return the seeds for which a base model is trained."""
        return tuple(dict.fromkeys(self.base_seed(seed) for seed in self.seeds))

    def labels(self) -> dict[str, str]:
        """Return the display name of every run, in the config's order."""
        runs = [run for cell in self.cells.values() for run in cell.runs.values()]
        given = {name: f"{name} (given)" for name in self.config.given}
        return {run.name: run.label for run in runs} | given


def build_grid(config: Config) -> dict[str, Benchmark]:
    """Return all benchmarks with their cells and runs."""
    return {
        name: Benchmark(
            name,
            benchmark,
            {cell: Cell(cell, forget, benchmark) for cell, forget in list_cells(benchmark).items()},
        )
        for name, benchmark in config.benchmarks.items()
    }


def _specs(cell: str, benchmark: BenchmarkConfig) -> dict[str, MethodSpec]:
    """Return the methods with the parameters that they have in this cell."""
    overrides = benchmark.cells[cell].methods if cell in benchmark.cells else {}
    return {
        name: resolve(name, {**raw, **overrides.get(name, {})}, ("methods", name))
        for name, raw in benchmark.methods.items()
    }


def _runs(
    specs: Mapping[str, MethodSpec], sweeps: Iterable[SweepSpec], benchmark: BenchmarkConfig
) -> Iterator[RunSpec]:
    is_all = ALL in benchmark.track
    for spec in specs.values():
        tracked = is_all or spec.name in benchmark.track
        yield RunSpec(spec.name, spec, tuned_by=_tuned_by(spec), tracked=tracked)
    # Without Retrain the base is the reference, and no control.
    reference = layout.ORIGINAL if benchmark.retrain is None else layout.RETRAIN
    for name in (name for name in benchmark.controls if name != reference):
        yield replace(_control(name, specs), tracked=is_all and name != layout.ORIGINAL)
    for sweep in sweeps:
        for name, value in sweep.values.items():
            if name != sweep.method.name:
                vary = {sweep.key: value, **sweep.along[name]}
                yield RunSpec(name, sweep.method, vary, _tuned_by(sweep.method))


def _control(name: str, specs: Mapping[str, MethodSpec]) -> RunSpec:
    """Return a control's run, with the parameters of the method that it inherits from."""
    params = params_class(name)
    parents = [spec for spec in specs.values() if spec.uses == params.inherits]
    if not parents:
        return RunSpec(name, MethodSpec(name, name, {}, {}))
    parent = specs.get(str(params.inherits), parents[0])
    fixed = {key: value for key, value in parent.fixed.items() if key in params.model_fields}
    return RunSpec(name, MethodSpec(name, name, fixed, {}), tuned_by=_tuned_by(parent))


def _teacher(specs: Mapping[str, MethodSpec]) -> RunSpec:
    """Return LTD's run whose teacher tuning asks: the entry of that name first, else defaults."""
    own = {spec.name: spec for spec in specs.values() if spec.uses == TEACHER}
    first = next(iter(own.values()), MethodSpec(TEACHER, TEACHER, {}, {}))
    return RunSpec(TEACHER, own.get(TEACHER, first))


def _tuned_by(spec: MethodSpec) -> str | None:
    return spec.name if spec.grid else None


def _sweep(spec: MethodSpec, sweep: SweepConfig) -> SweepSpec:
    """Name a run for each value; that of the method's own is a run already."""
    key = next(iter(sweep.vary))
    combinations = [
        {name: spec.values(combination)[name] for name in combination}
        for combination in sweep.combinations()
    ]
    is_tuned, own = any(name in spec.grid for name in combinations[0]), spec.values()
    values, along = {}, {}
    for combination in combinations:
        is_own = combination.items() <= own.items() and not is_tuned
        run = spec.name if is_own else "@".join([spec.name, *format_varied(combination)])
        values[run] = combination.pop(key)
        along[run] = combination
    if spec.name not in values:
        values[spec.name] = None if is_tuned else own[key]
        along[spec.name] = {} if is_tuned else {name: own[name] for name in sweep.along}
    return SweepSpec(spec, key, values, along, is_tuned)
