"""What a tuning chose: selected.json, which must be one of the trials in trials.csv."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.chain import checked
from collateral.results.files import Unsound, read_json, read_rows


def read_selected(path: Path, root: Path) -> dict[str, Any]:
    """Return the chosen values of a tuning; refuse those that no trial had."""
    content = read_json(checked(path, root))
    values: dict[str, Any] = content["params"]
    trials = read_trials(path.parent / layout.TRIALS, root)
    chosen = [row for row in trials if row["is_chosen"] == "True"]
    if len(chosen) != 1 or any(chosen[0].get(key) != _text(value) for key, value in values.items()):
        raise Unsound(path, f"{values} is not the trial that {layout.TRIALS} calls chosen")
    by_rule, rule = content.get("by_rule", {}), content.get("rule")
    if by_rule.get(rule, values) not in (None, values):
        raise Unsound(path, f"{values} is not what it says that the rule {rule} chooses")
    return values


def read_trials(path: Path, root: Path) -> list[dict[str, str]]:
    """Return all trials of a tuning."""
    return read_rows(checked(path, root))


def _text(value: Any) -> str:
    """Return a value as a CSV file has it."""
    return "" if value is None else str(value)
