"""The JSON schema that editors use: it accepts and refuses what the loader does."""

import copy
import json
from functools import cache
from pathlib import Path

import pytest

from collateral.config.errors import ConfigError
from collateral.config.json_schema import SCHEMA_FILE, json_schema
from collateral.config.load import load
from collateral.config.yaml import read_file
from collateral.plugins.find import CONTROL, DATA, METHOD, MODEL, params_class

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]
CONFIGS = [ROOT / "config.yaml", *sorted((ROOT / "configs").glob("*.yaml"))]
RIGHT = {
    "benchmarks": {
        "b": {
            "data": {"name": "digits", "per_class": 20},
            "model": "resnet8",
            "seeds": [0],
            "classes": ["digit_3", 8],
            "fractions": [0.5, 1],
            "methods": {
                "ft": {"lr": [0.01, 0.1], "epochs": 3},
                "ga": None,
                "rl_forget": {"uses": "rl", "retain": False},
            },
            "cells": {
                "some": {
                    "forget": {"kind": "class_part", "class": "digit_1", "fraction": 0.1},
                    "methods": {"ft": {"lr": 0.1}, "rl_forget": {"epochs": 2}},
                }
            },
            "controls": ["original"],
            "sweeps": {"s": {"method": "ft", "vary": {"epochs": [1, 2]}, "cells": ["some"]}},
        }
    }
}


@cache
def schema():
    return json_schema()


def is_right(raw) -> bool:
    return jsonschema.Draft7Validator(schema()).is_valid(raw)


def changed(*path, value):
    """Return the right config with one value changed."""
    raw = copy.deepcopy(RIGHT)
    entry = raw["benchmarks"]["b"]
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value
    return raw


def test_the_schema_is_a_schema():
    jsonschema.Draft7Validator.check_schema(schema())


def test_the_configs_are_there():
    assert [path.name for path in CONFIGS[:1]] == ["config.yaml"]
    assert "smoke.yaml" in {path.name for path in CONFIGS[1:]}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_fits_the_schema(path):
    config = read_file(path)
    assert [*jsonschema.Draft7Validator(schema()).iter_errors(config)] == []


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_tells_editors_where_the_schema_is(path):
    first = path.read_text().splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / name).resolve() == SCHEMA_FILE


def test_configs_that_the_loader_accepts_fit_the_schema():
    load(RIGHT)
    assert is_right(RIGHT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["seedz"], [1]),
        (["seeds"], []),
        (["seeds"], [-1]),
        (["seeds"], [2**32]),
        (["base"], {"epochs": 10**12}),
        (["methods", "ft", "epochs"], 10**12),
        (["fractions"], [1.5]),
        (["fractions"], [0]),
        (["model"], "resnet9"),
        (["data"], {"name": "digit"}),
        (["data"], {}),
        (["data", "root"], "data"),
        (["data", "per_class"], 0),
        (["base"], {"epoch": 3}),
        (["methods", "ftt"], {}),
        (["methods", "ft", "lr"], []),
        (["methods", "ft", "lr"], [0.1, -1]),
        (["methods", "ft", "lrr"], 1),
        (["methods", "ft", "optimizer"], "adamx"),
        (["methods", "rl_forget", "retian"], True),
        (["controls"], ["orginal"]),
        (["cells", "some", "forget", "kind"], "class_par"),
        (["cells", "some", "forget", "fraction"], 2),
        (["cells", "some", "methods", "ft", "lrr"], 1),
        (["sweeps", "s", "vary"], {"epochs": 1}),
        (["sweeps", "s", "vary"], {"epochs": [1], "lr": [1]}),
    ],
    ids=lambda part: json.dumps(part),
)
def test_configs_that_the_schema_refuses_are_refused_by_the_loader(path, value):
    raw = changed(*path, value=value)
    assert not is_right(raw)
    with pytest.raises(ConfigError):
        load(raw)


def test_a_plug_in_fits_where_its_entry_says_what_it_uses():
    assert is_right(changed("methods", "mine", value={"uses": "my_method", "strength": 3}))
    assert not is_right(changed("methods", "my_method", value={"strength": 3}))


@pytest.mark.parametrize("name", METHOD.names())
def test_every_method_is_there_with_all_its_parameters(name):
    known = schema()["$defs"][f"method-{name}"]
    fields = params_class(name).model_fields
    assert list(known["properties"]) == ["uses", *fields]
    assert known["description"].startswith(str(params_class(name).__doc__).splitlines()[0])
    for key, field in fields.items():
        assert known["properties"][key]["description"] == field.description


def test_data_sets_models_and_controls_are_there_by_name():
    benchmark = schema()["$defs"]["BenchmarkConfig"]["properties"]
    data_sets = [part["properties"]["name"]["const"] for part in benchmark["data"]["anyOf"]]
    assert data_sets == DATA.names()
    assert benchmark["model"]["anyOf"][0]["enum"] == MODEL.names()
    listed = [name for name in CONTROL.names() if not params_class(name).made_by]
    assert benchmark["controls"]["items"]["enum"] == listed == ["ideal", "original"]
