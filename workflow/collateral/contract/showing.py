"""Which pictures of examples the results of a benchmark may contain."""

from typing import Literal, get_args

Showing = Literal["none", "retained", "all"]
SHOWINGS: tuple[Showing, ...] = get_args(Showing)
NO_PICTURES, RETAINED, ALL_PICTURES = SHOWINGS
WITHDRAWN = ("files", "where")  # kinds of forget sets that are lists of what was withdrawn


def default_showing(kind: str) -> Showing:
    """Return the pictures to keep for a kind of forget set, if the config does not say."""
    return RETAINED if kind in WITHDRAWN else ALL_PICTURES
