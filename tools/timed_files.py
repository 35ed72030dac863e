"""Which files of results hold times: what is never the same twice, and what has hashes of it."""

from pathlib import Path

NAMES = {"cost.json", "costs.csv", "costs.json", "report.html", "glance.json"}
STARTS = ("costs.", "main.", "sweep-", "trajectory.", "verdict.")  # of tables and figures
FOLDERS = ("tables", "figures")  # whose record names all files in them


def has_times(path: Path) -> bool:
    """Tell it by the name."""
    is_record = path.name == "record.json" and path.parent.name in FOLDERS
    return is_record or path.name in NAMES or path.name.startswith(STARTS)
