"""Read the config again as YAML 1.2, after Snakemake has read it as YAML 1.1.

In YAML 1.1, 010 is 8 and `no` is false; and Snakemake (9.27) reads every value inside of `--config`
as text. Its files and options are read again here, and merged in the order of Snakemake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from collateral.config.errors import ConfigError
from collateral.config.yaml import parse, read_file

Reader = Callable[[Any], Mapping[str, Any]]


def reread(config: Any, workflow: Any, their_reader: Reader) -> Any:
    """Return `config` with each value that Snakemake has read replaced by its YAML 1.2 value."""
    settings = workflow.config_settings
    count = len(settings.configfiles)  # config files of the command line, which are merged last
    files = [*workflow.configfiles[count:], *workflow.configfiles[:count]]
    ours = _merge([*map(_read, files), _options(settings.config_args)])
    theirs = _merge([*map(their_reader, files), settings.config])
    # A workflow that imports this one as a module may pass a part of its config.
    for key in _find_keys(workflow.modifier_stack[0].globals["config"], config) or ():
        theirs, ours = theirs.get(key, {}), ours.get(key, {})
    return _replace(config, theirs, ours)


def _read(file: Any) -> Mapping[str, Any]:
    found = read_file(Path(file))
    return found if isinstance(found, dict) else {}


def _options(arguments: Iterable[str] | None) -> dict[str, Any]:
    """Return the values of `--config key=value`."""
    try:
        pairs = (argument.partition("=") for argument in arguments or ())
        return _merge({key: parse(value)} for key, _, value in pairs)
    except ConfigError as error:
        raise ConfigError(f"--config: {line}" for line in str(error).splitlines()) from None


def _merge(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge mappings recursively; later values replace earlier ones."""
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            is_mapping = isinstance(value, Mapping)
            before = merged.get(key) if is_mapping else None
            first = before if isinstance(before, Mapping) else {}
            merged[key] = _merge([first, value]) if is_mapping else value
    return merged


def _find_keys(whole: Any, part: Any) -> tuple[Any, ...] | None:
    """Return the keys that lead from a mapping to a mapping nested inside it."""
    if whole is part:
        return ()
    for key, value in whole.items() if isinstance(whole, Mapping) else ():
        if (rest := _find_keys(value, part)) is not None:
            return (key, *rest)
    return None


def _replace(config: Any, theirs: Any, ours: Any) -> Any:
    """Replace Snakemake's values by ours, except values that the Snakefile has changed."""
    if config == theirs:
        return ours
    if not all(isinstance(one, Mapping) for one in (config, theirs, ours)):
        return config
    known = theirs.keys() & ours.keys()
    return {
        key: _replace(value, theirs[key], ours[key]) if key in known else value
        for key, value in config.items()
    }
