"""Verdicts on the numbers themselves, which pages show with every number (finding `trust`)."""

import csv
from pathlib import Path
from typing import Any

# Written by docs/generate.py from the results in docs/data/trust; empty before there are any.
FILE = Path(__file__).with_name("doubts.csv")
LINK = "../../docs/which-number.md"  # from results/<benchmark>/report.html of a checkout
NOT_TRUSTED, NOT_JUDGED = 0, -1
# The number behind each measure of a verdict, by metric and set. What is wrong with the number is
# wrong with its tests, too: these metrics have the measure in their index (`at`).
MEASURED = {
    **{"ua": "ua|", "mia": "mia|", "near": "near_loss|retain", "near_test": "near_loss|test"},
    **{"far": "far_loss|retain", "far_test": "far_loss|test", "damage": "damage|retain"},
}
TESTED = (
    *("difference", "difference_low", "difference_high", "difference_p"),
    *("equivalence_low", "equivalence_high", "equivalence_p", "within", "shown", "judged_rate"),
)


def read_doubts(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """Return, by metric and set, what is wrong with a number, and how the page marks it.

    Numbers that are trusted, and those that claim nothing, are left out.
    """
    with file.open(newline="", encoding="utf-8") as rows:
        return {
            f"{row['metric']}|{row['set']}": {
                "text": row["text"],
                "grey": int(row["code"]) == NOT_TRUSTED,
                "unjudged": int(row["code"]) == NOT_JUDGED,
                "link": LINK,
            }
            for row in csv.DictReader(rows)
        }
