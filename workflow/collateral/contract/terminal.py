"""Text for the terminal: lines that are no longer than the terminal is wide."""

import re
import shutil
from collections.abc import Iterator
from textwrap import wrap

JOINED = "\u00a0"  # space at which no line is broken
WIDEST = 100  # longer lines are hard to read, also on a wide terminal
# Beginning of a line that is not joined with the line before it: a list item, or an indented line.
OWN_LINE = re.compile(r"\s|- |\d+\. ")


def terminal_width() -> int:
    """Return the number of characters per line: 80 if the output is no terminal."""
    return min(shutil.get_terminal_size().columns, WIDEST)


def hang(first: str, text: str, indent: int | None = None) -> str:
    """Return `first` and `text`, whose further lines are indented by `indent` (default: as text).

    Words that are longer than a line, such as paths, are not broken.
    """
    indent = len(first) if indent is None else indent
    return "\n".join(_wrap(text, first, " " * indent)) or first.rstrip()


def fill_paragraphs(text: str, indent: str = "") -> str:
    """Return a text whose paragraphs are wrapped; list items and indented lines stay lines."""
    return "\n".join(line for part in _paragraphs(text) for line in _wrap(part, indent, indent))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs, each as one line, with an empty line between them."""
    part: list[str] = []
    for line in text.splitlines():
        if part and (not line.strip() or OWN_LINE.match(line)):
            yield " ".join(part)
            part = []
        if line.strip():
            part.append(line.rstrip())
        else:
            yield ""
    if part:
        yield " ".join(part)


def _wrap(text: str, first: str, other: str) -> list[str]:
    # A number and its percent sign stay together.
    lines = wrap(
        text.replace(" %", f"{JOINED}%"),
        terminal_width(),
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(JOINED, " ") for line in lines] or [""]
