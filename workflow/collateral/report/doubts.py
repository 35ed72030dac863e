"""Verdicts on the numbers themselves, which pages show with every number (finding `trust`)."""

import csv
from pathlib import Path
from typing import Any

# Written by docs/generate.py from the results in docs/data/trust; empty before there are any.
FILE = Path(__file__).with_name("doubts.csv")
LINK = "../../docs/which-number.md"  # from results/<benchmark>/report.html of a checkout
NOT_TRUSTED = 0


def read_doubts(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """Return, by metric and set, what is wrong with a number, and whether the page greys it.

    Numbers that are trusted, and those that were not judged, are left out.
    """
    with file.open(newline="", encoding="utf-8") as rows:
        return {
            f"{row['metric']}|{row['set']}": {
                "text": row["text"],
                "grey": int(row["code"]) == NOT_TRUSTED,
                "link": LINK,
            }
            for row in csv.DictReader(rows)
        }
