"""Read a base model and a finished atlas, learn who gets hurt, and forecast it for a request."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from collateral.data._subset import choose_forget_set
from collateral.metrics import forecast as model
from collateral.metrics.arrays import Floats, Ints, Mask
from collateral.metrics.association import logit_margins
from collateral.metrics.forecast import STRATA, BaseView, Evaluation, Examples, Logistic
from collateral.metrics.statistics import shift_seeds
from collateral.plan.grid import Benchmark, Cell
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels
from collateral.results.files import InvalidResultError
from collateral.results.outputs import Embeddings, StoredOutputs
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import INPUTS, hash_files, read_record, verify, write_signed
from collateral.results.split import Split


@dataclass(frozen=True)
class BaseModels:
    """The base models of a benchmark that are trained already, by seed."""

    root: Path
    labels: Labels
    views: Mapping[int, BaseView]
    seeds: tuple[int, ...] = ()  # seeds of the benchmark


def read_base(root: Path, benchmark: Benchmark) -> BaseModels | None:
    """Return a benchmark's base models that have outputs and features; None without any."""
    folders = {seed: root / layout.BASE.format(seed=seed) for seed in benchmark.base_seeds}
    there = {
        seed: folder
        for seed, folder in folders.items()
        if all((folder / name).exists() for name in (layout.OUTPUTS, layout.EMBEDDINGS))
    }
    if not there or not (root / layout.LABELS).exists():
        return None
    labels = Labels.load(verify(root / layout.LABELS, root))
    views = {seed: _read_view(folder, root, labels) for seed, folder in there.items()}
    return BaseModels(root, labels, views, benchmark.seeds)


def _read_view(folder: Path, root: Path, labels: Labels) -> BaseView:
    outputs = verify(folder / layout.OUTPUTS, root)
    features = Embeddings.load(verify(folder / layout.EMBEDDINGS, root)).train
    train, test = (np.array(StoredOutputs(outputs, name).logits) for name in ("train", "test"))
    return BaseView(train, features, test, labels.train, labels.test)


@dataclass(frozen=True)
class FinishedAtlas:
    """A finished atlas on disk: its cells, and the examples that each method hurts."""

    root: Path
    plan: BenchmarkPlan
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def labels(self) -> Labels:
        """Labels of the data set."""
        return Labels.load(verify(self.root / layout.LABELS, self.root))

    @cached_property
    def cells(self) -> dict[str, CellResults]:
        """Cells of the atlas, by name."""
        found = {}
        for name, cell in self.plan.cells.items():
            if cell.numbers is not None and cell.numbers.atlas:
                found[name] = CellResults(folder=self.root, cell=name, **vars(cell.numbers))
        return found

    @cached_property
    def emitters(self) -> list[str]:
        """Names of the classes or groups that the atlas forgets."""
        return list(dict.fromkeys(cell.atlas["emitter"] for cell in self.cells.values()))

    @cached_property
    def methods(self) -> list[str]:
        """Methods that were run in every cell."""
        every = [cell.methods for cell in self.cells.values()]
        return [name for name in every[0] if all(name in names for names in every)]

    @property
    def problem(self) -> str:
        """Return why nothing can be learned from the atlas; empty if it is complete."""
        cells = list(self.cells.values())
        if any(not cell.has_retrain for cell in cells):
            return "it has no Retrain, and harm is measured against Retrain"
        if len(cells[0].seeds) < 2:
            return "it has one seed, so the noise between two Retrains is unknown"
        missing = [
            path
            for cell in cells
            for run in (layout.RETRAIN, *self.methods)
            for seed in cell.seeds
            if not (path := self._folder(cell, run, seed) / layout.OUTPUTS).exists()
        ]
        bases = {seed for cell in cells for seed in cell.base_seeds}
        if read := [s for s in sorted(bases) if not self._base_file(s).exists()]:
            return f"there are no features of its base model of seed {read[0]}"
        return f"{len(missing)} of its runs are missing, such as {missing[0]}" if missing else ""

    def _base_file(self, seed: int) -> Path:
        return self.root / layout.BASE.format(seed=seed) / layout.EMBEDDINGS

    def _folder(self, cell: CellResults, run: str, seed: int) -> Path:
        return self.root / layout.RUN.format(cell=cell.cell, seed=seed, run=run)

    def parameters(self, method: str) -> Any:
        """Return the parameters of a method in the first cell and seed of the atlas."""
        cell = next(iter(self.cells.values()))
        path = self._folder(cell, method, cell.seeds[0]) / layout.RECORD
        return read_record(path, self.root).get("params")

    def find_other_recipe(self, base: BaseModels) -> list[str]:
        """Return in which values of the recipe a base model differs from those of the atlas."""
        seed = next(iter(self.cells.values())).base_seeds[0]
        own, other = _read_recipe(self.root, seed), _read_recipe(base.root, next(iter(base.views)))
        names = [name for name in own if name in other and own[name] != other[name]]
        return [f"{name}: {own[name]} there, {other[name]} here" for name in names]

    def view(self, seed: int) -> BaseView:
        """Return outputs and features of the base model of one seed."""
        if ("view", seed) not in self._cache:
            folder = self.root / layout.BASE.format(seed=seed)
            self._cache["view", seed] = _read_view(folder, self.root, self.labels)
        found: BaseView = self._cache["view", seed]
        return found

    def facts(self, name: str) -> "CellFacts":
        """Return what all methods of a cell share: predictors, Retrain, and its noise."""
        if name not in self._cache:
            self._cache[name] = CellFacts.read(self, self.cells[name])
        found: CellFacts = self._cache[name]
        return found

    def examples(self, method: str) -> dict[str, Examples]:
        """Return the retained examples of all cells and seeds by stratum, with who is hurt."""
        parts: dict[str, list[Examples]] = {stratum: [] for stratum in STRATA}
        for name, cell in self.cells.items():
            facts, emitter = self.facts(name), self.emitters.index(cell.atlas["emitter"])
            for place, seed in enumerate(cell.seeds):
                result = cell.result(method, seed)
                if not facts.is_sound[place] or result.is_diverged:
                    continue
                own = result.train.confidence.astype(np.float64)[facts.rows]
                retrained, bounds = facts.retrained[place], facts.bounds[place]
                hurt = model.find_hurt(retrained, own, bounds)
                placebo = model.find_hurt(retrained, facts.next_retrained[place], bounds)
                found = Examples(
                    np.full(len(facts.rows), emitter),
                    facts.label,
                    facts.columns[place],
                    hurt,
                    placebo,
                )
                for stratum, mask in facts.strata.items():
                    parts[stratum].append(found.only(mask))
        return {stratum: join(found) for stratum, found in parts.items() if found}


def _read_recipe(root: Path, seed: int) -> dict[str, Any]:
    """Return how a base model was trained: its parameters, and the weights that it began with."""
    folder = root / layout.BASE.format(seed=seed)
    record = read_record(folder / layout.RECORD, root)
    more = {name: record[name] for name in ("freeze", "own") if name in record}
    return {**record.get("params", {}), **more}


def join(parts: Sequence[Examples]) -> Examples:
    """Return the rows of all parts."""
    names = Examples.__dataclass_fields__
    return Examples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class CellFacts:
    """Of one cell of an atlas: predictors by seed, Retrain's probabilities, and their noise."""

    rows: Ints  # indices of the retained examples
    label: Ints
    strata: Mapping[str, Mask]
    columns: Sequence[Floats]  # predictors by seed
    retrained: Floats  # (seeds, examples)
    next_retrained: Floats
    bounds: Floats
    is_sound: Sequence[bool]  # whether Retrain of a seed and of the next one did not diverge

    @staticmethod
    def read(atlas: FinishedAtlas, cell: CellResults) -> "CellFacts":
        """Read the base model and Retrain of every seed."""
        rows, label = cell.split.retain, atlas.labels.train[cell.split.retain]
        views = [atlas.view(seed) for seed in cell.base_seeds]
        results = cell.retrained()
        retrained = np.array([one.train.confidence.astype(np.float64)[rows] for one in results])
        margins = np.array([logit_margins(one.train.logits[rows], label) for one in results])
        is_sound = [not one.is_diverged for one in results]
        return CellFacts(
            rows,
            label,
            model.split_strata(label, atlas.labels.train[cell.split.forget]),
            [model.predictors(view, cell.split.forget, rows) for view in views],
            retrained,
            shift_seeds(retrained),
            model.floor_bounds(retrained, margins),
            [one and other for one, other in zip(is_sound, np.roll(is_sound, -1), strict=True)],
        )


def find_atlas(results: Path, benchmark: Benchmark, labels: Labels | None) -> FinishedAtlas | None:
    """Return a finished atlas of the same data set and model below the folder of results.

    An atlas that lacks runs is returned only if there is no other.
    """
    found = []
    for path in sorted(results.glob(f"*/{layout.PLAN}")):
        try:
            atlas = read_atlas(path.parent)
        except (InvalidResultError, ValueError):
            continue  # results of another version, or broken ones, which `verify` reports
        if atlas is not None and _fits(atlas, benchmark, labels):
            found.append(atlas)
    return min(found, key=lambda one: bool(one.problem), default=None)


def read_atlas(root: Path) -> FinishedAtlas | None:
    """Return the atlas of a benchmark's folder; None if the benchmark has none."""
    atlas = FinishedAtlas(root, BenchmarkPlan.load(root / layout.PLAN))
    return atlas if atlas.cells else None


def _fits(atlas: FinishedAtlas, benchmark: Benchmark, labels: Labels | None) -> bool:
    """Tell whether an atlas is of the same model and, as far as is known, of the same examples."""
    if atlas.plan.model != benchmark.config.model or not (atlas.root / layout.LABELS).exists():
        return False
    if labels is None:
        return bool(atlas.plan.data.get("name") == benchmark.config.data.get("name"))
    own = atlas.labels
    is_same = own.class_names == labels.class_names
    return is_same and np.array_equal(own.train, labels.train)


def find_forgotten(cell: Cell, base: BaseModels) -> Ints | None:
    """Return the forget set of a cell; None if it is chosen by shadow models that are missing."""
    path = base.root / layout.SPLIT.format(cell=cell.name)
    if path.exists():
        return Split.load(path, base.root).forget
    if cell.forget.needs or cell.forget.earlier:
        return None
    return choose_forget_set(base.labels, cell.forget.kind, dict(cell.forget.params), None)[0]


@dataclass(frozen=True)
class Forecast:
    """The forecast of one cell, method and stratum: a probability per retained example."""

    method: str
    stratum: str
    evaluation: Evaluation
    rows: Ints
    label: Ints
    probability: Floats  # mean over the base models; empty if the forecast is refused

    @property
    def refusal(self) -> str:
        """Return why there is no forecast; empty if there is one."""
        return self.evaluation.refusal

    @property
    def expected(self) -> float:
        """Expected number of hurt examples."""
        return float(self.probability.sum())


def make_forecasts(
    atlas: FinishedAtlas, base: BaseModels, forget: Ints, methods: Sequence[str]
) -> Iterator[Forecast]:
    """Yield a forecast per method and stratum, learned from emitters of other classes."""
    label = base.labels.train
    rows = np.setdiff1d(np.arange(len(label)), forget)
    columns = [model.predictors(view, forget, rows) for view in base.views.values()]
    affected = {base.labels.class_names[c] for c in np.unique(label[forget])}
    own = [place for place, name in enumerate(atlas.emitters) if name in affected]
    for method in methods:
        for stratum, examples in atlas.examples(method).items():
            mask = model.split_strata(label[rows], label[forget])[stratum]
            if not mask.any():
                continue
            evaluation = _evaluate(atlas, method, stratum, examples)
            probability = np.zeros(0)
            if not evaluation.refusal:
                others = examples.only(~np.isin(examples.emitter, own))
                fitted = Logistic.fit(others.columns, others.is_hurt)
                probability = np.mean([fitted.predict(one[mask]) for one in columns], axis=0)
            yield Forecast(method, stratum, evaluation, rows[mask], label[rows[mask]], probability)


def evaluate_atlas(atlas: FinishedAtlas) -> Iterator[tuple[str, str, Evaluation]]:
    """Yield method, stratum and the evaluation of forecasts, each emitter by all others."""
    for method in atlas.methods:
        for stratum, examples in atlas.examples(method).items():
            yield method, stratum, _evaluate(atlas, method, stratum, examples)


def _evaluate(atlas: FinishedAtlas, method: str, stratum: str, examples: Examples) -> Evaluation:
    """Evaluate the forecasts of a method and stratum, once per atlas."""
    key = ("evaluation", method, stratum)
    if key not in atlas._cache:
        atlas._cache[key] = model.evaluate(examples)
    found: Evaluation = atlas._cache[key]
    return found


def keep_forecasts(
    base: BaseModels, cell: Cell, atlas: FinishedAtlas, made: Sequence[Forecast]
) -> bool:
    """Write the forecasts of a cell to its folder, for its page; only if nothing is unlearned yet.

    Return whether they were written.
    """
    folders = [
        base.root / layout.RUN.format(cell=cell.name, seed=seed, run=run)
        for run in cell.runs
        for seed in base.seeds
    ]
    if any((folder / layout.OUTPUTS).exists() for folder in folders):
        return False
    methods: dict[str, dict[str, Any]] = {}
    for one in made:
        methods.setdefault(one.method, {})[one.stratum] = {
            "refusal": one.refusal,
            "examples": [int(row) for row in one.rows] if not one.refusal else [],
            "probability": [round(float(p), 6) for p in one.probability],
        }
    files = [base.root / layout.BASE.format(seed=seed) / layout.OUTPUTS for seed in base.views]
    content = {
        "atlas": atlas.root.name,
        "methods": methods,
        INPUTS: hash_files([base.root / layout.LABELS, *files], base.root),
    }
    write_signed(base.root / layout.FORECAST.format(cell=cell.name), content, base.root)
    return True
