"""What the site needs done to a page that is written to be read as plain Markdown."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
START = "start.md"  # the README among the pages
OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]*\)")  # a file of the repository, not of docs/
RELEASED = re.compile(
    r"\[(!\[[^\]]*\]\([^)]*\))\]\(\.\./\.\./releases/[^)]*\)"
)  # a picture that leads there
COMMENT = re.compile(r"^<!-- .*? -->$", re.M)


def on_files(files: Any, config: Any) -> Any:
    """Make the README a page."""
    # Only the site's own environment has it; the tests of this file have not.
    from mkdocs.structure.files import File  # noqa: PLC0415

    files.append(File.generated(config, START, content=as_page(README.read_text("utf-8"))))
    return files


def as_page(readme: str) -> str:
    """Return the README with links that lead from docs/, and none to the forge's releases."""
    return RELEASED.sub(r"\1", readme).replace("](docs/", "](")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Take out comments, which would run into tables, and links that leave the site."""
    inside = markdown.replace(f"](../{README.name}", f"]({START}")
    return OUTSIDE.sub(r"\1", COMMENT.sub("", inside))
