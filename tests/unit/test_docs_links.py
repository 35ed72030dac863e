"""Links of README and docs, on the forge too, and rows of tables; `make docs` checks the site."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from markdown_reading import ROOT, anchors, links, num_cells, pages, tables

DOCS = ROOT / "docs"
site_hooks = SimpleNamespace(**runpy.run_path(str(DOCS / "site_hooks.py")))
PAGES = pages()
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
# What `make release` makes, as the forge that shows README serves it.
ASSETS = {"../../releases/latest/download/digits-report.html"}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def in_nav(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry.values() if isinstance(entry, dict) else entry:
            yield from in_nav(inner)


def leads_nowhere(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere within the repository."""
    found = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_elsewhere = re.match(r"\w+:", link) or link in ASSETS
        if not is_elsewhere and not (target.exists() and _has(target, anchor)):
            found.append(link)
    return found


def _has(target: Path, anchor: str) -> bool:
    return not anchor or (target.suffix == ".md" and anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    assert leads_nowhere(page) == []


def test_no_page_has_the_marks_of_a_merge():
    texts = {page.name: page.read_text() for page in [*PAGES, ROOT / "CHANGELOG.md"]}
    assert [n for n, text in texts.items() if re.search(r"^(<{7}|>{7}|={7}$)", text, re.M)] == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](none.md) [d](page.md#one) ![e](none.png)\n")
    assert leads_nowhere(page) == ["#two", "none.md", "none.png"]


def test_links_are_found():
    assert sum(len(links(page)) for page in PAGES) > 100


def test_the_first_page_leads_to_every_other():
    led = {link.partition("#")[0] for link in links(DOCS / "index.md")}
    of_site = {link for link in led if link.endswith(".md") and not link.startswith("../")}
    assert {*in_nav(SITE["nav"])} - {"index.md", site_hooks.START} == of_site


def test_the_readme_is_a_page_of_the_site():
    text = site_hooks.as_page((ROOT / "README.md").read_text())
    found = re.findall(r"\]\((?!\w+:)([^)#]*)", text)
    assert len(found) > 10
    assert [link for link in found if not (DOCS / link).exists()] == []
    said = site_hooks.on_page_markdown("[a](../README.md#the-words) [b](../LICENSE)")
    assert said == "[a](start.md#the-words) b"


def test_every_picture_is_shown_somewhere():
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    assert {*(DOCS / "images").iterdir()} - {DOCS / "images/captions.json"} <= shown


def ragged(page: Path) -> list[str]:
    """Return the lines that have more or fewer cells than the head of their table."""
    return [line for rows in tables(page) for line in rows if num_cells(line) != num_cells(rows[0])]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_line_of_a_table_has_as_many_cells_as_its_head(page):
    assert ragged(page) == []


def test_a_line_with_a_pipe_too_many_is_seen(tmp_path):
    page = tmp_path / "page.md"
    bad = ["| |test| | b |", "| `a|b` | b |", "| a |"]
    lines = ["| one | two |", "| --- | --- |", r"| \|test\| | `a\|b` |", *bad]
    page.write_text("\n".join(["# One", *lines, "", "| a |", "| - |", "```", "| a | b |", "```"]))
    assert ragged(page) == bad


def test_tables_are_found():
    assert sum(1 for page in PAGES for _ in tables(page)) > 40
