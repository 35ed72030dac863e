"""Write the index of all benchmarks' pages, including those of other configs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.report.index import list_pages, render_index
from collateral.results import layout
from collateral.results.files import atomic
from collateral.results.provenance import sign_page


def index(
    *,
    results: Annotated[Path, "folder of benchmarks"],
    first: Annotated[Sequence[str], "benchmarks, in this order"] = (),
    theory: Annotated[Path | None, "folder of the theory's figures"] = None,
    out: Annotated[Path, "the index"],
) -> None:
    """Render the index and write it."""
    pages = list_pages(results, [*first])
    inputs = [results / page.name / layout.GLANCE for page in pages]
    inputs += [theory / layout.RECORD] if theory else []
    page = sign_page(render_index(pages, theory), inputs, out.parent)
    with atomic(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
