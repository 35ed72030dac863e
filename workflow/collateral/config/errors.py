"""Error messages of the config: key, value, allowed values, nearest spelling."""

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from collateral.contract.messages import IN_QUOTES, did_you_mean, printable, quoted

# Dict from pydantic's type of error to a message that uses words of YAML instead of Python.
REASONS = {
    "dict_type": "should be a mapping",
    "invalid_key": "a key should be text",
    "list_type": "should be a list",
    "model_type": "should be a mapping",
    "path_type": "should be a path",
    "too_long": "too many entries; at most {max_length}",
    "too_short": "too few entries; at least {min_length}",
    "tuple_type": "should be a list",
}
# Names of types that pydantic appends to `loc` for a value that may have several types.
BRANCHES = {"", "bool", "int", "constrained-int", "float", "str"}
Place = tuple[str | int, ...]  # position in the config: keys and list indices
Problem = tuple[Place, str]  # position of an error, and the reason


class ConfigError(ValueError):
    """All errors of a config, one line each."""

    def __init__(self, problems: Iterable[str | Problem]) -> None:
        """Join the errors to one text."""
        self.problems: list[Any] = list(problems)
        super().__init__("\n".join(map(_line, self.problems)))


def _line(problem: str | Problem) -> str:
    if isinstance(problem, str):
        return problem
    return f"{format_key(problem[0]) or 'config'}: {problem[1]}"


def format_key(parts: Sequence[str | int]) -> str:
    """Format a path of keys: ("fractions", 0) becomes `fractions[0]`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{printable(part)}"
    return text.removeprefix(".")


def find_errors(model: type[BaseModel], given: Mapping[str, Any], where: Place) -> list[Problem]:
    """Return the errors in `given`, the values for a model at the place `where` in the config."""
    try:
        model.model_validate(dict(given))
    except ValidationError as error:
        return explain(error, model, where)
    return []


def explain(error: ValidationError, model: type[BaseModel], where: Place) -> list[Problem]:
    """Return one error per invalid key; `where` is the position of the model in the config."""
    found: dict[Place, list[dict[str, Any]]] = {}
    for item in error.errors():
        found.setdefault(_place(dict(item)), []).append(dict(item))
    return [
        ((*where, *place), _message(items, model, place))
        for place, items in found.items()
        # If a list has invalid items, do not report that it is too short or differs from `all`.
        if items[0]["type"] not in {"too_short", "literal_error"}
        or not any(place == p[: len(place)] != p for p in found)
    ]


def _place(item: dict[str, Any]) -> Place:
    """Return the position of an error, without the type that pydantic appends for a union."""
    *outer, last = item["loc"] or ("",)
    outer = [part for part in outer if not str(part).startswith("tuple[")]
    # For an invalid key, `loc` ends with the key and "[key]"; pydantic changes the key `true` to 1.
    if last == "[key]":
        return (*outer[:-1], str(item["input"]))
    if item["type"] == "invalid_key":
        return (*outer, str(last))
    is_branch = item["type"] != "extra_forbidden" and (last in BRANCHES or "[" in str(last))
    return tuple(outer) if is_branch else (*outer, last)


def _message(items: list[dict[str, Any]], model: type[BaseModel], place: Place) -> str:
    kind, given, context = items[0]["type"], items[0]["input"], items[0].get("ctx", {})
    value = quoted(given)
    if kind == "extra_forbidden":
        known = _keys_at(model, place[:-1])
        hint = did_you_mean(place[-1], known)
        return f"unknown key (value {value}); allowed: {', '.join(known) or 'none'}{hint}"
    if kind == "missing":
        return "missing; it has no default"
    if kind == "literal_error":
        allowed = context["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        hint = did_you_mean(str(given), allowed)
        return f"{value} is not allowed; allowed: {', '.join(allowed)}{hint}"
    reason = ", or ".join(map(_reason, items))
    is_about_keys = kind == "value_error" and isinstance(given, dict)
    return reason if is_about_keys else f"{value}: {reason}"


def _reason(item: dict[str, Any]) -> str:
    """Return the reason of an error: pydantic's text, or a text of REASONS in words of YAML."""
    if item["type"] in REASONS:
        return REASONS[item["type"]].format(**item.get("ctx", {}))
    reason = str(item["msg"].removeprefix("Value error, ").removeprefix("Input "))
    is_boolean_name = item["type"] == "string_type" and isinstance(item["input"], bool)
    return f"{reason}; {IN_QUOTES}" if is_boolean_name else reason


def _keys_at(model: type[BaseModel], place: Place) -> list[str]:
    """Return the allowed keys of the nested model at `place` inside `model`."""
    current: Any = model
    for part in place:
        if isinstance(current, type) and issubclass(current, BaseModel):
            current = current.model_fields[str(part)].annotation
        else:  # `current` is the type of a dict, list or tuple: continue with the type of its items
            current = next(arg for arg in reversed(typing.get_args(current)) if arg is not ...)
        if typing.get_origin(current) in {typing.Union, types.UnionType}:
            current = next(arg for arg in typing.get_args(current) if arg is not type(None))
    return [field.alias or name for name, field in current.model_fields.items()]
