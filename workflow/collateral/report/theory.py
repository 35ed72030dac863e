"""The theory's figures and tables on the page."""

import csv
from dataclasses import dataclass
from pathlib import Path

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.report.sections import Illustration, illustration
from collateral.results import layout
from collateral.results.chain import check_folder
from collateral.results.files import read_json

TABLES = {layout.THEORY_FINDINGS: "Findings", layout.THEORY_CHECKS: "Checks"}
NUMBER = Metric("", "", "")


@dataclass(frozen=True)
class Theory:
    """Figures and tables of the theory."""

    pictures: list[Illustration]
    tables: list[Table]


def theory_of(folder: Path) -> Theory:
    """Read the figures with their captions, and the tables that exist."""
    check_folder(folder)
    figures = folder / layout.FIGURES
    captions: dict[str, str] = read_json(figures / layout.CAPTIONS)
    return Theory(
        [illustration(figures, name, caption) for name, caption in captions.items()],
        [_table(folder / name) for name in TABLES if (folder / name).exists()],
    )


def _table(file: Path) -> Table:
    """Return a small CSV file as a table, with numbers of four digits."""
    with file.open(newline="", encoding="utf-8") as lines:
        (corner, *headings), *rows = csv.reader(lines)
    found = [Line(row[0], [Field(_short(text)) for text in row[1:]]) for row in rows]
    return Table(file.stem, TABLES[file.name], [Grid(corner, headings, [found], is_prose=True)])


def _short(text: str) -> str:
    try:
        return NUMBER.text(float(text))
    except ValueError:
        return text
