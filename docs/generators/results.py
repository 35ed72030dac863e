"""Table of docs/results.md: every method of every benchmark whose numbers docs/data keeps.

A benchmark is a folder with plan.json, metrics.csv and costs.csv as a run writes them. The
population of the calibration (docs/data/calibration) has rates by seed instead.
"""

import math
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from collateral.config.load import read
from collateral.findings.verdict.rule import decide, run_tests
from collateral.metrics.statistics import mean
from collateral.plan.grid import build_grid
from collateral.plugins.find import params_class
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, CellTable, read_tables
from generators.tables import table
from paper.reference import printed_number

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data"
CALIBRATION = DATA / "calibration"
# Results of before the present rule, whose verdicts calibrate_verdicts.py recomputed.
REJUDGED = {"cifar-small": CALIBRATION / "cifar.csv"}
HEAD = ["data, model", "forget set", "seeds", "method", "verdict"]
HEAD += ["near, kept", "near, new", "gap", "time"]
OWN_FILES = ("arrays", "folder", "parquet")
ONE_SEED, NO_RETRAIN, EMPTY = "one seed", "no Retrain", "–"


@dataclass(frozen=True)
class Result:
    """One method in one cell; rates are fractions, and NaN where they are not known."""

    setting: str  # data set and model
    forget_set: str
    seeds: int
    method: str
    verdict: str
    near: float  # accuracy lost on the nearest retained examples
    near_test: float  # ... on the nearest test examples
    gap: float
    time: float  # seconds with tuning, as a fraction of Retrain's

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: data, forget set, then the larger near loss, smallest first."""
        worst = max(self.near, self.near_test)
        return *self.cell, math.isnan(worst), worst, self.method

    @property
    def cell(self) -> tuple[str, str, int]:
        """Setting, forget set, and the negative number of seeds: most seeds come first."""
        return self.setting, self.forget_set, -self.seeds

    def row(self) -> list[str]:
        """Return the fields of the table's row."""
        points = (_text(value, 1) for value in (self.near, self.near_test, self.gap))
        names = [self.setting, self.forget_set, str(self.seeds), self.method, self.verdict]
        return [*names, *points, _text(self.time, 0)]


def results_table() -> str:
    """Return one row per method and cell, sorted; what a row shares with the one above is empty."""
    rows, above = [], ("", "", 0)
    for result in sorted(find_results(), key=lambda one: one.order):
        row = result.row()
        rows.append(["", "", "", *row[3:]] if result.cell == above else row)
        above = result.cell
    return table(HEAD, rows)


def find_results() -> list[Result]:
    """Return the methods of all kept results and of the calibration."""
    return [*(result for folder in kept_results() for result in _read(folder)), *_population()]


def kept_results() -> list[Path]:
    """Return the folders of docs/data with results, those of the theory included."""
    names = (layout.METRICS, layout.THEORY_FINDINGS)
    return sorted({path.parent for name in names for path in DATA.rglob(name)})


def read_results(folder: Path) -> BenchmarkTable:
    """Return the long tables of kept results."""
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    return read_tables(plan, folder / layout.METRICS, folder / layout.COSTS)


def _read(folder: Path) -> Iterator[Result]:
    """Yield the methods of one benchmark, without controls and sweeps."""
    if not (folder / layout.METRICS).is_file():
        return
    benchmark = read_results(folder)
    for cell in benchmark.cells:
        for run in cell.runs("method"):
            yield Result(
                setting=f"{_data_text(folder.name, benchmark.plan.data)}, {benchmark.plan.model}",
                forget_set=cell.name,
                seeds=len(cell.seeds),
                method=cell.labels[run],
                verdict=_verdict(folder.name, cell, run),
                near=mean(cell.values(run, "near_loss", "retain")),
                near_test=mean(cell.values(run, "near_loss", "test")),
                gap=_gap(cell, run),
                time=_time(cell, run),
            )


def _data_text(benchmark: str, data: Mapping[str, Any]) -> str:
    """Return the data set's name, and the number of classes if the config selects some.

    A user's own files have the name of the benchmark.
    """
    name = str(data.get("dataset", data["name"]))
    name = benchmark if name in OWN_FILES else name
    classes = data.get("classes")
    return f"{name} ({len(classes)} classes)" if classes else name


def _verdict(name: str, cell: CellTable, run: str) -> str:
    """Return the verdict by the present rule, or why there is none."""
    if not cell.has_retrain:
        return NO_RETRAIN
    if len(cell.seeds) == 1:
        return ONE_SEED
    if name in REJUDGED:
        return f"{_rejudged(REJUDGED[name])[cell.name, run]} *"
    [verdict] = cell.indices(run, "verdict")
    return verdict


@cache
def _rejudged(file: Path) -> dict[tuple[str, str], str]:
    return pd.read_csv(file).groupby(["cell", "method"])["verdict"].first().to_dict()


def _gap(cell: CellTable, run: str) -> float:
    """Return Avg. Gap; without Retrain, that to the printed Retrain."""
    if cell.has_retrain:
        return cell.number(run, "avg_gap")
    return printed_number(cell, run, "avg_gap")


def _time(cell: CellTable, run: str) -> float:
    """Return the seconds of a run and of its tuning over Retrain's seconds."""
    share = cell.number(run, "rte_share_with_tuning")
    if not math.isnan(share):
        return share
    tuning = np.nansum(cell.values(run, "tuning_seconds"))
    retrain = mean(cell.values(layout.RETRAIN, "rte"))
    return (mean(cell.values(run, "rte")) + tuning) / retrain


def _population() -> Iterator[Result]:
    """Yield the methods of the calibration, judged with all seeds; times were not kept."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "calibrate_verdicts.py"))
    names, places = script["METHODS"], {name: i for i, name in enumerate(script["TESTED"])}
    for cell, rates in pd.read_csv(CALIBRATION / "rates.csv").groupby("cell"):
        population = script["Population"].read(rates)
        samples = population.samples(population.methods, population.retrained)
        verdicts = decide(run_tests(samples), np.zeros(len(names), bool))
        lost = (population.methods - population.retrained).mean(axis=1)
        for i, name in enumerate(names):
            yield Result(
                setting=_setting_of(str(cell)),
                forget_set=str(cell),
                seeds=population.retrained.shape[0],
                method=params_class(name).label,
                verdict=str(verdicts[i]),
                near=lost[i, places["near"]],
                near_test=lost[i, places["near_test"]],
                gap=population.truth.gap[i],
                time=math.nan,
            )


def _setting_of(cell: str) -> str:
    """Return data set and model of a cell of the calibration."""
    grid = build_grid(read(ROOT / "configs" / "calibration.yaml"))
    for benchmark in grid.values():
        if cell in benchmark.cells:
            return f"{benchmark.config.data['name']}, {benchmark.config.model}"
    raise ValueError(f"configs/calibration.yaml has no cell {cell}")


def _text(value: float, digits: int) -> str:
    """Return a fraction in percent or points."""
    return EMPTY if math.isnan(value) else f"{100 * value:.{digits}f}".replace("-", "−")
