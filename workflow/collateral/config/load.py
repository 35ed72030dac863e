"""Read and check a config before any job starts."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from collateral.config.checks import benchmark_errors
from collateral.config.errors import ConfigError, explain
from collateral.config.plugin_checks import plugin_errors
from collateral.config.schema import Config
from collateral.config.yaml import read_file
from collateral.contract.plugins import add_plugins, find_folder_problems


def read(path: Path) -> Config:
    """Read and check a YAML file."""
    return load(read_file(path) or {})


def load(raw: Mapping[str, Any]) -> Config:
    """Return the checked config, or raise one ConfigError with all errors."""
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(explain(error, Config, ())) from None
    _raise(f"plugins: {problem}" for problem in find_folder_problems(config.plugins))
    add_plugins(config.plugins)
    _raise(plugin_errors(config))
    _raise(_errors(config))
    return config


def _errors(config: Config) -> Iterator[str]:
    for name, benchmark in config.benchmarks.items():
        yield from benchmark_errors(benchmark, ("benchmarks", name))


def _raise(messages: Iterable[str]) -> None:
    if found := list(messages):
        raise ConfigError(found)
