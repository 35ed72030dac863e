"""What was probably meant by a name that nobody knows."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str | int, known: Iterable[str]) -> str:
    """Return "; did you mean X?" for the nearest spelling, or nothing."""
    spelling = {name.lower(): name for name in known}
    close = get_close_matches(str(word).lower(), spelling, n=1)
    return f"; did you mean {spelling[close[0]]}?" if close else ""


def unknown(what: str, word: str | int, known: Iterable[str]) -> str:
    """Return "no method 'sdd'; known: scrub, ssd; did you mean ssd?"."""
    known = list(known)
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    return f"no {what} '{word}'; known: {shown}{nearest(word, known)}"
