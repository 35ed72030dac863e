"""Tables of keys for the pages of reference: type, default, range and source, from the models."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from collateral.config.json_schema import Untitled
from collateral.contract.params import MOST
from collateral.contract.published import Published, in_words

REQUIRED = "required"
POWERS = {2**32: "2³²", 10**6: "10⁶"}
WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "yes or no",
} | {
    "path": "path",
    "null": "`null`",
}
# Where in a description its source begins: "Passes over the data; paper: 200."
SOURCE = re.compile(r"(?:^|[;.,:] )((?:paper|public code|authors|text|ours)\b.*)", re.I)
Schema = Mapping[str, Any]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *(map(in_cell, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def in_cell(text: str) -> str:
    """Return a text that may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def keys(model: type[BaseModel], published: Published | None = None, skip: Any = ()) -> str:
    """Return the table of a model's keys."""
    schema = model.model_json_schema(schema_generator=Untitled)
    rows = [row for row in _rows(model, schema, published or {}) if row[0].strip("`") not in skip]
    head = ["key", "type", "default", "range", "what it is", "source"]
    dropped = {place for place in (3, 5) if not any(row[place] for row in rows)}
    kept = [place for place in range(len(head)) if place not in dropped]
    return table([head[i] for i in kept], ([row[i] for i in kept] for row in rows))


def _rows(model: type[BaseModel], schema: Schema, published: Published) -> Iterator[list[str]]:
    for field, info in model.model_fields.items():
        key = info.alias or field
        entry = schema["properties"][key]
        what, source = parted(info.description or _summary(entry, schema), entry)
        said = [f"{by}: {_value(v[field])}" for by, v in published.items() if field in v]
        yield [
            f"`{key}`",
            type_of(entry, schema),
            default_of(info),
            range_of(entry),
            what,
            "; ".join(said) or source,
        ]


def _value(said: Any) -> str:
    return in_words({"": said}).strip()


def parted(description: str, entry: Schema) -> tuple[str, str]:
    """Return what a description says, and the source that stands in it."""
    text = " ".join(description.split())
    found = SOURCE.search(text)
    if not found or found[1].partition(":")[0] in entry.get("enum", ()):
        return text, ""
    source, _, rest = found[1].rstrip(".").partition(". ")
    parts = (text[: found.start()].strip(" ;,:."), rest)
    what = ". ".join(filter(None, parts))
    return f"{what}." if what else "", source[0].lower() + source[1:]


def _summary(entry: Schema, schema: Schema) -> str:
    """Return the first line of a block's docstring, where the key itself is not described."""
    inner = entry.get("additionalProperties")
    part = _resolved(inner if isinstance(inner, Mapping) else entry, schema)
    return str(part.get("description", "")).split("\n\n")[0]


def default_of(info: Any) -> str:
    """Return a key's default as it would be written."""
    if info.is_required():
        return REQUIRED
    value = info.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "all defaults"
    return f"`{written(value)}`"


def written(value: Any) -> str:
    """Return a value as YAML has it in a line."""
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


def type_of(entry: Schema, schema: Schema) -> str:
    """Return the type of a value in plain words."""
    if "anyOf" in entry:
        return " or ".join(dict.fromkeys(type_of(part, schema) for part in entry["anyOf"]))
    if "const" in entry or "enum" in entry:
        values = entry.get("enum", [entry.get("const")])
        return " or ".join(f"`{written(value)}`" for value in values)
    if "$ref" in entry or entry.get("type") == "object":
        return _mapping(entry, schema)
    if entry.get("type") == "array":
        return f"list of {_several(type_of(entry.get('items', {}), schema))}"
    return WORDS.get(entry.get("format", entry.get("type")), "any value")


def _several(inner: str) -> str:
    words = {
        "whole number": "whole numbers",
        "number": "numbers",
        "text": "texts",
        "path": "paths",
    } | {"any value": "values"}
    return words.get(inner, inner).replace("text or whole number", "texts or whole numbers")


def _mapping(entry: Schema, schema: Schema) -> str:
    inner = entry.get("additionalProperties")
    if not isinstance(inner, Mapping) or not inner:
        return "block"
    values = type_of(inner, schema)
    if values.startswith("list of"):
        return "lists by name"
    return "blocks by name" if values == "block" else f"{_several(values)} by name"


def range_of(entry: Schema) -> str:
    """Return the bounds of a number, or of how many entries there may be."""
    parts = [entry, *entry.get("anyOf", ())]
    inner = [part.get("items") or part.get("additionalProperties") for part in parts]
    found = [_bounds(part) for part in (*parts, *inner) if isinstance(part, Mapping)]
    found += [_entries(part) for part in parts]
    return ", ".join(dict.fromkeys(filter(None, found)))


def _bounds(entry: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [
        f"{sign} {POWERS.get(entry[key], written(entry[key]))}"
        for key, sign in signs.items()
        if key in entry and entry[key] != MOST
    ]
    return ", ".join(found)


def _entries(entry: Schema) -> str:
    least = entry.get("minItems", entry.get("minProperties"))
    most = entry.get("maxItems", entry.get("maxProperties"))
    if least is None:
        return ""
    if least == most:
        return "one entry" if least == 1 else f"{least} entries"
    return f"at least {least} entr{'y' if least == 1 else 'ies'}"


def filled(page: Path, made: Mapping[str, str]) -> str:
    """Return a page with what stands between its marks made anew."""
    text = page.read_text()
    for mark, content in made.items():
        text, count = re.subn(
            rf"(<!-- {mark} -->\n).*?(<!-- end -->)",
            lambda match, content=content: match[1] + content + match[2],
            text,
            flags=re.S,
        )
        assert count == 1, f"{page.name} has no <!-- {mark} -->"
    return text
