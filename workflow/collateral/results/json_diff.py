"""Compare two JSON values field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

NOTHING = "nothing"
SHOWN_LENGTH = 60  # characters of a value


def find_differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the path of each field that differs, and both values, shortened for a message."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            below = f"{place}.{key}" if place else str(key)
            yield from find_differences(one.get(key, _MISSING), other.get(key, _MISSING), below)
    elif one != other:
        yield place, _shown(one), _shown(other)


_MISSING = object()


def _shown(value: Any) -> str:
    if value is _MISSING:
        return NOTHING
    text = json.dumps(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."
