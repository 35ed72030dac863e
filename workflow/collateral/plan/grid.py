"""Expand the config into everything that runs: benchmark > cell > seed > run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from collateral.config.cells import (
    ForgetSpec,
    cell_methods,
    format_value,
    format_varied,
    list_cells,
)
from collateral.config.methods import MethodSpec, resolve
from collateral.config.schema import ALL, BenchmarkConfig, Config, ShadowsConfig, SweepConfig
from collateral.config.weights import GivenParams
from collateral.contract.conventions import TEACHER, default_showing
from collateral.contract.params import MethodParams, TrainingParams
from collateral.plugins.find import METHOD, params_class, prepare_class, prepared_name
from collateral.results import layout
from collateral.results.plan import Sweep, TrustPlan

# Controls that edit a finished model: a number should change little.
EDITS = ("int8", "refreshed")
# Keys of `trust` that are thresholds.
THRESHOLDS = {"least_auc", "least_dose", "passes", "most_change", "flat", "least_models"}
TRAINING = set(TrainingParams.model_fields)


@dataclass(frozen=True, eq=False)
class RunSpec:
    """One run of a method in a cell; a run of a sweep varies one parameter."""

    name: str
    method: MethodSpec
    vary: Mapping[str, Any] = field(default_factory=dict)
    tuned_by: str | None = None  # name of the method whose tuning selects parameters of this run
    tracked: bool = False  # whether the run is evaluated after every epoch
    seeds: tuple[int, ...] | None = None  # seeds of the run, if fewer than those of the benchmark
    starts_at_retrain: bool = False  # whether Retrain is the start, not the base model

    @property
    def label(self) -> str:
        """Name of the run in tables and figures."""
        varied = ", ".join(f"{key} {format_value(value)}" for key, value in self.vary.items())
        return f"{self.method.label}, {varied}" if varied else self.method.label

    @property
    def needs_retrain(self) -> bool | Literal["start"]:
        """Tell whether the run is a control that reads Retrain's soft labels, or starts at it."""
        return "start" if self.starts_at_retrain else params_class(self.method.uses).needs_retrain

    @cached_property
    def params(self) -> MethodParams:
        """Parameters before tuning: tuned parameters have the first value of their list."""
        return self.choices[0]

    @cached_property
    def choices(self) -> list[MethodParams]:
        """All sets of parameters that tuning may select; a single set if nothing is tuned."""
        return [self.method.params({**trial, **self.vary}) for trial in self.method.trials()]

    @property
    def methods(self) -> set[str]:
        """Names of the folders of all methods that it may run: its own, and those of parts."""
        inner = (params for choice in self.choices for params in choice.with_parts())
        return {self.method.uses, *(name for params in inner for name, _ in params.parts)}

    @property
    def is_paced(self) -> bool:
        """Tell whether the steps of an epoch may depend on the total number of epochs."""
        return any(params.is_paced for params in self.choices)

    @cached_property
    def trials(self) -> list[dict[str, Any]]:
        """Values of the tuned parameters in each trial; defaults outside the grid come last."""
        trials, default = self.method.trials(), self.method.default_trial()
        return trials if default is None or default in trials else [*trials, default]

    @cached_property
    def trial_params(self) -> list[MethodParams]:
        """The parameters of each trial."""
        return [self.method.params(trial) for trial in self.trials]

    @cached_property
    def prepare_calls(self) -> dict[str, MethodParams]:
        """Dict from folder name to parameters, for every call of `prepare` that a run may need."""
        return self.find_prepare_calls(self.choices)

    def find_prepare_calls(self, choices: Iterable[MethodParams]) -> dict[str, MethodParams]:
        """Return a dict from folder name to parameters, for each call of `prepare`."""
        if prepare_class(self.method.uses) is None:
            return {}
        return {prepared_name(self.method.uses, params): params for params in choices}


class Cell:
    """A forget set of a benchmark and the runs on it."""

    def __init__(self, name: str, forget: ForgetSpec, benchmark: BenchmarkConfig) -> None:
        """Create the runs of all methods, controls and sweeps."""
        self.name = name
        self.forget = forget
        self.pictures = benchmark.pictures or default_showing(forget.kind)
        specs = _specs(forget, benchmark)
        sweeps = [
            _sweep(key, specs[sweep.method], sweep)
            for key, sweep in benchmark.sweeps.items()
            if sweep.cells is None or name in sweep.cells
        ]
        self.sweeps = tuple(sweep for sweep, _ in sweeps)
        runs = [*_runs(specs, benchmark), *(run for _, own in sweeps for run in own)]
        # Models and thresholds by which the numbers are judged, or None.
        self.trust = plan_trust(benchmark)
        if benchmark.trust and self.trust:
            runs = [*_limit_seeds(runs, benchmark), *_known_runs(name, benchmark, self.trust)]
        self.runs = {run.name: run for run in runs}
        # Dict from run name to parameters, for unlearned weights that the user gives.
        self.given: dict[str, GivenParams] = benchmark.given
        sizes = benchmark.support_size
        is_sized = sizes is not None and (sizes.cells is None or name in sizes.cells)
        # The LTD run whose teacher the selection rule `teacher` uses, or None.
        self.teacher = _teacher(specs) if benchmark.select == "teacher" and self.tuned else None
        # The LTD run whose teacher is also trained on support sets of several sizes, or None.
        self.support_sized = self.runs[sizes.method] if sizes and is_sized else None
        # Runs that are probed: all runs except those of sweeps.
        own = [run for run in self.runs if not layout.is_sweep(run)]
        self.probed = [layout.RETRAIN, *own, *self.given] if benchmark.probe else []
        # Methods that unlearn from every shadow model; sweeps are excluded.
        is_attacked = benchmark.shadows is not None and benchmark.shadows.attack
        methods = [run for run in self.runs.values() if run.method.kind == METHOD.what]
        self.exposed = {run.name: run for run in methods if is_attacked and not run.vary}
        self.has_retrain = benchmark.has_retrain

    @cached_property
    def tuned(self) -> dict[str, MethodSpec]:
        """Dict from name to method, for all methods tuned in this cell; only round 1 is tuned."""
        if self.forget.earlier:
            return {}
        return {name: run.method for name, run in self.runs.items() if run.tuned_by == name}

    @property
    def tracked(self) -> list[str]:
        """The runs that are evaluated after every epoch."""
        return [name for name, run in self.runs.items() if run.tracked]

    @property
    def unlearned(self) -> dict[str, RunSpec]:
        """Runs that need a job: all but `original` and `retrained`, which are made by others."""
        made = (layout.ORIGINAL, layout.RETRAINED)
        return {name: run for name, run in self.runs.items() if name not in made}

    def names_by_kind(self, kind: str) -> list[str]:
        """Return the names of all runs of a kind; given weights are of the kind `method`."""
        found = [name for name, run in self.runs.items() if run.method.kind == kind]
        return found + [*self.given] * (kind == METHOD.what)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A benchmark with all its cells and runs."""

    name: str
    config: BenchmarkConfig
    cells: dict[str, Cell]
    figure_width: float  # width of a full-width printed figure, in inches

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the benchmark; every run has one model per seed."""
        return self.config.seeds

    @property
    def evaluated_seeds(self) -> tuple[int, ...]:
        """Seeds that are evaluated: all, without those that are only references (`trust`)."""
        return find_evaluated_seeds(self.config)

    def has_run(self, run: RunSpec, seed: int) -> bool:
        """Tell whether a run has a model for a seed."""
        return seed in (self.evaluated_seeds if run.seeds is None else run.seeds)

    def reference_seed(self, seed: int) -> int:
        """Return the seed whose Retrain is the reference of an evaluated seed."""
        if self.config.trust is None:
            return seed
        references = self.seeds[: self.config.trust.references]
        return references[self.evaluated_seeds.index(seed) % len(references)]

    @property
    def reference(self) -> str:
        """Name of the run to compare with: Retrain or, without Retrain, the base model."""
        return layout.RETRAIN if self.config.has_retrain else layout.ORIGINAL

    @property
    def pool(self) -> ShadowsConfig:
        """Settings of the shadow models: the config key `shadows`."""
        assert self.config.shadows is not None
        return self.config.shadows

    def evaluates_base(self, cell: Cell) -> bool:
        """Tell whether the base model is evaluated in a cell, as a control or as the reference."""
        return layout.ORIGINAL in (*cell.runs, self.reference)

    def base_seed(self, seed: int) -> int:
        """Return the seed whose base model the runs of `seed` start from."""
        return self.seeds[0] if self.config.base.sharing == "shared" else seed

    @property
    def base_seeds(self) -> tuple[int, ...]:
        """Seed of the base model of each evaluated seed; a shared base has the first seed."""
        return tuple(map(self.base_seed, self.evaluated_seeds))

    def labels(self) -> dict[str, str]:
        """Return the display name of every run, in the order of the config."""
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
            config.figures.width,
        )
        for name, benchmark in config.benchmarks.items()
    }


def _specs(forget: ForgetSpec, benchmark: BenchmarkConfig) -> dict[str, MethodSpec]:
    """Return a dict from name to method, with the parameters that hold in this cell."""
    overrides = cell_methods(benchmark, forget)
    return {
        name: resolve(name, {**raw, **overrides.get(name, {})}, ("methods", name))
        for name, raw in benchmark.methods.items()
    }


def _runs(specs: Mapping[str, MethodSpec], benchmark: BenchmarkConfig) -> Iterator[RunSpec]:
    """Yield the runs of all methods and controls, without sweeps."""
    is_all = ALL in benchmark.track
    for spec in specs.values():
        tracked = is_all or spec.name in benchmark.track
        yield RunSpec(spec.name, spec, tuned_by=_tuned_by(spec), tracked=tracked)
    # Without Retrain, the base model is the reference and not a control.
    reference = layout.RETRAIN if benchmark.has_retrain else layout.ORIGINAL
    for name in (name for name in benchmark.controls if name != reference):
        yield replace(_control(name, specs), tracked=is_all and name != layout.ORIGINAL)


def _control(name: str, specs: Mapping[str, MethodSpec]) -> RunSpec:
    """Return the run of a control, with the parameters of the method that it inherits from."""
    params = params_class(name)
    parents = [spec for spec in specs.values() if spec.uses == params.inherits]
    if not parents:
        return RunSpec(name, MethodSpec(name, name, {}, {}))
    parent = specs.get(str(params.inherits), parents[0])
    fixed = {key: value for key, value in parent.fixed.items() if key in params.model_fields}
    return RunSpec(name, MethodSpec(name, name, fixed, {}), tuned_by=_tuned_by(parent))


def _teacher(specs: Mapping[str, MethodSpec]) -> RunSpec:
    """Return the LTD run whose teacher tuning uses: one of the config, else LTD with defaults."""
    own = {spec.name: spec for spec in specs.values() if spec.uses == TEACHER}
    first = next(iter(own.values()), MethodSpec(TEACHER, TEACHER, {}, {}))
    return RunSpec(TEACHER, own.get(TEACHER, first))


def _tuned_by(spec: MethodSpec) -> str | None:
    return spec.name if spec.grid else None


def _sweep(name: str, spec: MethodSpec, config: SweepConfig) -> tuple[Sweep, list[RunSpec]]:
    """Return a sweep and its runs, except the method's own run, which exists without the sweep."""
    key, own = next(iter(config.vary)), spec.values()
    is_tuned = any(varied in spec.grid for varied in (key, *config.along))
    runs = []
    for given in config.combinations():
        vary = {varied: spec.values(given)[varied] for varied in given}
        is_own = vary.items() <= own.items() and not is_tuned
        run = spec.name if is_own else "@".join([spec.name, *format_varied(vary)])
        runs.append(RunSpec(run, spec, vary, _tuned_by(spec)))
    if spec.name not in [run.name for run in runs]:
        vary = {varied: own[varied] for varied in (key, *config.along)}
        runs.append(RunSpec(spec.name, spec, vary, _tuned_by(spec)))
    values = {run.name: run.vary[key] for run in runs}
    labels = {run.name: _sweep_label(run.vary, key) for run in runs}
    if is_tuned:
        values[spec.name] = None
        labels[spec.name] = (
            "as tuned" if key in spec.grid else f"{format_value(own[key])}, as tuned"
        )
    sweep = Sweep(name, spec.label, key, spec.name, values, labels)
    return sweep, [run for run in runs if run.name != spec.name]


def _sweep_label(vary: Mapping[str, Any], key: str) -> str:
    """Return a run's label in its sweep's tables: the value of `key`, then other varied values."""
    others = [f"{name} {format_value(value)}" for name, value in vary.items() if name != key]
    return ", ".join([format_value(vary[key]), *others])


def find_evaluated_seeds(benchmark: BenchmarkConfig) -> tuple[int, ...]:
    """Return the seeds that are evaluated: all, without those that are only references."""
    return benchmark.seeds[benchmark.trust.references :] if benchmark.trust else benchmark.seeds


def plan_trust(benchmark: BenchmarkConfig) -> TrustPlan | None:
    """Return the known models and the thresholds by which numbers are judged, or None."""
    if (trust := benchmark.trust) is None:
        return None
    judged, references = find_evaluated_seeds(benchmark), benchmark.seeds[: trust.references]
    doses = {f"dose-{format_value(100 * share)}": share for share in trust.shares}
    recipes = {name: (f"{name}-saw", f"{name}-not") for name in trust.recipes}
    edits = {name: (f"{name}-saw", f"{name}-not") for name in EDITS if trust.edit_seeds}
    counts = dict.fromkeys(doses, trust.dose_seeds)
    counts |= dict.fromkeys(chain(*recipes.values()), trust.recipe_seeds)
    counts |= dict.fromkeys(chain(*edits.values()), trust.edit_seeds)
    counts |= dict.fromkeys(benchmark.methods, trust.method_seeds)
    return TrustPlan(
        references=tuple(references[i % len(references)] for i in range(len(judged))),
        seeds={run: judged[:count] for run, count in counts.items() if count < len(judged)},
        doses=doses,
        recipes=recipes,
        edits=edits,
        thresholds=trust.model_dump(include=THRESHOLDS),
    )


def _limit_seeds(runs: Iterable[RunSpec], benchmark: BenchmarkConfig) -> Iterator[RunSpec]:
    """Yield the runs; those of methods have only the first evaluated seeds (`trust`)."""
    trust = plan_trust(benchmark)
    assert trust is not None
    for run in runs:
        yield replace(run, seeds=trust.seeds.get(run.method.name))


def _known_runs(cell: str, benchmark: BenchmarkConfig, plan: TrustPlan) -> Iterator[RunSpec]:
    """Yield the models of which it is known whether they saw the forget set (`trust`)."""
    trust = benchmark.trust
    assert trust is not None
    training = benchmark.base.model_dump(mode="json", include=TRAINING)
    noise = {"noise": trust.damage[cell]} if cell in trust.damage else {}
    fixed: dict[str, tuple[str, dict[str, Any], bool]] = {
        layout.RETRAINED: (layout.RETRAINED, {}, False)
    }
    if trust.impostors:
        fixed["silent"] = ("silent", {}, False)
        fixed |= {"damaged": ("damaged", noise, False), "damaged0": ("damaged", noise, True)}
    known = {"model": benchmark.model}
    for run, share in plan.doses.items():
        fixed[run] = ("trained", {**training, **known, "share": share}, False)
    for recipe, runs in plan.recipes.items():
        values = {**training, **known, **trust.recipes[recipe]}
        for run, share in zip(runs, (1.0, 0.0), strict=True):
            fixed[run] = ("trained", {**values, "share": share}, False)
    for edit, runs in plan.edits.items():
        values = training if edit == "refreshed" else {}
        for run, at_retrain in zip(runs, (False, True), strict=True):
            fixed[run] = (edit, values, at_retrain)
    for run, (uses, params, at_retrain) in fixed.items():
        spec = MethodSpec(run, uses, params, {})
        yield RunSpec(run, spec, seeds=plan.seeds.get(run), starts_at_retrain=at_retrain)
