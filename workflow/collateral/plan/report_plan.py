"""Inputs of the reporting stages: plan.json, and the fingerprints of findings."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import collateral
from collateral.contract.rows import MIA
from collateral.data._metadata import draws_test
from collateral.plan import paths
from collateral.plan.fingerprint import hash_texts, stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.work import data_options
from collateral.plugins.find import FINDING, params_class
from collateral.results import layout
from collateral.results.plan import About, BenchmarkPlan, CellNumbers, CellPlan

TEMPLATES = Path(collateral.__file__).parent / "report"
# Options of a data set that contain the user's paths or names; plan.json leaves them out.
FILES = ("root", "path", "test_path", "table", "train_list", "train_where")
# Pattern of the first sentence of a method's docstring: label, full name, citation and purpose.
SUMMARY = re.compile(r"[^,(]+(?:, ([^(]+))? \(([^)]+)\)(?:: (.+))?")
# Dict from stage to the file that it imports from every finding: numbers.py or views.py.
PARTS = dict.fromkeys(("metrics", "gather"), "numbers")
PARTS |= dict.fromkeys(("tables", "figures", "report"), "views")


def make_plan(benchmark: Benchmark, config: str = "") -> BenchmarkPlan:
    """Return the content of plan.json for a benchmark; `config` is the name of the config file."""
    runs = [run for cell in benchmark.cells.values() for run in cell.runs.values()]
    return BenchmarkPlan(
        labels=benchmark.labels(),
        sharing=benchmark.config.base.sharing,
        cells={name: _cell_plan(benchmark, cell) for name, cell in benchmark.cells.items()},
        select=benchmark.config.select,
        data={key: value for key, value in benchmark.config.data.items() if key not in FILES},
        model=benchmark.config.model,
        reference=benchmark.reference,
        test_drawn=_test_drawn(benchmark),
        printed=benchmark.config.printed,
        about={run.name: about_method(run.method.uses) for run in runs if not run.vary},
        config=config,
        figure_width=benchmark.figure_width,
    )


def about_method(name: str) -> About:
    """Return a method's full name, or its purpose, and its citation, from its Params' docstring."""
    params = params_class(name)
    line = " ".join(str(params.__doc__).split("\n\n")[0].split()).rstrip(".")
    if not (parts := SUMMARY.fullmatch(line)):
        return About(line, link=params.paper)
    full_name, citation, purpose = parts.groups()
    return About(full_name or purpose or "", citation, params.paper)


def _test_drawn(benchmark: Benchmark) -> bool | None:
    """Tell whether the test set is a random sample; None if the user gives no base model."""
    if benchmark.config.base.weights is None:
        return None
    return draws_test(str(benchmark.config.data["name"]), data_options(benchmark))


def plan_hash(benchmark: Benchmark, config: str = "") -> str:
    """Return a hash of plan.json; the file is rewritten when the hash changes."""
    return hash_texts(json.dumps(asdict(make_plan(benchmark, config))))


def name_config(files: Iterable[str | Path], folder: Path) -> str:
    """Return the names of the config files; those in the working folder with their path in it."""
    paths = [Path(file).resolve() for file in files]
    return ", ".join(
        (path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)).as_posix()
        for path in paths
    )


def presenting_code(stage: str) -> str:
    """Return the fingerprint of the source code of a stage and of all findings that it presents."""
    findings = [FINDING.module(name) for name in FINDING.names()]
    return stage_code(stage, *findings, *FINDING.parts(PARTS[stage]))


def templates_hash(folder: Path = TEMPLATES) -> str:
    """Return a hash of the page's templates, because fingerprints include only Python files."""
    files = sorted([*folder.glob("*.j2"), *folder.glob("*.csv")])
    return hash_texts(*(path.read_text(encoding="utf-8") for path in files))


def cell_numbers(benchmark: Benchmark, cell: Cell) -> CellNumbers:
    """Return what the numbers of a cell are computed from."""
    seeds, config, forget = benchmark.evaluated_seeds, benchmark.config, cell.forget
    return CellNumbers(
        seeds=seeds,
        base_seeds=benchmark.base_seeds,
        methods=tuple(cell.names_by_kind("method")),
        controls=tuple(cell.names_by_kind("control")),
        tuned=tuple(cell.tuned),
        tracked=tuple(cell.tracked),
        support_sized=(cell.support_sized.name,) if cell.support_sized else (),
        exposed=tuple(cell.exposed),
        attacks=tuple(dict.fromkeys([MIA, *config.attacks])),
        probed=tuple(config.probe.names) if config.probe else (),
        margins={str(key): value for key, value in config.margin.items()},
        looks=tuple(config.looks),
        groups=tuple(config.groups),
        positive=() if config.positive is None else (str(config.positive),),
        rounds=(*forget.earlier, cell.name) if forget.is_last else (),
        atlas=dict(forget.atlas),
        has_forecast=Path(paths.FORECAST.format(benchmark=benchmark.name, cell=cell.name)).exists(),
        reference=benchmark.reference,
        trust=cell.trust,
    )


def _cell_plan(benchmark: Benchmark, cell: Cell) -> CellPlan:
    paced = tuple(name for name in cell.tracked if cell.runs[name].is_paced)
    trials = {name: cell.runs[name].trials for name in cell.tuned}
    candidates = {name: len(method.trials()) for name, method in cell.tuned.items()}
    numbers = cell_numbers(benchmark, cell)
    given = {name: (*run.method.fixed, *run.vary) for name, run in cell.runs.items()}
    of_base = tuple(sorted(benchmark.config.base.model_fields_set))
    given |= dict.fromkeys((benchmark.reference, layout.ORIGINAL), of_base)
    return CellPlan(cell.sweeps, trials, paced, candidates, given, numbers)
