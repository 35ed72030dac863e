"""Table of docs/settings.md: one recorded run of the settings in miniature."""

import csv
from pathlib import Path

from generators.tables import table

RECORD = Path(__file__).resolve().parents[1] / "data/suite.csv"
HEAD = ["setting", "cells", "runs", "minutes", "CPU minutes", "red checks", "verdicts"]


def read_record() -> list[dict[str, str]]:
    """Return one row per setting."""
    with RECORD.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def miniatures() -> dict[str, str]:
    """Return the table of the recorded run, with its sums."""
    rows = read_record()
    keys = ("cells", "runs", "seconds", "cpu_seconds", "red", "verdicts")
    sums = {key: sum(float(row[key]) for row in rows) for key in keys}
    lines = [(f"`{row['setting']}`", *_cells(row)) for row in rows]
    return {"miniatures": table(HEAD, [*lines, ("all", *_cells(sums))])}


def _cells(row: dict[str, str] | dict[str, float]) -> list[str]:
    """Return the numbers of a row as text."""
    minutes = [f"{float(row[key]) / 60:.1f}" for key in ("seconds", "cpu_seconds")]
    counts = [f"{float(row[key]):.0f}" for key in ("cells", "runs", "red", "verdicts")]
    return [*counts[:2], *minutes, *counts[2:]]
