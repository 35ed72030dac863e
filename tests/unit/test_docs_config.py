"""docs/config.md: its tables are the schema's, its examples load, and every key has one."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from markdown_reading import ROOT, blocks
from reference_tables import filled, keys, type_of

from collateral.config.load import load
from collateral.config.schema import (
    BaseParams,
    BenchmarkConfig,
    CellConfig,
    Config,
    InitParams,
    SupportSizeConfig,
    SweepConfig,
)
from collateral.config.yaml import parse
from collateral.contract.data import DataOptions
from collateral.contract.params import TrainedParams
from collateral.contract.plugins import FORGET

PAGE = ROOT / "docs/config.md"
MODELS = {
    "config": Config,
    "benchmark": BenchmarkConfig,
    "data": DataOptions,
    "init": InitParams,
    "base": BaseParams,
    "cell": CellConfig,
    "trained": TrainedParams,
    "sweep": SweepConfig,
    "support_size": SupportSizeConfig,
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
    parts = []
    for name in FORGET.names():
        module = FORGET.load(name)
        parts.append(f"`{name}`: {_first(module)}\n\n{keys(module.Params)}\n")
    return "\n".join(parts).replace("\n\n\n", "\n\n")


def _first(module: Any) -> str:
    return " ".join(str(module.__doc__).split("\n\n")[0].split())


def made() -> dict[str, str]:
    return {mark: keys(model) for mark, model in MODELS.items()} | {"kinds": kinds()}


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


def set_in_examples() -> Iterator[tuple[str, str]]:
    """Yield every key that an example sets, with the block in which it stands."""
    for text in EXAMPLES:
        config = whole(text)
        yield from (("config", key) for key in config)
        for benchmark in config["benchmarks"].values():
            yield from (("benchmark", key) for key in benchmark)
            yield from _in_parts(benchmark)


def _in_parts(benchmark: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("data", "init", "base", "support_size"):
        yield from ((name, key) for key in benchmark.get(name) or ())
    for cell in benchmark.get("cells", {}).values():
        yield from (("cell", key) for key in cell)
        yield from ((f"forget {cell['forget']['kind']}", key) for key in cell["forget"])
    for sweep in benchmark.get("sweeps", {}).values():
        yield from (("sweep", key) for key in sweep)


def test_every_key_is_in_an_example():
    shown = set(set_in_examples())
    models = {name: model for name, model in MODELS.items() if name != "trained"}
    models |= {f"forget {name}": FORGET.load(name).Params for name in FORGET.names()}
    wanted = {
        (name, info.alias or field)
        for name, model in models.items()
        for field, info in model.model_fields.items()
    }
    assert not wanted - shown


def test_every_block_of_the_schema_has_a_table():
    blocks_of_it = {*Config.model_json_schema()["$defs"], "Config"}
    assert blocks_of_it - {model.__name__ for model in MODELS.values()} == set()


def test_every_key_that_holds_a_block_has_a_heading():
    headings = set(re.findall(r"^## (\w+)$", PAGE.read_text(), re.M))
    held = BenchmarkConfig.model_json_schema()["properties"]
    assert {key for key, entry in held.items() if "block" in type_of(entry, {})} <= headings
