"""Runs of a method with one parameter varied, as claims of ablations need them."""

from __future__ import annotations

from typing import Any

from collateral.claims.claim import Unsaid
from collateral.claims.numbers import name_of
from collateral.results.table import CellTable

# What a method has where nothing else is varied, if no plan says so.
OWN = {("ltd", "support"): "closest", ("ltd", "teacher"): "resnet8", ("ltd", "threshold"): 0.99}


def swept(cell: CellTable, method: str, key: str) -> dict[Any, str]:
    """Return the runs of a method with one parameter varied, by value, its own run among them."""
    for sweep in cell.plan.sweeps:
        if sweep.own == method and sweep.key == key:
            return {value: run for run, value in sweep.values.items() if run in cell.kinds}
    start = f"{method}@{key}="
    values = {run.removeprefix(start): run for run in cell.kinds if run.startswith(start)}
    known: dict[Any, str] = {_typed(text): run for text, run in values.items() if "@" not in text}
    if known and (method, key) in OWN and method in cell.kinds:
        known.setdefault(OWN[method, key], method)
    return known


def _typed(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def by_number(cell: CellTable, method: str, key: str, fewest: int) -> dict[float, str]:
    """Return the runs of a sweep over numbers, from the lowest value on."""
    found = {v: run for v, run in swept(cell, method, key).items() if isinstance(v, int | float)}
    if len(found) < fewest:
        raise Unsaid(f"fewer than {fewest} values of {key} of {name_of(cell, method)}")
    return dict(sorted(found.items()))


def of_values(cell: CellTable, key: str, *values: str) -> dict[str, str]:
    """Return LTD's runs with these values."""
    found = swept(cell, "ltd", key)
    if missing := [value for value in values if value not in found]:
        raise Unsaid(f"no LTD with {key} {', '.join(missing)}")
    return {value: found[value] for value in values}
