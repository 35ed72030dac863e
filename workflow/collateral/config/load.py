"""Read and check a config before any job starts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from collateral.config.checks import benchmark_errors, missing_errors
from collateral.config.errors import ConfigError, Problem, error_places, explain
from collateral.config.names import name_errors
from collateral.config.schema import BenchmarkConfig, Config
from collateral.config.yaml import read_file
from collateral.contract.messages import nearest_names
from collateral.plugins.check import plugin_errors
from collateral.plugins.find import DATA, FORGET, METHOD, Kind, add_plugins, find_folder_problems

# Values that replace invalid values of required keys, so that other keys can still be checked.
STAND_IN = {"data": {}, "model": "", "seeds": [0]}
CELLS = ("data", "classes", "fractions", "cells")  # keys that determine the cells
# For each key of a benchmark: the other keys whose values are needed to check it.
NEEDS = {
    "classes": ("data",),
    "cells": ("data", "classes", "fractions", "methods"),
    "given": (*CELLS, "methods", "seeds", "base"),
    "retrain": (*CELLS, "seeds", "base"),
    "controls": ("methods", "retrain"),
    "sweeps": (*CELLS, "methods", "retrain"),
    "support_size": (*CELLS, "methods", "retrain"),
    "track": ("methods",),
    "select": ("methods", "cells"),
    "probe": ("retrain",),
    "shadows": ("base", "methods", "cells"),
}


def read(path: Path, option: str = "") -> Config:
    """Read and check a YAML file; if no such file exists, the error names `option`, if given."""
    if option and not path.is_file():
        raise ValueError(f"{option}: there is no file {path}")
    return load(read_file(path) or {})


def load(raw: Mapping[str, Any]) -> Config:
    """Return the checked config, or raise one ConfigError with all errors."""
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError([*explain(error, Config, ()), *_further_errors(raw, error)]) from None
    problems: list[str | Problem] = [*_plugin_errors(config)]
    if problems := problems or [*_errors(config, {})]:
        raise ConfigError(problems)
    return config


def _further_errors(raw: Any, error: ValidationError) -> Iterator[str | Problem]:
    """Check the valid keys of a config in which other keys violate the schema; yield the errors.

    Keys that violate the schema are left out. Errors of keys that depend on them are not reported.
    """
    places = [place for place in error_places(error) if place[:1] != ("figures",)]
    if any(place[:1] != ("benchmarks",) or len(place) < 3 for place in places):
        return  # if `plugins:` or a whole benchmark is invalid, names may seem unknown
    wrong: dict[str, set[str]] = {}  # keys that do not fit the schema, by benchmark
    for _, name, key, *_ in places:
        meant = nearest_names(key, BenchmarkConfig.model_fields, count=1)
        wrong.setdefault(str(name), set()).update([str(key), *meant])
    try:
        config = _without(raw, wrong)
    except ValidationError:  # the name of a benchmark is invalid, so that its keys cannot be found
        return
    problems = list(_plugin_errors(config))
    yield from problems or _errors(config, wrong)


def _without(raw: Mapping[str, Any], wrong: Mapping[str, set[str]]) -> Config:
    """Return the config without wrong keys; required keys among them get a value of STAND_IN."""
    kept = {
        name: {key: value for key, value in given.items() if str(key) not in wrong.get(name, ())}
        for name, given in raw["benchmarks"].items()
    }
    benchmarks = {name: {**STAND_IN, **given} for name, given in kept.items()}
    return Config.model_validate({"plugins": raw.get("plugins", ()), "benchmarks": benchmarks})


def _errors(config: Config, wrong: Mapping[str, set[str]]) -> Iterator[Problem]:
    """Yield errors; skip keys that depend on a key in `wrong`, which has keys by benchmark."""
    for name, benchmark in config.benchmarks.items():
        where, left_out = ("benchmarks", name), wrong.get(name, set())
        if not left_out:
            yield from ((where, text) for text in missing_errors(benchmark))
        yield from name_errors(where)
        for (key, *inner), text in benchmark_errors(benchmark):
            if not {key, *NEEDS.get(str(key), ())} & left_out:
                yield (*where, key, *inner), text


def _plugin_errors(config: Config) -> Iterator[str]:
    """Yield the errors of plug-in folders or, if the folders have no error, of plug-ins in use."""
    if problems := list(find_folder_problems(config.plugins)):
        yield from (f"plugins: {problem}" for problem in problems)
        return
    add_plugins(config.plugins)
    benchmarks = config.benchmarks.values()
    yield from plugin_errors(item for one in benchmarks for item in _named_plugins(one))


def _named_plugins(benchmark: BenchmarkConfig) -> Iterator[tuple[Kind, str]]:
    """Yield the names of all plug-ins in a benchmark, including names that do not exist."""
    yield DATA, str(benchmark.data.get("name"))
    for cell in benchmark.cells.values():
        yield from ((FORGET, str(forget.get("kind"))) for forget in cell.requests)
    for name, raw in benchmark.methods.items():
        yield METHOD, str(raw.get("uses", name))
