"""Hooks of mkdocs that turn pages written as plain Markdown into pages of the site."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file from elsewhere
from generators.board import PAGE, board_page

README = Path(__file__).parents[1] / "README.md"
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
    """Add the README to the pages of the site."""
    # mkdocs is installed in the site's environment only, not for the tests.
    from mkdocs.structure.files import File  # noqa: PLC0415

    files.append(File.generated(config, START, content=as_page(README.read_text("utf-8"))))
    files.append(File.generated(config, PAGE, content=board_page()))
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
