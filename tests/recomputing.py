"""Run the lines of Python of docs/formats.md in a published folder, and hold them to its table."""

import os
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_reading import ROOT, blocks

SETS = {"ua": "forget", "ra": "retain", "ta": "test"}
TOLERANCE = 1e-12


def recompute(folder: Path) -> dict[str, Any]:
    """Return what the lines of the docs compute in a published folder, by name."""
    found: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for text in blocks(ROOT / "docs/formats.md", "python"):
            exec(compile(text, "docs/formats.md", "exec"), found)
    finally:
        os.chdir(before)
    return found


def compare_with_table(folder: Path, found: dict[str, Any]) -> dict[str, int]:
    """Compare all numbers with metrics.csv, and return how many there are, by metric."""
    table = pd.read_csv(folder / "metrics.csv")
    table = table[table["value"].notna()].assign(seed=table["seed"].astype("Int64"))
    frames = {
        **{metric: found["accuracy"].xs(name, level="set") for metric, name in SETS.items()},
        "near_loss": found["near_loss"],
        "mia": found["mia"],
        "avg_gap": found["avg_gap"],
    }
    counts = {}
    for metric, frame in frames.items():
        rows = table[table["metric"] == metric]
        index = [*frame.index.names, "run"]
        expected = rows.set_index(index)["value"].to_dict()
        computed = frame.stack().dropna().to_dict()
        computed = {key: value for key, value in computed.items() if key in expected} | {
            key: value for key, value in computed.items() if not _is_of_itself(metric, key)
        }
        assert computed.keys() == expected.keys(), metric
        wrong = {k: v for k, v in computed.items() if abs(v - expected[k]) > TOLERANCE}
        assert wrong == {}, metric
        counts[metric] = len(expected)
    return counts


def _is_of_itself(metric: str, key: tuple[Any, ...]) -> bool:
    """Tell whether a number is Retrain's distance from itself, which the table does not have."""
    return key[-1] == "retrain" and metric in ("near_loss", "avg_gap")
