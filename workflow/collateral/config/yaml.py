"""Read a config file as YAML 1.2; report repeated keys, tags and other errors with line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, ScalarNode

from collateral.config.errors import ConfigError
from collateral.contract.messages import printable, quoted

CORE = "tag:yaml.org,2002:"
# The core schema of YAML 1.2, with merge keys; PyYAML's own schema is that of YAML 1.1.
SCHEMA = re.compile(
    r"""(?P<null>~|null|Null|NULL|)
    |(?P<bool>true|True|TRUE|false|False|FALSE)
    |(?P<leading_zero>[-+]?0[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)
    |(?P<int>[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)
    |(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))
    |(?P<merge><<)""",
    re.VERBOSE,
)
SCALARS = [f"{CORE}{name}" for name in ("null", "bool", "int", "float", "str")]
COLLECTIONS = [f"{CORE}{name}" for name in ("seq", "map")]
LEADING_ZERO, MERGE = f"{CORE}leading_zero", f"{CORE}merge"
# Longest config, so that one of a few lines cannot fill the memory (a billion laughs).
MOST_CHARACTERS = 10_000_000
CODE = "__use_yte__"  # key with which Snakemake would run expressions in a config


class _Loader(yaml.SafeLoader):
    """Reads text, numbers, lists and mappings by YAML 1.2, and refuses other values."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the YAML tag of a value; a version that the file declares does not matter."""
        if kind is not ScalarNode or not implicit[0]:
            return super().resolve(kind, value, implicit)
        found = SCHEMA.fullmatch(value)
        return f"{CORE}{found.lastgroup if found else 'str'}"

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        """Return a mapping; raise if a key stands there twice, in whatever spelling."""
        node: MappingNode = super().compose_mapping_node(anchor)
        keys = [key for key, _ in node.value if isinstance(key, ScalarNode) and key.tag != MERGE]
        known = set()
        for key in keys:
            value = self.construct_object(key)
            if value in known:
                problem = f'found duplicate key "{printable(str(value))}"'
                raise ConstructorError(
                    "while constructing a mapping", node.start_mark, problem, key.start_mark
                )
            known.add(value)
        return node

    def construct_value(self, node: Any) -> Any:
        """Return the value of a scalar; join surrogate pairs, as which JSON may write an emoji."""
        try:
            value = SafeConstructor.yaml_constructors[node.tag](self, node)
            # This fails for an integer of over 4,300 digits, and for half a surrogate pair.
            text = str(value).encode("utf-16", "surrogatepass").decode("utf-16")
        except (ValueError, LookupError):
            problem = f"{quoted(node.value)} does not read as {node.tag.removeprefix(CORE)}"
            raise ConstructorError(None, None, problem, node.start_mark) from None
        return text if isinstance(value, str) else value

    def construct_undefined(self, node: Any) -> None:
        """Raise an error for a tag, and for 010: it may be text, or 8 as in YAML 1.1."""
        problem = f"the tag {node.tag!r} is not allowed; use text, numbers, lists and mappings"
        if node.tag == LEADING_ZERO:
            problem = f"{node.value}: a number with a leading zero; put it in quotes"
        raise ConstructorError(None, None, problem, node.start_mark)


_Loader.yaml_constructors = {
    **{tag: SafeConstructor.yaml_constructors[tag] for tag in COLLECTIONS},
    **dict.fromkeys(SCALARS, _Loader.construct_value),
    None: _Loader.construct_undefined,
}


def read_file(path: Path) -> Any:
    """Read a YAML or JSON file, or raise a ConfigError that names file and line."""
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([f"{path}: {error.strerror}"]) from None
    except ValueError as error:
        raise ConfigError([f"{path}: {error}"]) from None
    if isinstance(found, dict) and CODE in found:
        raise ConfigError([f"{path}: {CODE}: not allowed; a config is data, and runs no code"])
    return found


def parse(text: str) -> Any:
    """Parse a text as YAML or JSON, or raise a ConfigError that names the line."""
    try:
        found = _Loader(_without_tabs(text)).get_single_data()
        if _length(found, {}) > MOST_CHARACTERS:
            limit = f"{MOST_CHARACTERS:,} characters"
            raise ConfigError([f"longer than {limit} where every anchor is written out"])
        return found
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ": ".join(filter(None, (error.context, error.problem)))
        raise ConfigError([f"line {mark.line + 1 if mark else 1}: {problem}"]) from None
    except RecursionError:
        raise ConfigError(["lists and mappings are nested too deeply"]) from None
    except (YAMLError, ValueError, LookupError) as error:
        raise ConfigError([" ".join(str(error).split())]) from None


def _without_tabs(text: str) -> str:
    """Return JSON with spaces for tabs, which PyYAML refuses; strings of JSON contain no tabs."""
    try:
        json.loads(text)
    except ValueError:
        return text
    return text.replace("\t", " ")


def _length(value: Any, known: dict[int, int]) -> int:
    """Return the length of a value in characters, about, with every anchor written out.

    `known` has the lengths of the lists and mappings so far; -1 if it is not finished.
    """
    if not isinstance(value, list | dict):
        return 1 + (len(value) if isinstance(value, str) else 0)
    if id(value) not in known:
        known[id(value)] = -1
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_length(part, known) for part in parts)
    if known[id(value)] < 0:
        raise ConfigError(["an anchor (&) contains itself (*)"])
    return known[id(value)]


# Function that reads a config file, such as Snakemake's.
Reader = Callable[[Any], Mapping[str, Any]]


def reread(config: Any, workflow: Any, their_reader: Reader, known: Mapping[str, Any]) -> Any:
    """Parse the config files again as YAML 1.2; return `config` with the newly parsed values.

    `known` has the contents of files that `read_file` has read already, by path.
    """
    settings = workflow.config_settings
    count = len(settings.configfiles)  # config files of the command line, which are merged last
    own, of_command_line = workflow.configfiles[count:], workflow.configfiles[:count]
    read = [known[str(file)] if str(file) in known else _read(file) for file in own]
    ours = _merge([*read, *map(_read, of_command_line), _options(settings.config_args)])
    # Snakemake keeps what it read from the command line.
    theirs = _merge([*map(their_reader, own), settings.overwrite_config])
    # If another workflow imports this one, `config` may be only a part of that workflow's config.
    for key in _find_keys(workflow.modifier_stack[0].globals["config"], config) or ():
        theirs, ours = theirs.get(key, {}), ours.get(key, {})
    return _replace(config, theirs, ours)


def read_merged(files: Iterable[Path], options: Iterable[str], default: Path) -> dict[str, Any]:
    """Return the config of `snakemake --configfile FILES --config OPTIONS`, as YAML 1.2.

    As in rules/config.smk, the default config is read too if the benchmarks are not in these.
    """
    given = _merge([*map(_read, files), _options(options)])
    return given if "benchmarks" in given else _merge([_read(default), given])


def _read(file: Any) -> Mapping[str, Any]:
    found = read_file(Path(file))
    return found if isinstance(found, dict) else {}


def _options(arguments: Iterable[str] | None) -> dict[str, Any]:
    """Return a dict from key to value, from the command-line options `--config key=value`."""
    pairs = (argument.partition("=") for argument in arguments or ())
    try:
        return _merge({key: parse(value)} for key, _, value in pairs)
    except ConfigError as error:
        raise ConfigError([f"--config: {error}"]) from None


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
    """Replace values in `config` that Snakemake read (`theirs`) by our reader's values (`ours`)."""
    if config == theirs:
        return ours
    if not all(isinstance(one, Mapping) for one in (config, theirs, ours)):
        return config
    return {
        key: _replace(value, theirs.get(key), ours.get(key, value)) for key, value in config.items()
    }
