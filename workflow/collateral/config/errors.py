"""Say what is wrong in the config: the key, the value, what is allowed, the nearest spelling."""

import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from collateral.core.spelling import nearest

SHOWN_LENGTH = 60
Place = tuple[str | int, ...]


class ConfigError(ValueError):
    """All that is wrong with a config, a line each."""

    def __init__(self, messages: Iterable[str]) -> None:
        """Join the messages."""
        super().__init__("\n".join(messages))


def key_of(parts: Sequence[str | int]) -> str:
    """Write ("fractions", 0) as `fractions[0]`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def explain(error: ValidationError, model: type[BaseModel], where: Place) -> list[str]:
    """Return one message for each thing that pydantic found, `where` being the model's place."""
    return [_message(dict(item), model, where) for item in error.errors()]


def _message(item: dict[str, Any], model: type[BaseModel], where: Place) -> str:
    place = [part for part in item["loc"] if not _is_type_name(part)]
    key = key_of([*where, *place])
    value = repr(item["input"])
    value = value if len(value) <= SHOWN_LENGTH else value[: SHOWN_LENGTH - 3] + "..."
    if item["type"] == "extra_forbidden":
        known = _fields_at(model, place[:-1])
        hint = nearest(str(place[-1]), known)
        return f"{key}: unknown key (value {value}); allowed: {', '.join(known)}{hint}"
    if item["type"] == "missing":
        return f"{key}: missing; it has no default"
    if item["type"] == "literal_error":
        allowed = item["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        hint = nearest(str(item["input"]), allowed)
        return f"{key}: {value} is not allowed; allowed: {', '.join(allowed)}{hint}"
    reason = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{key}: {value}: {reason}" if place else f"{key}: {reason}"


def _is_type_name(part: str | int) -> bool:
    """Tell whether pydantic put the branch of a union, not a key, into an error's place."""
    return part in {"int", "str", "float", "bool"} or (isinstance(part, str) and "[" in part)


def _fields_at(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the field names of the model that stands at `place` inside `model`."""
    current: Any = model
    for part in place:
        if _is_model(current):
            current = current.model_fields[str(part)].annotation
        else:  # a dict, list or tuple: `part` is a key of it
            current = next(arg for arg in reversed(typing.get_args(current)) if arg is not ...)
        if typing.get_origin(current) in {typing.Union, types.UnionType}:
            current = next(arg for arg in typing.get_args(current) if arg is not type(None))
    return list(current.model_fields)


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)
