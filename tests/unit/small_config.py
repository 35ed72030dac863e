"""A small config that tests change, and the errors that it then raises."""

import copy

import pytest

from collateral.config.errors import ConfigError
from collateral.config.load import load

BENCHMARK = {
    "data": {"name": "digits"},
    "model": "resnet8",
    "seeds": [0, 1],
    "classes": ["digit_3"],
    "fractions": [0.5],
    "methods": {"ft": {}, "rl": {}},
}
EIGHTS = {"kind": "class_part", "class": "digit_8", "fraction": 0.2}


def config(**changes):
    """Return the raw config of one benchmark `b`; a key changed to None is left out."""
    benchmark = {**copy.deepcopy(BENCHMARK), **changes}
    return {"benchmarks": {"b": {k: v for k, v in benchmark.items() if v is not None}}}


def complaints(raw) -> list[str]:
    """Return the lines of the error that `raw` must raise."""
    with pytest.raises(ConfigError) as error:
        load(raw)
    return str(error.value).splitlines()


def complaint(**changes) -> str:
    """Return the one thing that is said against a changed config, without the benchmark's name."""
    (line,) = complaints(config(**changes))
    assert line.startswith("benchmarks.b")
    return line.removeprefix("benchmarks.b").removeprefix(".")
