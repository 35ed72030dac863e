"""Write the index page of the benchmarks of all configs, and the page on the paper's theory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from collateral.report.page import list_pages, render_index, render_theory
from collateral.results import layout
from collateral.results.files import atomic
from collateral.results.provenance import sign_page


def index(
    *,
    results: Annotated[Path, "folder of benchmarks"],
    first: Annotated[Sequence[str], "benchmarks to list first, in this order"] = (),
    theory: Annotated[Path | None, "folder of the theory's figures"] = None,
    theory_page: Annotated[Path | None, "page of the theory to write"] = None,
    out: Annotated[Path, "index page to write"],
) -> None:
    """Write the index page and, if its path is given, the page on the theory."""
    pages = list_pages(results, [*first])
    link = ""
    if theory and theory_page:
        link = quote(theory_page.relative_to(out.parent).as_posix())
        _write(theory_page, render_theory(theory), [theory / layout.RECORD])
    inputs = [results / page.name / layout.GLANCE for page in pages]
    _write(out, render_index(pages, link), inputs)


def _write(path: Path, text: str, inputs: list[Path]) -> None:
    with atomic(path) as temporary:
        temporary.write_text(sign_page(text, inputs, path.parent), encoding="utf-8")
