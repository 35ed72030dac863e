"""Tables of claims in docs/ are what the command makes of docs/data/; `--fix` makes them anew."""

from pathlib import Path

import pytest

from paper.claims.text import TABLE, fill_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if TABLE.search(page.read_text())]


def test_every_set_of_results_that_is_kept_is_in_a_page():
    shown = {match[2] for page in PAGES for match in TABLE.finditer(page.read_text())}
    assert shown == {folder.name for folder in (DOCS / "data").iterdir() if folder.is_dir()}
    assert shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_claims_are_up_to_date(page, pytestconfig):
    wanted = fill_page(page.read_text(), DOCS / "data")
    if pytestconfig.getoption("--fix"):
        page.write_text(wanted)
    assert page.read_text() == wanted, f"{page.name} is stale: run this test with --fix"
