"""What the presenting stages are told: plan.json, and the code that they look up by name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import collateral
from collateral.contract.plugins import FINDING
from collateral.data._metadata import draws_test
from collateral.plan.fingerprint import files_hash, stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.work import data_options
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

TEMPLATES = Path(collateral.__file__).parent / "report"
# Options of a data set that say where it lies, and what a list or a table of it names.
FILES = ("root", "path", "test_path", "table", "train_list", "train_where")
# The parts of findings that a stage looks up by name.
PARTS = {
    "metrics": ["numbers"],
    "gather": ["numbers"],
    "tables": ["views"],
    "figures": ["plots"],
    "report": ["views", "plots"],
}


def plan_of(benchmark: Benchmark) -> BenchmarkPlan:
    """Return what the config says of a benchmark, as plan.json has it."""
    return BenchmarkPlan(
        labels=benchmark.labels(),
        sharing=benchmark.config.base.sharing,
        cells={name: _cell_plan(cell) for name, cell in benchmark.cells.items()},
        select=benchmark.config.select,
        data={key: value for key, value in benchmark.config.data.items() if key not in FILES},
        model=benchmark.config.model,
        reference=benchmark.reference,
        test_drawn=_test_drawn(benchmark),
    )


def _test_drawn(benchmark: Benchmark) -> bool | None:
    """Tell whether the test set is a share of the images, where the base is the user's own."""
    if benchmark.config.base.weights is None:
        return None
    return draws_test(str(benchmark.config.data["name"]), data_options(benchmark))


def plan_hash(benchmark: Benchmark) -> str:
    """Return a hash of plan.json: it is written again when this changes."""
    content = json.dumps(asdict(plan_of(benchmark)))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def presenting_code(stage: str) -> str:
    """Return the fingerprint of a stage and of all findings' parts that it shows."""
    findings = [FINDING.module(name) for name in FINDING.names()]
    return stage_code(stage, *findings, *(m for part in PARTS[stage] for m in FINDING.parts(part)))


def templates_hash(folder: Path = TEMPLATES) -> str:
    """Return a hash of the page's templates; fingerprints cover only Python files."""
    return files_hash(folder, "*.j2")


def _cell_plan(cell: Cell) -> CellPlan:
    sweeps = (
        Sweep(name, sweep.method.label, sweep.key, sweep.method.name, sweep.values, sweep.labels)
        for name, sweep in cell.sweeps.items()
    )
    paced = tuple(name for name in cell.tracked if cell.runs[name].is_paced)
    trials = {name: cell.runs[name].trials for name in cell.tuned}
    candidates = {name: len(method.trials()) for name, method in cell.tuned.items()}
    return CellPlan(tuple(sweeps), trials, paced, candidates)
