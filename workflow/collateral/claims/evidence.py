"""What claims are held against: the long tables of benchmarks, and what the theory found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collateral.claims.claim import Unsaid
from collateral.claims.numbers import LABELS
from collateral.results import layout
from collateral.results.chain import check_folder, checked
from collateral.results.files import read_rows
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, read


@dataclass(frozen=True)
class Theory:
    """The findings of the propositions, and which of their identities hold."""

    findings: dict[tuple[str, str], float]  # by panel and finding
    checks: dict[str, bool]  # by identity

    def number(self, panel: str, finding: str) -> float:
        """Return a finding."""
        found = self.findings.get((panel, finding), math.nan)
        if math.isnan(found):
            raise Unsaid(f"no “{finding}” of {panel}")
        return found


def read_all(results: Path) -> dict[str, BenchmarkTable | Theory]:
    """Return what is below a folder of results, or in the folder of one benchmark, by name."""
    folders = [results] if _is_set(results) else sorted(filter(_is_set, results.glob("*/")))
    if not folders:
        raise ValueError(f"{results}: no results: there is no {layout.METRICS} in it; run first")
    return {folder.name: _read(folder) for folder in folders}


def _is_set(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (layout.METRICS, layout.THEORY_FINDINGS))


def _read(folder: Path) -> BenchmarkTable | Theory:
    if (folder / layout.THEORY_FINDINGS).is_file():
        return _theory(folder)
    paths = list(_tables(folder))
    plan = folder / layout.PLAN
    return read(BenchmarkPlan.load(plan) if plan.is_file() else plan_of(paths[0]), *paths)


def _tables(folder: Path) -> Iterator[Path]:
    """Yield the long tables; what is kept for a page of docs has no record."""
    for path in (folder / layout.METRICS, folder / layout.COSTS):
        if path.is_file():
            yield checked(path, folder) if layout.record_of(path).is_file() else path


def plan_of(metrics: Path) -> BenchmarkPlan:
    """Return what a long table tells of its plan: the runs."""
    runs = dict.fromkeys(row["run"] for row in read_rows(metrics) if row["run"] != layout.RETRAIN)
    return BenchmarkPlan({run: LABELS.get(run, run) for run in runs})


def _theory(folder: Path) -> Theory:
    if (folder / layout.RECORD).is_file():
        check_folder(folder)
    rows, checks = read_rows(folder / layout.THEORY_FINDINGS), folder / layout.THEORY_CHECKS
    return Theory(
        {(row["panel"], row["finding"]): float(row["value"] or "nan") for row in rows},
        {row["identity"]: row["holds"] == "True" for row in read_rows(checks)},
    )
