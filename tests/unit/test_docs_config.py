"""docs/config.md: its tables are the schema's, its examples load, and every key has one."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from markdown_reading import ROOT, blocks
from pydantic import BaseModel
from reference_tables import Key, filled, owners, rows_of, table_of, type_of

from collateral.config.load import load
from collateral.config.schema import BenchmarkConfig, Config
from collateral.config.yaml import parse
from collateral.contract.data import DataOptions
from collateral.contract.plugins import FORGET

PAGE = ROOT / "docs/config.md"


def inner(annotation: Any) -> tuple[type[BaseModel], bool] | None:
    """Return the block that a key holds, if any, and whether there are several, by name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for part in get_args(annotation):
        if found := inner(part):
            return found[0], found[1] or get_origin(annotation) is dict
    return None


def blocks_in(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the blocks of a model and of those in it, each under its key."""
    for key, info in model.model_fields.items():
        if found := inner(info.annotation):
            yield key, found[0]
            yield from blocks_in(found[0])


# By the mark in the page: each block under its key; what plug-ins add to is not in the schema.
MODELS = {
    "config": Config,
    **dict(blocks_in(Config)),
    "data": DataOptions,
}
FRAME = {
    "data": {"name": "digits"},
    "model": "resnet8",
    "seeds": [0],
    "classes": ["digit_3"],
    "fractions": [0.5],
    "methods": {"ft": {}},
}
EXAMPLES = list(blocks(PAGE, "yaml"))


def whole(text: str) -> dict[str, Any]:
    """Return the config that a snippet is, or is a part of a benchmark of."""
    given = parse(text)
    return given if "benchmarks" in given else {"benchmarks": {"b": {**FRAME, **given}}}


def kinds() -> str:
    """Return a line a kind of forget set, and the table of all their keys."""
    modules = {name: FORGET.load(name) for name in FORGET.names()}
    lines = "".join(f"- `{name}`: {_first(module)}\n" for name, module in modules.items())
    of = owners((name, row) for name, module in modules.items() for row in rows_of(module.Params))
    return f"{lines}\n{table_of(list(of), of)}"


def _first(module: Any) -> str:
    return " ".join(str(module.__doc__).split("\n\n")[0].split())


def tables() -> Iterator[tuple[str, str]]:
    """Yield the table of each block; a key that stands above alike is only named."""
    first: dict[Key, str] = {}
    for mark, model in MODELS.items():
        rows = list(rows_of(model))
        new = [row for row in rows if first.setdefault(row, mark) == mark]
        parts = [table_of(new)] if new else [] if rows else ["No keys.\n"]
        parts += [
            f"{row.key}: as in [{first[row]}](#{first[row]}).\n" for row in rows if row not in new
        ]
        yield mark, "\n".join(parts)


def made() -> dict[str, str]:
    return dict(tables()) | {"kinds": kinds()}


def test_the_tables_are_the_schema(pytestconfig):
    if pytestconfig.getoption("--fix"):
        PAGE.write_text(filled(PAGE, made()))
    if PAGE.read_text() != filled(PAGE, made()):
        pytest.fail("docs/config.md is stale: run `make schema`")


def test_there_is_an_example_for_each_block():
    assert len(EXAMPLES) >= len(MODELS)


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split("\n")[0])
def test_an_example_is_what_the_loader_takes(text):
    load(whole(text))


def set_in(model: type[BaseModel], value: Any, block: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that a value sets, with the block that each is of; a word or a list, none."""
    for key, given in value.items() if isinstance(value, dict) else ():
        yield block, key
        if found := inner(
            model.model_fields[key].annotation if key in model.model_fields else None
        ):
            for one in given.values() if found[1] else [given]:
                yield from set_in(found[0], one, key)
        if (block, key) in {("benchmarks", "data"), ("cells", "forget")}:
            name = key if key == "data" else f"forget {given['kind']}"
            yield from ((name, option) for option in given)


def test_every_key_is_in_an_example():
    shown = {found for text in EXAMPLES for found in set_in(Config, whole(text), "config")}
    models = MODELS | {f"forget {name}": FORGET.load(name).Params for name in FORGET.names()}
    wanted = {
        (name, info.alias or field)
        for name, model in models.items()
        for field, info in model.model_fields.items()
    }
    assert sorted(wanted - shown) == []


def test_blocks_are_found_in_the_schema():
    assert {"benchmarks", "base", "cells", "sweeps", "support_size"} < MODELS.keys()


def test_every_key_that_holds_a_block_has_a_heading():
    headings = set(re.findall(r"^## (\w+)$", PAGE.read_text(), re.M))
    held = BenchmarkConfig.model_json_schema()["properties"]
    assert {key for key, entry in held.items() if "block" in type_of(entry, {})} <= headings
