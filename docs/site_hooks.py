"""What the site needs done to a page that is written to be read as plain Markdown."""

import re

OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]*\)")  # a file of the repository, not of docs/
COMMENT = re.compile(r"^<!-- .*? -->$", re.M)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Take out comments, which would run into tables, and links that leave the site."""
    return OUTSIDE.sub(r"\1", COMMENT.sub("", markdown))
