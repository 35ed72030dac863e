"""The config that Snakemake hands over, with its values as YAML 1.2 reads them.

Snakemake (9.27) reads files as YAML 1.1, in which 010 is 8 and `no` is false, and takes every value
inside of `--config` for text. Its files and options are read again here, and merged in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from collateral.config.errors import ConfigError
from collateral.config.yaml import parse, read_file

Reader = Callable[[Any], Mapping[str, Any]]


def reread(config: Any, workflow: Any, their_reader: Reader) -> Any:
    """Return `config`, in which each value that Snakemake has read is replaced by our reading."""
    settings = workflow.config_settings
    count = len(settings.configfiles)  # those of the command line, which are merged last
    files = [*workflow.configfiles[count:], *workflow.configfiles[:count]]
    ours = _merged([*map(_read, files), _options(settings.config_args)])
    theirs = _merged([*map(their_reader, files), settings.config])
    # What is imported as a module may have been given a part of the config.
    for key in _way(workflow.modifier_stack[0].globals["config"], config) or ():
        theirs, ours = theirs.get(key, {}), ours.get(key, {})
    return _replaced(config, theirs, ours)


def _read(file: Any) -> Mapping[str, Any]:
    found = read_file(Path(file))
    return found if isinstance(found, dict) else {}


def _options(arguments: Iterable[str] | None) -> dict[str, Any]:
    """Return what `--config key=value` says."""
    try:
        pairs = (argument.partition("=") for argument in arguments or ())
        return _merged({key: parse(value)} for key, _, value in pairs)
    except ConfigError as error:
        raise ConfigError(f"--config: {line}" for line in str(error).splitlines()) from None


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return all parts in one; what a later one says counts, mapping by mapping."""
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            is_mapping = isinstance(value, Mapping)
            before = merged.get(key) if is_mapping else None
            first = before if isinstance(before, Mapping) else {}
            merged[key] = _merged([first, value]) if is_mapping else value
    return merged


def _way(whole: Any, part: Any) -> tuple[Any, ...] | None:
    """Return the keys that lead from a mapping to one inside of it."""
    if whole is part:
        return ()
    for key, value in whole.items() if isinstance(whole, Mapping) else ():
        if (rest := _way(value, part)) is not None:
            return (key, *rest)
    return None


def _replaced(config: Any, theirs: Any, ours: Any) -> Any:
    """Return our reading where the config is as they read it; the Snakefile may have changed it."""
    if config == theirs:
        return ours
    if not all(isinstance(one, Mapping) for one in (config, theirs, ours)):
        return config
    known = theirs.keys() & ours.keys()
    return {
        key: _replaced(value, theirs[key], ours[key]) if key in known else value
        for key, value in config.items()
    }
