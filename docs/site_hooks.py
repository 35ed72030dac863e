"""Hooks of mkdocs that turn pages written as plain Markdown into pages of the site."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
# `make board` writes it; the site's environment has not what it needs.
BOARD = Path(__file__).parents[1] / "build" / "board.html"
PAGE = "leaderboard.html"  # its name in the site
START = "start.md"  # name of the README among the pages
OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]*\)")  # link to a file outside docs/
RELEASED = re.compile(
    r"\[(!\[[^\]]*\]\([^)]*\))\]\(\.\./\.\./releases/[^)]*\)"
)  # link around a picture
BESIDE = re.compile(
    r"(?<!!)\[([^\]]+)\]\((?!docs/|\.\./|\w+:|#)[^)]*\)"
)  # README's link to a file outside docs/
COMMENT = re.compile(r"^<!-- .*? -->$", re.M)


def on_files(files: Any, config: Any) -> Any:
    """Add the README and the board to the pages of the site."""
    # mkdocs is installed in the site's environment only, not for the tests.
    from mkdocs.structure.files import File  # noqa: PLC0415

    files.append(File.generated(config, START, content=as_page(README.read_text("utf-8"))))
    files.append(File.generated(config, PAGE, content=BOARD.read_text("utf-8")))
    return files


def as_page(readme: str) -> str:
    """Return the README with links relative to docs/, and without links to anything else here."""
    return BESIDE.sub(r"\1", RELEASED.sub(r"\1", readme)).replace("](docs/", "](")


def on_page_markdown(markdown: str, page: Any = None, **_: object) -> str:
    """Remove comments, which would break tables, and links that leave the site; link the board."""
    inside = markdown.replace(f"](../{README.name}", f"]({START}")
    if page and page.file.src_uri == "board.md":
        inside = inside.replace(f"`{PAGE}`", f"[`{PAGE}`]({PAGE})")
    return OUTSIDE.sub(r"\1", COMMENT.sub("", inside))
