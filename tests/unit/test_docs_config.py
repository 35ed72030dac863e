"""docs/config.md: every example is a valid config, and every key is in an example."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from generators.config import MODELS, inner
from generators.tables import type_of
from generators.troubleshooting import FRAME
from markdown_reading import ROOT, blocks
from pydantic import BaseModel

from collateral.config.load import load
from collateral.config.schema import BenchmarkConfig, Config
from collateral.config.yaml import parse
from collateral.contract.data import DataOptions
from collateral.plugins.find import FORGET

PAGE = ROOT / "docs/config.md"


EXAMPLES = list(blocks(PAGE, "yaml"))


def whole(text: str) -> dict[str, Any]:
    """Return a snippet as a whole config; keys of a benchmark are put into one."""
    given = parse(text)
    return given if "benchmarks" in given else {"benchmarks": {"b": {**FRAME, **given}}}


def test_there_is_an_example_for_each_block():
    assert len(EXAMPLES) >= len(MODELS)


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split("\n")[0])
def test_an_example_is_what_the_loader_takes(text):
    load(whole(text))


def set_in(model: type[BaseModel], value: Any, block: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs (block, key) that a part of a config sets."""
    for key, given in value.items() if isinstance(value, dict) else ():
        yield block, key
        if found := inner(
            model.model_fields[key].annotation if key in model.model_fields else None
        ):
            single = given if isinstance(given, list) else [given]
            for one in given.values() if found[1] else single:
                yield from set_in(found[0], one, key)
        if (block, key) == ("benchmarks", "data"):
            yield from set_in(DataOptions, given, key)
        if (block, key) == ("cells", "forget"):
            yield from ((f"forget {given['kind']}", option) for option in given)


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
