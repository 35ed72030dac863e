"""Names that become folders: which may, and how a value is written in one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from collateral.config.errors import Place, key_of

# What stands beside cells and benchmarks, and beside runs.
RESERVED = frozenset(
    {
        "base",
        "exposure",
        "figures",
        "local_teacher",
        "logs",
        "probe",
        "retrain",
        "shadows",
        "support_size",
        "tables",
        "theory",
        "tune",
    }
)

# In letters; file systems take 255. A sweep's run has a method's name and some values for a name.
LONGEST, LONGEST_RUN = 100, 200


def is_slug(name: str) -> bool:
    """Tell whether `name` may stand in a path as it is, and on a command line."""
    return re.fullmatch(rf"[a-z0-9_][a-z0-9_.-]{{0,{LONGEST - 1}}}", name) is not None


def slug(name: str) -> str:
    """Turn a true name into one that may stand in a path."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-.") or "x"


def short(value: Any) -> str:
    """Return a parameter's value as it stands in the name of a sweep's run."""
    return format(value, "g") if isinstance(value, float) else str(value).lower()


def format_varied(values: Mapping[str, Any]) -> list[str]:
    """Return what the name of a sweep's run has after the method's, part by part."""
    return [f"{key}={short(value)}" for key, value in values.items()]


def name_errors(where: Place) -> Iterator[str]:
    """Check that the last key may be a folder's name."""
    name = str(where[-1])
    if not is_slug(name) or name in RESERVED:
        yield f"{key_of(where)}: not usable as a folder's name; use a-z, 0-9, _, and from the " + (
            f"second letter . and -, at most {LONGEST}; taken are {', '.join(sorted(RESERVED))}"
        )
