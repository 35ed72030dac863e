"""What a tuning chose: selected.json, which must be one of the trials in trials.csv."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from collateral.results import layout
from collateral.results.chain import checked
from collateral.results.files import Unsound, read_json


def read_selected(path: Path, root: Path) -> dict[str, Any]:
    """Return the chosen values of a tuning; refuse those that no trial had."""
    values: dict[str, Any] = read_json(checked(path, root))["params"]
    trials = read_trials(path.parent / layout.TRIALS, root)
    chosen = [row for row in trials if row["is_chosen"] == "True"]
    if len(chosen) != 1 or any(str(value) != chosen[0][key] for key, value in values.items()):
        raise Unsound(path, f"{values} is not the trial that {layout.TRIALS} calls chosen")
    return values


def read_trials(path: Path, root: Path) -> list[dict[str, str]]:
    """Return all trials of a tuning."""
    with checked(path, root).open(newline="") as file:
        return list(csv.DictReader(file))
