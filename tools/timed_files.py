"""Tell which result files differ between equal runs: files with times, or with hashes of them."""

from pathlib import Path

NAMES = {"cost.json", "costs.csv", "costs.json", "report.html", "glance.json"}
# First letters of the names of tables and figures with times.
STARTS = ("costs.", "main.", "sweep-", "trajectory.", "verdict.")
FOLDERS = ("tables", "figures")  # folders whose record has the hashes of all their files


def has_times(path: Path) -> bool:
    """Tell whether a result file contains times or hashes of such files, by its path."""
    is_record = path.name == "record.json" and path.parent.name in FOLDERS
    return is_record or path.name in NAMES or path.name.startswith(STARTS)
