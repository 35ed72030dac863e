"""Tables of docs/board.md, and of docs/data/forgeries.md, that tests make."""

import re
from pathlib import Path

import pytest
from generators.tables import fill_marks

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"forgeries": DOCS / "data/forgeries.md", "honest": DOCS / "board.md"}  # by mark


def hold_to_page(mark: str, content: str, config: pytest.Config) -> None:
    """Compare with what the page has after a mark, but for digits; `--fix` writes it there."""
    page = PAGES[mark]
    if config.getoption("--fix"):
        page.write_text(fill_marks(page, {mark: content}), encoding="utf-8")
    shown = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")[2]
    shown = shown.partition("<!-- end -->")[0]
    assert _without_digits(shown) == _without_digits(content), f"{page.name} is stale: add --fix"


def _without_digits(text: str) -> str:
    """Return a text without numbers, which another CPU may round otherwise."""
    return re.sub(r"[−\d][\d.,e−-]*", "#", text)
