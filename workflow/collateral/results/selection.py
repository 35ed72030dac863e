"""Read the outcome of tuning: selected.json, which must be a trial of trials.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.files import InvalidResultError, read_json, read_rows
from collateral.results.provenance import verify


def read_selected(path: Path, root: Path) -> dict[str, Any]:
    """Return the selected parameter values; raise if they are not those of the chosen trial."""
    content = read_json(verify(path, root))
    values: dict[str, Any] = content["params"]
    trials = read_trials(path.parent / layout.TRIALS, root)
    chosen = [row for row in trials if row["is_chosen"] == "True"]
    if len(chosen) != 1 or any(chosen[0].get(key) != _text(value) for key, value in values.items()):
        raise InvalidResultError(
            path, f"{values} is not the trial that {layout.TRIALS} calls chosen"
        )
    by_rule, rule = content.get("by_rule", {}), content.get("rule")
    if by_rule.get(rule, values) not in (None, values):
        raise InvalidResultError(path, f"{values} is not what it says that the rule {rule} chooses")
    return values


def read_trials(path: Path, root: Path) -> list[dict[str, str]]:
    """Return the rows of trials.csv."""
    return read_rows(verify(path, root))


def _text(value: Any) -> str:
    """Return a value as text in a CSV file."""
    return "" if value is None else str(value)
