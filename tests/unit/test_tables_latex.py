"""pdflatex compiles every table, and none is wider than the text of a paper."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_cell import checked
from made_benchmark import folder_of

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.write import PACKAGES, write_table
from collateral.findings.registry import in_page_order, make_tables
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import read_tables

PDFLATEX = shutil.which("pdflatex")
HEAD = r"\documentclass{article}\usepackage[textwidth=5.5in]{geometry}"
HOSTILE = ("100 % & $5 #1 {x}_^~\\", "[5, 10] *", "<b> “é” ß", "a\nb\\end{tabular}", "x" * 90)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PDFLATEX, reason="no pdflatex: apt install texlive-latex-base texlive-latex-recommended"
    ),
]


def compile_tables(folder: Path) -> str:
    """Put every table below a folder on a page of its own; return what pdflatex prints."""
    files = sorted(folder.rglob("*.tex"))
    pages = [rf"\typeout{{{file.stem}}}\input{{{file}}}\clearpage" for file in files]
    packages = PACKAGES.removeprefix("% needs ")
    document = "\n".join([HEAD, packages, r"\begin{document}", *pages, r"\end{document}"])
    (folder / "all.tex").write_text(document, encoding="utf-8")
    command = [PDFLATEX, "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    printed = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, printed[-2000:]
    assert f"({len(files)} page" in printed
    return printed


def too_wide(printed: str) -> list[str]:
    return re.findall(r"Overfull \\hbox \((\d+)\.\d+pt too wide\)", printed)


@pytest.fixture(params=["made", "cifar-small", "cifar-teacher"])
def folder(request):
    return folder_of(request)


def test_every_table_of_a_benchmark(folder, tmp_path):
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    table = checked(read_tables(plan, folder / "metrics.csv", folder / "costs.csv"))
    for finding in in_page_order("views", reference=table.reference):
        for place, source in enumerate([table, *table.cells]):
            for one in make_tables(finding, source):
                write_table(one, tmp_path / "tables" / str(place), str(place))
    assert too_wide(compile_tables(tmp_path / "tables")) == []


def test_names_of_any_characters_and_wide_tables(tmp_path):
    lines = [
        Line(text, [Field(text), Field(text, 1.0, text, True, True)], text) for text in HOSTILE
    ]
    numbers = Grid(HOSTILE[0], [*HOSTILE[:2]], [lines])
    wide = [Line(text, [Field("100.0 ± 0.0", 1.0, "(+2.6)")] * 20) for text in HOSTILE[:4]]
    prose = [Line("FT", [Field("like Retrain"), Field("A sentence. " * 20)])]
    grids = [Grid("Method", ["UA affected (%)"] * 20, [wide]), numbers]
    grids.append(Grid("Method", ["Verdict", "In numbers"], [prose], is_prose=True))
    for place, text in enumerate(HOSTILE[:4]):
        table = Table(f"t{place}", text, grids, f"{text}. {text}.", f"†: {text}. {text}.")
        write_table(table, tmp_path, text)
    assert too_wide(compile_tables(tmp_path)) == []
