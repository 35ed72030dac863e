"""Give the next release its number, everywhere: `make release VERSION=0.2.0` runs this.

    python tools/raise_version.py 0.2.0 2026-12-01

The number is written to the package, its BibTeX entry, CITATION.cff and .zenodo.json, and the
changelog's section "Unreleased" becomes that of the number and the day.
"""

import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMBER = r"(\d+\.\d+\.\d+)"
# What stands before and after the number in each file, as a pattern.
PLACES = {
    "workflow/collateral/__init__.py": rf'(?<=^__version__ = "){NUMBER}(?="$)',
    "workflow/collateral/citation.bib": rf"(?<=^  version = \{{){NUMBER}(?=\}},$)",
    "CITATION.cff": rf"(?<=^version: ){NUMBER}$",
    ".zenodo.json": rf'(?<=^  "version": "){NUMBER}(?=",$)',
}
DAYS = {
    "CITATION.cff": r"(?<=^date-released: )\d{4}-\d\d-\d\d$",
    ".zenodo.json": r'(?<=^  "publication_date": ")\d{4}-\d\d-\d\d(?=",$)',
}
UNRELEASED = r"^## Unreleased\n\n(?=- )"  # with at least one entry


def raise_version(root: Path, version: str, day: date) -> None:
    """Write the version and the day to all files, or to none if one of them is not as expected."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in [*PLACES, "CHANGELOG.md"]}
    old = re.search(PLACES["CITATION.cff"], texts["CITATION.cff"], re.M)
    if not re.fullmatch(NUMBER, version) or (old and parts(version) <= parts(old[0])):
        raise ValueError(f"version {version}: three numbers above {old and old[0]} are expected")
    for name, pattern in PLACES.items():
        texts[name] = put(name, texts[name], pattern, version)
    for name, pattern in DAYS.items():
        texts[name] = put(name, texts[name], pattern, f"{day}")
    heading = f"## Unreleased\n\n## {version} - {day}\n\n"
    texts["CHANGELOG.md"] = put("CHANGELOG.md", texts["CHANGELOG.md"], UNRELEASED, heading)
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")


def parts(version: str) -> list[int]:
    """Return the numbers of a version, to compare it with another."""
    return [int(part) for part in version.split(".")]


def put(name: str, text: str, pattern: str, new: str) -> str:
    """Replace a text that must occur once in a file."""
    text, count = re.subn(pattern, new, text, flags=re.M)
    if count != 1:
        raise ValueError(f"{name}: {count} lines match {pattern}; one is expected")
    return text


if __name__ == "__main__":
    try:
        raise_version(ROOT, sys.argv[1], date.fromisoformat(sys.argv[2]))
    except ValueError as error:
        raise SystemExit(f"make release: {error}") from None
