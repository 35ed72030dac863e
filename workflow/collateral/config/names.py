"""Names of folders: allowed characters, and the format of parameter values in names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from collateral.config.errors import Place, Problem

# Names of folders in results/, which no benchmark, cell or run may have.
_FOLDERS = """
    base exposure figures local_teacher logs probe retrain shadows support_size tables theory tune
"""
RESERVED = frozenset(_FOLDERS.split())

# Maximum length of a name, and of the name of a run in a sweep; file systems allow 255.
LONGEST, LONGEST_RUN = 100, 200


def is_slug(name: str) -> bool:
    """Tell whether `name` can be used in a path and on a command line without changes."""
    return re.fullmatch(rf"[a-z0-9_][a-z0-9_.-]{{0,{LONGEST - 1}}}", name) is not None


def slug(name: str) -> str:
    """Convert any name to one that can be used in a path."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-.") or "x"


def format_value(value: Any) -> str:
    """Format a parameter value for the name of a sweep's run."""
    return format(value, "g") if isinstance(value, float) else str(value).lower()


def format_varied(values: Mapping[str, Any]) -> list[str]:
    """Return the parameter values in the name of a sweep's run, such as `support=random`."""
    return [f"{key}={format_value(value)}" for key, value in values.items()]


def name_errors(where: Place) -> Iterator[Problem]:
    """Check that the last key of a config path can be the name of a folder."""
    name = str(where[-1])
    if not is_slug(name) or name in RESERVED:
        allowed = f"use a-z, 0-9, _, and from the second letter . and -, at most {LONGEST}"
        taken = f"taken are {', '.join(sorted(RESERVED))}"
        yield where, f"not usable as a folder's name; {allowed}; {taken}"
