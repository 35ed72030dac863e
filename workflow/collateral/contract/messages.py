"""Parts of error messages: unknown names, nearest spellings, quoted values."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

SHOWN_LENGTH = 60  # maximum number of characters of a quoted value
MOST_LISTED = 20  # maximum number of names in a list
IN_QUOTES = "true and false are not text: put such a name in quotes"


def did_you_mean(word: str | int, known: Iterable[str]) -> str:
    """Return "; did you mean X?" for the nearest spelling, or an empty text."""
    close = nearest_names(word, known, count=1)
    return f"; did you mean {close[0]}?" if close else ""


def nearest_names(word: str | int, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the names with the nearest spellings, best first."""
    spelling = {name.lower(): name for name in known}
    close = get_close_matches(str(word)[:SHOWN_LENGTH].lower(), spelling, n=count)
    return [printable(spelling[name]) for name in close]


def unknown_name(what: str, word: Any, known: Iterable[str], meant: Sequence[str] = ()) -> str:
    """Return "no method 'sdd'; known: scrub, ssd; did you mean ssd?".

    The suggestion is the first name in `meant`, or the known name with the nearest spelling.
    """
    known = list(known)
    hint = did_you_mean(word, known) if not meant else f"; did you mean {meant[0]}?"
    return f"no {what} {quoted(str(word))}; {listed('known', known)}{hint}"


def listed(what: str, names: Sequence[str]) -> str:
    """Return a list of names such as "known: scrub, ssd"; long lists are shortened."""
    more = ", ..." if len(names) > MOST_LISTED else ""
    return f"{what}: {', '.join(map(printable, names[:MOST_LISTED])) or 'none'}{more}"


def printable(name: str) -> str:
    """Return a name unchanged; quote it if it is long or not printable."""
    return name if name.isprintable() and len(name) <= SHOWN_LENGTH else quoted(name)


def quoted(value: Any) -> str:
    """Return a value as one line of text, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."


def looked_for(path: Path) -> str:
    """Return the end of an error message: where a missing relative `path` was looked for, or ""."""
    path = path.expanduser()
    try:
        is_there = path.exists()
    except OSError:  # no permission, or a name that is too long
        is_there = False
    if path.is_absolute() or is_there:
        return ""
    return f"; paths start at the working folder: looked for {str(path.absolute())!r}"


def error_in_one_line(error: Exception) -> str:
    """Return the type and the text of an error as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
