"""Read a config; whatever can be checked is checked before any job starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from collateral.config.checks import benchmark_errors
from collateral.config.errors import ConfigError, explain
from collateral.config.schema import Config
from collateral.contract.plugins import add_plugins, problems


def read(path: Path) -> Config:
    """Read and check a YAML file."""
    return load(yaml.safe_load(path.read_text()) or {})


def load(raw: Mapping[str, Any]) -> Config:
    """Return the checked config, or raise one ConfigError with everything that is wrong."""
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(explain(error, Config, ())) from None
    if wrong := list(problems(config.plugins)):
        raise ConfigError(f"plugins: {problem}" for problem in wrong)
    add_plugins(config.plugins)
    messages = [
        message
        for name, benchmark in config.benchmarks.items()
        for message in benchmark_errors(benchmark, ("benchmarks", name))
    ]
    if messages:
        raise ConfigError(messages)
    return config
