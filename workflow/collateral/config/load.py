"""Read and check a config before any job starts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from collateral.config.checks import benchmark_errors
from collateral.config.errors import ConfigError, explain
from collateral.config.schema import BenchmarkConfig, Config
from collateral.config.yaml import read_file
from collateral.plugins.check import plugin_errors
from collateral.plugins.find import DATA, FORGET, METHOD, Kind, add_plugins, find_folder_problems


def read(path: Path, option: str = "") -> Config:
    """Read and check a YAML file; if it is missing, the error names the command-line `option`."""
    if option and not path.is_file():
        raise ValueError(f"{option}: there is no file {path}")
    return load(read_file(path) or {})


def load(raw: Mapping[str, Any]) -> Config:
    """Return the checked config, or raise a ConfigError.

    The ConfigError has all errors of the first step that fails: schema, plug-ins, or checks across
    keys.
    """
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(explain(error, Config, ())) from None
    if wrong := [f"plugins: {problem}" for problem in find_folder_problems(config.plugins)]:
        raise ConfigError(wrong)
    add_plugins(config.plugins)
    benchmarks = config.benchmarks
    if wrong := [*plugin_errors(item for one in benchmarks.values() for item in _plugins(one))]:
        raise ConfigError(wrong)
    if problems := [one for item in benchmarks.items() for one in benchmark_errors(*item)]:
        raise ConfigError(problems)
    return config


def _plugins(benchmark: BenchmarkConfig) -> Iterator[tuple[Kind, str]]:
    """Yield the names of all plug-ins in a benchmark, including names that do not exist."""
    yield DATA, str(benchmark.data.get("name"))
    for cell in benchmark.cells.values():
        yield from ((FORGET, str(forget.get("kind"))) for forget in cell.requests)
    for name, raw in benchmark.methods.items():
        yield METHOD, str(raw.get("uses", name))
