"""Runs that claims compare: LTD's supports, teachers and thresholds, Neighbor's k, AdamW.

All functions with a `case` return runs by their printed names.
"""

import math
from collections.abc import Sequence
from typing import Any

from collateral.results.table import CellTable
from paper.claims.results import Missing
from paper.claims.values import Case, run_name

# Parameter values of the run `ltd`, for results without plan.json.
DEFAULTS = {"support": "closest", "teacher": "resnet8", "threshold": 0.99}
SMALL = 8  # depth of the deepest ResNet that counts as a small teacher


def sweep_runs(cell: CellTable, method: str, key: str) -> dict[Any, str]:
    """Return a method's runs by the value of one varied parameter, including its default run."""
    for sweep in cell.plan.sweeps:
        if sweep.own == method and sweep.key == key:
            return {value: run for run, value in sweep.values.items() if run in cell.kinds}
    start = f"{method}@{key}="
    texts = {run.removeprefix(start): run for run in cell.kinds if run.startswith(start)}
    found = {_typed(text): run for text, run in texts.items() if "@" not in text}
    if found and method == "ltd" and key in DEFAULTS and method in cell.kinds:
        found.setdefault(DEFAULTS[key], method)
    return found


def _typed(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def ltd_with(case: Case, key: str, *values: Any) -> dict[str, str]:
    """Return LTD's runs with the given values of a parameter."""
    found = sweep_runs(case.cell, "ltd", key)
    if missing := [str(value) for value in values if value not in found]:
        raise Missing(f"no LTD with {key} {', '.join(missing)}")
    return {str(value): found[value] for value in values}


def sweep(
    case: Case, method: str, key: str, fewest: int = 2, start: float = -math.inf
) -> dict[str, str]:
    """Return the runs of a sweep with values from `start` on; it must have `fewest` values."""
    found = sweep_runs(case.cell, method, key)
    numbers = sorted(value for value in found if isinstance(value, int | float))
    chosen = [value for value in numbers if value >= start]
    if len(numbers) < fewest or len(chosen) < min(fewest, 2):
        raise Missing(f"too few values of {key} of {run_name(case.cell, method)}")
    return {f"{key} {value:g}": found[value] for value in chosen}


def neighbors(case: Case) -> dict[str, str]:
    """Return Neighbor's runs by k; only its default run if k is not varied."""
    found = sweep(case, "neighbor", "k", 0)
    if not found and "neighbor" not in case.cell.kinds:
        raise Missing("no Neighbor")
    return found or {"Neighbor": "neighbor"}


def pick(case: Case, runs: dict[str, str], position: int) -> dict[str, str]:
    """Return only the run at this position, by name; position 0 is the first, -1 the last."""
    name = list(runs)[position]
    return {name: runs[name]}


def teachers(case: Case) -> dict[str, str]:
    """Return LTD's runs by convolutional teacher: small CNN first, then ResNets by depth."""
    runs = sweep_runs(case.cell, "ltd", "teacher")
    found = sorted((name for name in runs if _depth(name)), key=_depth)
    if "small_cnn" not in found or len(found) < 2:
        raise Missing("no LTD with a small CNN and with a ResNet as teacher")
    return {name: runs[name] for name in found}


def small_teachers(case: Case) -> dict[str, str]:
    """Return LTD's runs with small teachers, if there is a run with a larger one."""
    runs = teachers(case)
    small = {name: run for name, run in runs.items() if _depth(name) <= SMALL}
    if small == runs:
        raise Missing("no LTD with a teacher that is larger than ResNet-8")
    return small


def _depth(teacher: str) -> float:
    """Return the depth of a ResNet; 1 for the small CNN, 0 for others."""
    depth = teacher.removeprefix("resnet")
    return float(depth) if depth.isdecimal() else float(teacher == "small_cnn")


def with_adamw(case: Case, runs: Sequence[str]) -> dict[str, str]:
    """Return each method's run with AdamW by printed name; an empty string if there is no run."""
    found = {}
    for run in runs:
        starts = (f"{run}@optimizer=adamw", f"{run}_adamw")
        name = f"{run_name(case.cell, run)} with AdamW"
        found[name] = next((other for other in case.cell.kinds if other.startswith(starts)), "")
    return found
