"""Markdown tables, lists of config keys (default, allowed values) and pages with marks."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from collateral.config.json_schema import Untitled
from collateral.contract.params import MOST, Published

REQUIRED = "required"
POWERS = {2**32: "2³²", 10**6: "10⁶"}
YES_OR_NO = "yes or no"
WORDS = {"integer": "integer", "number": "number", "string": "text", "boolean": YES_OR_NO} | {
    "path": "path",
    "null": "`null`",
}
# Words that begin the source in a description, as in "Passes over the data; paper: 200."
SOURCES = ("paper", "public code", "public", "authors", "text", "ours")
Schema = Mapping[str, Any]


class Key(NamedTuple):
    """A config key as docs list it."""

    key: str
    default: str
    allowed: str
    what: str


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *(map(in_cell, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def in_cell(text: str) -> str:
    """Return a text with line breaks and pipes escaped for one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def list_of(rows: list[Key], of: Mapping[Key, str] | None = None) -> str:
    """Return a Markdown list of keys; `of` adds the owners of each key."""
    return "".join(f"- {_line(row, of[row] if of else '')}\n" for row in rows)


def _line(row: Key, owners: str) -> str:
    """Return a line of a list: key, default, allowed values, description."""
    facts = "; ".join(filter(None, (row.default, row.allowed)))
    what = f": {' '.join(row.what.split())}" if row.what else ""
    return f"{row.key}{f' of {owners}' if owners else ''} ({facts}){what}"


def rows_of(model: type[BaseModel], published: Published | None = None) -> Iterator[Key]:
    """Yield one row per field of a model, without the sources that docs/methods.md states."""
    schema = model.model_json_schema(schema_generator=Untitled)
    for field, info in model.model_fields.items():
        key = info.alias or field
        entry = schema["properties"][key]
        what = " ".join((info.description or _summary(entry, schema)).split())
        if any(field in said for said in (published or {}).values()):
            what = without_source(what, entry, published or {})
        yield Key(f"`{key}`", default_of(info), allowed_of(info, entry, schema), what)


def owners(rows: Iterable[tuple[str, Key]]) -> dict[Key, str]:
    """Return every distinct row once, with the names of all its owners."""
    found: dict[Key, list[str]] = {}
    for name, row in rows:
        found.setdefault(row, []).append(f"`{name}`")
    return {row: ", ".join(names) for row, names in found.items()}


def without_source(text: str, entry: Schema, published: Published) -> str:
    """Return a description without the part that names its source."""
    names = [*SOURCES, *published, *(name.removesuffix("'s code") for name in published)]
    choice = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.search(rf"(?:^|[;.,:] )((?:{choice})\b.*)", text, re.I)
    if not found or found[1].partition(":")[0] in entry.get("enum", ()):
        return text
    rest = found[1].rstrip(".").partition(". ")[2]
    what = ". ".join(filter(None, (text[: found.start()].strip(" ;,:."), rest)))
    return f"{what}." if what else ""


def _summary(entry: Schema, schema: Schema) -> str:
    """Return the first line of the docstring of a nested block, for a key without description."""
    inner = entry.get("additionalProperties")
    part = _resolved(inner if isinstance(inner, Mapping) else entry, schema)
    return str(part.get("description", "")).split("\n\n")[0]


def default_of(info: Any) -> str:
    """Return the default of a field as YAML, or the word `required`."""
    if info.is_required():
        return REQUIRED
    value = info.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "all defaults"
    return f"`{written(value)}`"


def written(value: Any) -> str:
    """Return a value as one line of YAML."""
    if value is None or value is PydanticUndefined:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-")
    return str(value)


def _resolved(entry: Schema, schema: Schema) -> Schema:
    if "$ref" in entry:
        return {**schema["$defs"][entry["$ref"].rpartition("/")[2]]}
    for part in entry.get("anyOf", ()):
        if "$ref" in part:
            return _resolved(part, schema)
    return entry


def allowed_of(info: Any, entry: Schema, schema: Schema) -> str:
    """Return the allowed types of a field without the one that its default shows."""
    default = REQUIRED if info.is_required() else info.get_default(call_default_factory=True)
    told = "`null`" if default is None else YES_OR_NO if isinstance(default, bool) else ""
    return " or ".join(part for part in _types(entry, schema) if part != told)


def type_of(entry: Schema, schema: Schema) -> str:
    """Return the type and the bounds of a value in words."""
    return " or ".join(_types(entry, schema))


def _types(entry: Schema, schema: Schema) -> list[str]:
    if "anyOf" in entry:
        found = [type_of(part, schema) for part in entry["anyOf"]]
        return list(dict.fromkeys(found))
    if "const" in entry or "enum" in entry:
        values = entry.get("enum", [entry.get("const")])
        return [", ".join(f"`{written(value)}`" for value in values)]
    if "$ref" in entry or entry.get("type") == "object":
        return [_mapping(entry, schema)]
    if entry.get("type") == "array":
        inner = _several(type_of(entry.get("items", {}), schema))
        return [f"list of {inner}{_entries(entry)}"]
    return [_plain(entry)]


def _plain(entry: Schema) -> str:
    """Return the words for a scalar type; a bounded number is described by its bounds alone."""
    word = WORDS.get(entry.get("format", entry.get("type")), "any value")
    bounds = _bounds(entry)
    return bounds if word == "number" and bounds else f"{word} {bounds}".strip()


def _several(inner: str) -> str:
    inner = f"numbers {inner}" if inner.startswith((">", "≥")) else inner
    return re.sub(r"\b(integer|number|text|path|value|block)\b", r"\1s", inner).replace("any ", "")


def _mapping(entry: Schema, schema: Schema) -> str:
    inner = entry.get("additionalProperties")
    if not isinstance(inner, Mapping) or not inner:
        return "block"
    values = type_of(inner, schema)
    kind = "lists" if values.startswith("list of") else _several(values)
    return f"{kind} by name{_entries(entry)}"


def _bounds(entry: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [
        f"{sign} {POWERS.get(entry[key], written(entry[key]))}"
        for key, sign in signs.items()
        if key in entry and entry[key] != MOST
    ]
    return ", ".join(found)


def _entries(entry: Schema) -> str:
    """Return the number of entries that a list or mapping needs, if the schema bounds it."""
    least = entry.get("minItems", entry.get("minProperties"))
    most = entry.get("maxItems", entry.get("maxProperties"))
    if least is None:
        return ""
    return ", one" if least == most == 1 else f", at least {least}"


def fill_marks(page: Path, contents: Mapping[str, str]) -> str:
    """Return a page with new contents between each `<!-- mark -->` and the next `<!-- end -->`."""
    text = page.read_text(encoding="utf-8")
    for mark, content in contents.items():
        text, count = re.subn(
            rf"(<!-- {mark} -->\n).*?(<!-- end -->)",
            lambda match, content=content: match[1] + content + match[2],
            text,
            flags=re.S,
        )
        assert count == 1, f"{page.name} has no <!-- {mark} -->"
    return text
