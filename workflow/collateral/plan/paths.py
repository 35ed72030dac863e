"""Paths of all files, as patterns with Snakemake's wildcards in braces; folder of the Snakefile."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import collateral
from collateral.results import layout

if TYPE_CHECKING:
    from collateral.plan.grid import Benchmark


RESULTS = "results"
LOGS = layout.LOGS

BENCHMARK = f"{RESULTS}/{{benchmark}}"
DATA = f"{BENCHMARK}/{layout.DATA}"
LABELS = f"{BENCHMARK}/{layout.LABELS}"
DATA_RECORD = f"{BENCHMARK}/{layout.DATA_RECORD}"
PLAN = f"{BENCHMARK}/{layout.PLAN}"
METRICS = f"{BENCHMARK}/{layout.METRICS}"
METRICS_RECORD = f"{BENCHMARK}/{layout.METRICS_RECORD}"
COSTS = f"{BENCHMARK}/{layout.COSTS}"
COSTS_RECORD = f"{BENCHMARK}/{layout.COSTS_RECORD}"
PROBLEMS = f"{BENCHMARK}/{layout.PROBLEMS}"
GATES = f"{BENCHMARK}/{layout.GATES}"
TABLES = f"{BENCHMARK}/{layout.TABLES}"
FIGURES = f"{BENCHMARK}/{layout.FIGURES}"
REPORT = f"{BENCHMARK}/{layout.REPORT}"
REPORT_PROBLEMS = f"{BENCHMARK}/{layout.REPORT_PROBLEMS}"
GLANCE = f"{BENCHMARK}/{layout.GLANCE}"
CHECKED = f"{BENCHMARK}/{layout.CHECKED}"

BASE = f"{BENCHMARK}/{layout.BASE}"
EMBEDDINGS = f"{BASE}/{layout.EMBEDDINGS}"
SHADOW = f"{BENCHMARK}/{layout.SHADOW}"

CELL = f"{BENCHMARK}/{layout.CELL}"
SPLIT = f"{BENCHMARK}/{layout.SPLIT}"
NEIGHBOURS = f"{BENCHMARK}/{layout.NEIGHBOURS}"
FORECAST = f"{BENCHMARK}/{layout.FORECAST}"
NEIGHBOURS_RECORD = f"{BENCHMARK}/{layout.NEIGHBOURS_RECORD}"
PICTURES = f"{BENCHMARK}/{layout.PICTURES}"
PICTURES_RECORD = f"{BENCHMARK}/{layout.PICTURES_RECORD}"
CELL_METRICS = f"{CELL}/{layout.METRICS}"
CELL_METRICS_RECORD = f"{CELL}/{layout.METRICS_RECORD}"
CELL_COSTS = f"{CELL}/{layout.COSTS}"
CELL_COSTS_RECORD = f"{CELL}/{layout.COSTS_RECORD}"
CELL_PROBLEMS = f"{CELL}/{layout.PROBLEMS}"

TUNE = f"{BENCHMARK}/{layout.TUNE}"
TRIALS = f"{TUNE}/{layout.TRIALS}"
SELECTED = f"{TUNE}/{layout.SELECTED}"
TEACHER = f"{BENCHMARK}/{layout.TEACHER}"
TEACHER_RESULT = f"{TEACHER}/{layout.TEACHER_RESULT}"
SUPPORT_SIZE = f"{BENCHMARK}/{layout.SUPPORT_SIZE}"
SUPPORT_SIZES = f"{SUPPORT_SIZE}/{layout.SUPPORT_SIZES}"
PROBE = f"{BENCHMARK}/{layout.PROBE}"
PROBE_RESULT = f"{PROBE}/{layout.PROBE_RESULT}"
EXPOSURE = f"{BENCHMARK}/{layout.EXPOSURE}"
EXPOSED = f"{EXPOSURE}/{layout.EXPOSURE_MARGINS}"

RUN = f"{BENCHMARK}/{layout.RUN}"
RETRAIN = RUN.replace("{run}", layout.RETRAIN)
EPOCHS = f"{RUN}/{layout.EPOCHS}"

INDEX = f"{RESULTS}/report.html"
THEORY = f"{RESULTS}/{layout.THEORY}"
THEORY_PAGE = f"{THEORY}/{layout.REPORT}"

NEVER = "(?!)"  # regular expression that matches nothing


def run_files(folder: str) -> dict[str, str]:
    """Return a dict from name to path of the files of a base, retrained or unlearned model."""
    return {option: f"{folder}/{name}" for option, name in layout.RUN_FILES.items()}


def shadow_files(folder: str) -> dict[str, str]:
    """Return a dict from name to path of the files of a shadow model."""
    names = {**layout.RUN_FILES, "margins": layout.MARGINS}
    return {option: f"{folder}/{name}" for option, name in names.items() if option != "outputs"}


def run_constraint(grid: Mapping[str, Benchmark], rule: str) -> str:
    """Return the regular expression that the wildcard `benchmark` must match in a rule."""
    # A lookahead checks the run's name, because benchmark and run decide which rule makes a file.
    return "|".join(f"{re.escape(name)}{_lookahead(one, rule)}" for name, one in grid.items())


def _lookahead(benchmark: Benchmark, rule: str) -> str:
    """Return a lookahead for the runs of a rule; for `unlearn`, it excludes other rules' runs."""
    tracked = {run for cell in benchmark.cells.values() for run in cell.tracked}
    runs = {"track": tracked, "given": {*benchmark.config.given}}
    if rule in runs:
        return f"(?={_run_pattern(runs[rule])})"
    return f"(?!{_run_pattern(tracked | runs['given'])})"


def _run_pattern(runs: Iterable[str]) -> str:
    """Return a pattern for the part of a run's path that follows the benchmark's name."""
    names = "|".join(map(re.escape, sorted(runs))) or NEVER
    return f"/[^/]+/seed-[0-9]+/(?:{names})/"


def theory_files() -> dict[str, str | list[str]]:
    """Return a dict from name to path of each output file of the rule `theory`."""
    figures = f"{THEORY}/{layout.FIGURES}"
    drawn = [f"{figures}/{name}" for name in layout.THEORY_FIGURES]
    return {
        "points": f"{THEORY}/{layout.THEORY_POINTS}",
        "findings": f"{THEORY}/{layout.THEORY_FINDINGS}",
        "checks": f"{THEORY}/{layout.THEORY_CHECKS}",
        "statements": f"{THEORY}/{layout.THEORY_STATEMENTS}",
        "record": record(THEORY),
        "captions": f"{figures}/{layout.CAPTIONS}",
        "figures": [f"{name}.{kind}" for name in drawn for kind in ("pdf", "png")],
    }


def record(folder: str) -> str:
    """Return the path of a job's record, which lists parameters, seeds, inputs and versions."""
    return f"{folder}/{layout.RECORD}"


def cost(folder: str) -> str:
    """Return the path of a job's cost file, which the job writes last."""
    return f"{folder}/{layout.COST}"


def log(stage: str, *wildcards: str) -> str:
    """Return the pattern of a stage's log file."""
    return "/".join([LOGS, stage, *(f"{{{wildcard}}}" for wildcard in wildcards)]) + ".log"


# The Snakefile, rules, profiles and configs are in a checkout, or in the wheel.
PACKAGE = Path(collateral.__file__).parent
CHECKOUT = PACKAGE.parents[1]
SHIPPED = PACKAGE / "_workflow"  # folder of the Snakefile in the wheel; setup.py creates it
OWN_CONFIGS = "config.yaml", "config/config.yaml"  # default configs of a working folder
# Environment variables that envs/*.post-deploy.sh reads to install Collateral with conda.
CHECKOUT_VARIABLE, VERSION_VARIABLE = "COLLATERAL_CHECKOUT", "COLLATERAL_VERSION"


def home() -> Path:
    """Return the folder of the Snakefile."""
    for folder in (SHIPPED, CHECKOUT):
        if (folder / "Snakefile").is_file():
            return folder
    raise ValueError(
        f"no Snakefile in {SHIPPED} or {CHECKOUT}: install the package again, or work in a checkout"
    )


def default_config() -> str:
    """Return the config of the working folder, or the one beside the Snakefile if there is none."""
    own = [file for file in OWN_CONFIGS if Path(file).exists()]
    return own[0] if own else str(home() / "config.yaml")


def set_install_variables(home: Path) -> None:
    """Set variables with which conda installs Collateral, from the checkout `home` or a release."""
    os.environ[VERSION_VARIABLE] = collateral.__version__
    os.environ[CHECKOUT_VARIABLE] = "" if home == SHIPPED else str(home)
