"""A sentence of docs/settings.md on one recorded run of the settings in miniature."""

import csv
from pathlib import Path

RECORD = Path(__file__).resolve().parents[1] / "data/suite.csv"


def read_record() -> list[dict[str, str]]:
    """Return one row per setting."""
    with RECORD.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def miniatures() -> dict[str, str]:
    """Return the sums of the recorded run as a sentence."""
    rows = read_record()
    keys = ("cells", "runs", "cpu_seconds", "red", "verdicts")
    cells, runs, seconds, red, verdicts = (sum(float(row[key]) for row in rows) for key in keys)
    return {
        "miniatures": f"The {len(rows)} settings have {cells:.0f} cells, {runs:.0f} runs and "
        f"{verdicts:.0f} verdicts; {red:.0f} checks are red. They took {seconds / 60:.1f} CPU "
        "minutes.\n"
    }
