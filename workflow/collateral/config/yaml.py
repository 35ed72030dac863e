"""Read a config file strictly: report repeated keys, tags and other problems with line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tag import Tag

from collateral.config.errors import ConfigError, Place, format_key
from collateral.contract.messages import quoted

CORE = "tag:yaml.org,2002:"
PLAIN = {f"{CORE}{name}" for name in ["null", "bool", "int", "float", "str", "seq", "map", "merge"]}
# The core schema of YAML 1.2, with merge keys; ruamel.yaml would also parse 1_000 as a number.
SCHEMA = re.compile(
    r"""(?P<null>~|null|Null|NULL|)
    |(?P<bool>true|True|TRUE|false|False|FALSE)
    |(?P<int>[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)
    |(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?
        |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))
    |(?P<merge><<)""",
    re.VERBOSE,
)
LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
CODE = "__use_yte__"  # key with which Snakemake would run expressions in a config
# Maximum depth of nesting, and maximum number of values: nested aliases could fill the memory.
DEEPEST, MOST_VALUES = 50, 100_000
TOO_DEEP = f"values are nested more than {DEEPEST} deep"


class _Resolver(VersionedResolver):
    """Distinguishes numbers from text by YAML 1.2, even if a file declares version 1.1."""

    processing_version = (1, 2)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the YAML tag of a value."""
        if kind is not ScalarNode or not implicit[0]:
            return super().resolve(kind, value, implicit)
        found = SCHEMA.fullmatch(value)
        return Tag(suffix=f"{CORE}{found.lastgroup if found else 'str'}")


class _Composer(Composer):
    """Composer that refuses a second anchor of the same name, as Snakemake's reader does."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node of the document."""
        event = self.parser.peek_event()
        if event.anchor in self.anchors and not isinstance(event, AliasEvent):
            problem = f"found duplicate anchor {event.anchor!r}"
            raise ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)


def read_file(path: Path) -> Any:
    """Read a YAML or JSON file, or raise a ConfigError that names file and line."""
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([f"{path}: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: byte {error.start} is no UTF-8"]) from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {line}" for line in str(error).splitlines()) from None
    if isinstance(found, dict) and CODE in found:
        raise ConfigError([f"{path}: {CODE}: not allowed; a config is data, and runs no code"])
    return found


def parse(text: str) -> Any:
    """Parse a text as JSON or, if that fails, as YAML, in the same order as Snakemake."""
    try:
        found = json.loads(text)
    except ValueError:
        return _parse_yaml(text)
    except RecursionError:
        raise ConfigError([TOO_DEEP]) from None
    # Parsed again as YAML to report repeated keys; JSON without tabs is valid YAML.
    _parse_yaml(text.replace("\t", " "))
    return found


def _parse_yaml(text: str) -> Any:
    try:
        yaml = YAML(typ="safe", pure=True)
        yaml.Resolver, yaml.Composer = _Resolver, _Composer
        node = yaml.compose(text)
        if node is None:
            return None
        if found := _Inspection(yaml.constructor).find_problems(node):
            raise ConfigError(found)
        return yaml.constructor.construct_document(node)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ": ".join(filter(None, (error.context, error.problem)))
        raise ConfigError([f"line {mark.line + 1 if mark else 1}: {_one_line(problem)}"]) from None
    except YAMLError as error:
        raise ConfigError([_one_line(error)]) from None
    except RecursionError:
        raise ConfigError([TOO_DEEP]) from None


class _Inspection:
    """Inspection that finds the errors of a document before its values are constructed."""

    def __init__(self, constructor: Any) -> None:
        self.constructor = constructor
        self.problems: list[str] = []
        # Number of values in each node; None while the node is inspected.
        self.sizes: dict[int, int | None] = {}

    def find_problems(self, node: Node) -> list[str]:
        """Return the errors of a document, one line per error."""
        if self._size(node, ()) > MOST_VALUES and not self.problems:
            self.problems.append(f"its aliases make more than {MOST_VALUES} values of it")
        return self.problems

    def _size(self, node: Node, place: Place) -> int:
        """Return the number of values in a node; an alias counts as the node it refers to."""
        size = self.sizes.get(id(node), 0)
        if size is None:
            self._note(node, place, "is an alias of what it stands in")
        if id(node) not in self.sizes:
            self.sizes[id(node)] = None
            size = self.sizes[id(node)] = self._inspect(node, place)
        return size or 0

    def _inspect(self, node: Node, place: Place) -> int:
        if len(place) > DEEPEST:
            raise RecursionError
        if node.tag not in PLAIN:
            tag = quoted(str(node.tag).replace(CORE, "!!"))
            allowed = "values are text, numbers, lists and mappings"
            self._note(node, place, f"the tag {tag} is not allowed; {allowed}")
        elif isinstance(node, ScalarNode):
            self._value(node, place)
        elif isinstance(node, MappingNode):
            return 1 + self._mapping(node, place)
        else:
            items = enumerate(node.value)
            return 1 + sum(self._size(item, (*place, index)) for index, item in items)
        return 1

    def _mapping(self, node: MappingNode, place: Place) -> int:
        size, lines = 0, dict[Any, int]()
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._note(key_node, place, "a key is a list or a mapping; it should be text")
                continue
            here = (*place, key_node.value)
            size += self._inspect(key_node, here)
            key = self._value(key_node, here)
            if key in lines:
                self._note(key_node, here, f"stands there twice; first on line {lines[key]}")
            lines.setdefault(key, key_node.start_mark.line + 1)
            size += self._size(value_node, here)
        return size

    def _value(self, node: ScalarNode, place: Place) -> Any:
        """Return the Python value of a scalar node."""
        if node.tag not in PLAIN or node.tag == f"{CORE}merge":
            return node.value
        if node.style is None and node.tag != f"{CORE}str" and LEADING_ZERO.match(node.value):
            self._note(node, place, f"{node.value}: a number with a leading zero; put it in quotes")
        try:
            value = self.constructor.construct_object(node)
            # The next line raises for a number of over 4,300 digits, and for an unpaired surrogate.
            str(value).encode("utf-16", "surrogatepass").decode("utf-16")
            return value
        except Exception:  # `!!bool maybe` raises a KeyError, `!!int x` a ValueError
            self._note(
                node, place, f"{quoted(node.value)} does not read as {node.tag[len(CORE) :]}"
            )
            return node.value

    def _note(self, node: Node, place: Place, problem: str) -> None:
        message = f"line {node.start_mark.line + 1}: {format_key(place) or 'config'}: {problem}"
        if message not in self.problems:
            self.problems.append(message)


def _one_line(problem: Any) -> str:
    return " ".join(str(problem).split())


# Function that reads a config file, such as Snakemake's.
Reader = Callable[[Any], Mapping[str, Any]]


def reread(config: Any, workflow: Any, their_reader: Reader) -> Any:
    """Parse the config files again as YAML 1.2, and put these values into `config`."""
    settings = workflow.config_settings
    count = len(settings.configfiles)  # config files of the command line, which are merged last
    files = [*workflow.configfiles[count:], *workflow.configfiles[:count]]
    ours = _merge([*map(_read, files), _options(settings.config_args)])
    theirs = _merge([*map(their_reader, files), settings.config])
    # If another workflow imports this one, `config` may be only a part of that workflow's config.
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
    """Replace values in `config` that Snakemake read (`theirs`) by our reader's values (`ours`)."""
    if config == theirs:
        return ours
    if not all(isinstance(one, Mapping) for one in (config, theirs, ours)):
        return config
    known = theirs.keys() & ours.keys()
    return {
        key: _replace(value, theirs[key], ours[key]) if key in known else value
        for key, value in config.items()
    }
