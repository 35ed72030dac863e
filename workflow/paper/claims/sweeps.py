"""Runs that claims compare: LTD's supports, teachers and thresholds, Neighbor's k, AdamW.

All functions whose first argument is `case` return runs by their printed names.
"""

import math
from collections.abc import Sequence
from typing import Any

from collateral.results.table import CellTable
from paper.claims.results import Missing
from paper.claims.values import Case, run_name

# Default parameters of the run `ltd`, needed for results that have no plan.json.
DEFAULTS = {"support": "closest", "teacher": "resnet8", "threshold": 0.99}
SMALL = 8  # depth of the deepest ResNet that counts as a small teacher


def sweep_runs(cell: CellTable, method: str, key: str) -> dict[Any, str]:
    """Return a method's runs in which only the parameter `key` is varied, by its value.

    The method's default run is included.
    """
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
    """Return the name of LTD's run for each of these values of a parameter."""
    found = sweep_runs(case.cell, "ltd", key)
    if missing := [str(value) for value in values if value not in found]:
        raise Missing(f"no LTD with {key} {', '.join(missing)}")
    return {str(value): found[value] for value in values}


def sweep(
    case: Case, method: str, key: str, fewest: int = 2, start: float = -math.inf
) -> dict[str, str]:
    """Return a sweep's runs whose parameter value is at least `start`.

    Raise `Missing` if there are too few numeric values; `fewest` is the minimum.
    """
    found = sweep_runs(case.cell, method, key)
    numbers = sorted(value for value in found if isinstance(value, int | float))
    chosen = [value for value in numbers if value >= start]
    if len(numbers) < fewest or len(chosen) < min(fewest, 2):
        is_short = len(numbers) < fewest
        wanted = (
            f"{fewest} values of {key}" if is_short else f"two values of {key} from {start:g} on"
        )
        raise Missing(f"fewer than {wanted} of {run_name(case.cell, method)}")
    return {f"{key} {value:g}": found[value] for value in chosen}


def neighbors(case: Case) -> dict[str, str]:
    """Return Neighbor's runs with each k; only its default run if k is not varied."""
    found = sweep(case, "neighbor", "k", 0)
    if not found and "neighbor" not in case.cell.kinds:
        raise Missing("no Neighbor")
    return found or {"Neighbor": "neighbor"}


def pick(case: Case, runs: dict[str, str], position: int) -> dict[str, str]:
    """Return only the run at this position with its name; 0 is the first, -1 the last."""
    name = list(runs)[position]
    return {name: runs[name]}


def teachers(case: Case) -> dict[str, str]:
    """Return LTD's runs by name of the convolutional teacher: small CNN, then ResNets by depth."""
    runs = sweep_runs(case.cell, "ltd", "teacher")
    found = sorted((name for name in runs if _depth(name)), key=_depth)
    if "small_cnn" not in found or len(found) < 2:
        raise Missing("no LTD with a small CNN and with a ResNet as teacher")
    return {name: runs[name] for name in found}


def small_teachers(case: Case) -> dict[str, str]:
    """Return LTD's runs with small teachers; raise `Missing` if no run has a larger teacher."""
    runs = teachers(case)
    small = {name: run for name, run in runs.items() if _depth(name) <= SMALL}
    if small == runs:
        raise Missing("no LTD with a teacher that is larger than ResNet-8")
    return small


def _depth(teacher: str) -> float:
    """Return the depth of a teacher that is a ResNet; 1 for the small CNN, 0 for other teachers."""
    depth = teacher.removeprefix("resnet")
    return float(depth) if depth.isdecimal() else float(teacher == "small_cnn")


def with_adamw(case: Case, runs: Sequence[str]) -> dict[str, str]:
    """Return the name of each method's run with AdamW, by the printed name of the run.

    It is an empty string if there is no such run.
    """
    found = {}
    for run in runs:
        starts = (f"{run}@optimizer=adamw", f"{run}_adamw")
        name = f"{run_name(case.cell, run)} with AdamW"
        found[name] = next((other for other in case.cell.kinds if other.startswith(starts)), "")
    return found
