"""What tests read in Markdown: pages, headings, links and blocks of code."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.M)


def pages() -> list[Path]:
    """Return README, the pages beside it that give commands or promises, and those of docs/."""
    beside = [ROOT / name for name in ("README.md", "AGENTS.md", "MAINTENANCE.md")]
    return [*beside, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Yield the blocks of code that are in one of these languages."""
    for language, text in BLOCK.findall(page.read_text()):
        if language in languages:
            yield text


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return BLOCK.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Return where a link can lead within a page, as GitHub and mkdocs both name it."""
    return {anchor(heading) for heading in HEADING.findall(prose(page))}


def anchor(heading: str) -> str:
    """Return a heading's anchor."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text).strip())


def links(page: Path) -> list[str]:
    """Return where the links and pictures of a page lead."""
    without_code = re.sub(r"`[^`\n]*`", "", prose(page))
    return LINK.findall(without_code)


def tables(page: Path) -> Iterator[list[str]]:
    """Yield the lines of each table."""
    for found in re.finditer(r"(?:^ *\|.*\n?)+", prose(page), re.M):
        yield found[0].splitlines()


def num_cells(line: str) -> int:
    """Return how many cells a line of a table has; on GitHub a bare pipe in code parts them too."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1
