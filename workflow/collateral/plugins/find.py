"""Find methods, models, data sets and findings by the names of their folders or files.

They are in the package, in the plug-in that ships with it (workflow/paper), or in a folder that the
config lists under `plugins:`. Files and folders whose names begin with _ are no plug-ins.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collateral.contract.messages import listed, looked_for, unknown_name
from collateral.plugins.modules import shipped_folder

if TYPE_CHECKING:
    from collateral.contract.params import MethodParams


class PluginError(ValueError):
    """Raised if a plug-in cannot be imported; the text names file, line and cause."""


@dataclass(frozen=True)
class Kind:
    """A kind of plug-in, such as methods or data sets."""

    what: str  # name of the kind in error messages, in the singular
    package: str  # import name of the package with the shipped plug-ins
    pattern: str  # `*/params.py` if a plug-in is a folder, `*.py` if it is a file
    # Subfolder of a user's plug-in folder for plug-ins of this kind; empty if users cannot add any.
    folder: str

    @cached_property
    def shipped(self) -> tuple[str, ...]:
        """Paths of the shipped folders: in the package, and in the shipped plug-in `paper`."""
        plug_in = shipped_folder()
        inner = [plug_in / self.folder] if plug_in and self.folder else []
        own = import_module(self.package).__path__[0]
        return own, *(str(folder) for folder in inner if folder.is_dir())

    @cached_property
    def paths(self) -> MutableSequence[str]:
        """Paths of the folders that are searched: the shipped ones, then those under `plugins:`."""
        paths: MutableSequence[str] = import_module(self.package).__path__
        paths.extend(self.shipped[1:])
        return paths

    @cached_property
    def own(self) -> dict[str, str]:
        """Dict from the name of each shipped plug-in to its file or folder; some share one file."""
        listed: dict[str, str] = getattr(import_module(self.package), "NAMES", {})
        names = sorted(name for path in self.shipped for name in _list_names(path, self.pattern))
        return listed or {name: name for name in names}

    @property
    def plugged_paths(self) -> Sequence[str]:
        """Folders that the config lists under `plugins:`."""
        return self.paths[len(self.shipped) :]

    @property
    def reserved_names(self) -> set[str]:
        """Names that no plug-in may have: shipped names, and file names of the package."""
        return {*self.own, *(path.stem for path in Path(self.paths[0]).iterdir())}

    @cached_property
    def families(self) -> dict[str, tuple[str, str]]:
        """Prefixes of families of names, such as `timm/`, with the modules that handle them."""
        found: dict[str, tuple[str, str]] = getattr(import_module(self.package), "FAMILIES", {})
        return found

    def has(self, name: Any) -> bool:
        """Tell whether there is a plug-in of this kind with that name."""
        family = self._family(name)
        known: list[str] = self._knowing(family).names() if family else self.names()
        return name in known

    def names(self) -> list[str]:
        """Return all names, shipped ones first, without the names of families such as `timm/`."""
        plugged = (name for path in self.plugged_paths for name in _list_names(path, self.pattern))
        return [*self.own, *sorted(plugged)]

    def module(self, name: str, part: str = "") -> str:
        """Return the import name of a plug-in; with `part`, that of a module in its folder."""
        if not self.has(name):
            raise ValueError(self.no_such(name))
        family = self._family(name)
        file = self.families[family][0] if family else self.own.get(name, name)
        return ".".join(filter(None, (self.package, file, part)))

    def load(self, name: str, part: str = "") -> Any:
        """Import a plug-in; with `part`, import this module of the plug-in's folder."""
        module = self.module(name, part)
        try:
            return import_module(module)
        except Exception as error:
            if not self.is_plugged_in(name):
                raise
            raise PluginError(f"plugins: {describe_error(error, self.plugged_paths)}") from error

    def file(self, name: str) -> Path:
        """Return the file of a plug-in, or the file in its folder that every plug-in has."""
        part = self.pattern.partition("/")[2].removesuffix(".py").replace("__init__", "")
        spec = find_spec(self.module(name, part))
        assert spec is not None and spec.origin is not None
        return Path(spec.origin)

    def is_plugged_in(self, name: Any) -> bool:
        """Tell whether a name belongs to a plug-in that is not shipped."""
        return name in self.names() and name not in self.own

    def no_such(self, name: Any) -> str:
        """Return "no method 'sdd'; known: ..."; say if a folder `sdd` lacks the required file.

        If the name is None, the config does not have the key.
        """
        if name is None:
            return f"missing; {listed('known', self.names())}"
        if family := self._family(name):
            return str(self._knowing(family).no_such(name))
        members = [f"{prefix}{str(name).lower()}" for prefix in self.families]
        meant = [member for member in members if self.has(member)]
        known = [*self.names(), *(f"{prefix}<name>" for prefix in self.families)]
        folders = [Path(path) / str(name) for path in self.plugged_paths if "/" in self.pattern]
        lacking = [folder for folder in folders if folder.is_dir()]
        hint = f"; '{lacking[0]}' has no {Path(self.pattern).name}" if lacking else ""
        return unknown_name(self.what, name, known, meant) + hint

    def _family(self, name: Any) -> str:
        """Return the prefix of a name: `timm/` of `timm/resnet18`; empty if no family has it."""
        return next((prefix for prefix in self.families if str(name).startswith(prefix)), "")

    def _knowing(self, family: str) -> Any:
        return import_module(f"{self.package}.{self.families[family][1]}")

    def parts(self, part: str) -> list[str]:
        """Return the import name of the module `part` of each plug-in that has such a module."""
        having = (name for path in self.paths for name in _list_names(path, f"*/{part}.py"))
        return [self.module(name, part) for name in sorted({*having} & {*self.names()})]


METHOD = Kind("method", "collateral.methods", "*/params.py", "methods")
CONTROL = Kind("control", "collateral.controls", "*/params.py", "")
DATA = Kind("data set", "collateral.data", "*.py", "data")
FORGET = Kind("kind of forget set", "collateral.data.forget", "*.py", "forget")
MODEL = Kind("model", "collateral.models", "*.py", "models")
FINDING = Kind("finding", "collateral.findings", "*/__init__.py", "findings")
KINDS = (METHOD, CONTROL, DATA, FORGET, MODEL, FINDING)
# Not in KINDS, because stages and commands cannot be added under `plugins:`.
STAGE = Kind("stage", "collateral.stages", "*.py", "stages")
COMMAND = Kind("command", "collateral.commands", "*.py", "commands")
PARTS = ("numbers", "views")  # names of the files that a finding may have


@cache
def _list_names(folder: str, pattern: str) -> tuple[str, ...]:
    """Return the plug-in names in a folder; cached, because plans look them up very often."""
    files = Path(folder).glob(pattern)
    names = {file.parent.name if "/" in pattern else file.stem for file in files}
    return tuple(sorted(name for name in names if not name.startswith("_")))


def add_plugins(folders: Sequence[Path]) -> None:
    """Make the plug-ins in these folders available, after the shipped ones."""
    for problem in find_folder_problems(folders):
        raise ValueError(f"plugins: {problem}")
    for folder in folders:
        for kind, inner in find_plugin_kinds(folder):
            if str(inner.resolve()) not in kind.paths:
                kind.paths.append(str(inner.resolve()))


def find_plugin_kinds(folder: Path) -> Iterator[tuple[Kind, Path]]:
    """Yield the kinds of plug-ins in a folder, with the folder of each kind."""
    if _list_names(str(folder), METHOD.pattern):
        yield METHOD, folder
    for kind in KINDS:
        if kind.folder and (folder / kind.folder).is_dir():
            yield kind, folder / kind.folder


def find_folder_problems(folders: Sequence[Path]) -> Iterator[str]:
    """Yield the problems of plug-in folders: a missing or empty folder, or a name used twice."""
    for folder in folders:
        if not folder.is_dir():
            yield f"{str(folder)!r}: there is no such folder{looked_for(folder)}"
        elif not any(
            _list_names(str(inner), kind.pattern) for kind, inner in find_plugin_kinds(folder)
        ):
            kinds = ", ".join(f"{kind.folder}/" for kind in KINDS if kind.folder)
            yield f"'{folder}': no plug-in in it; expected {kinds} or folders with a params.py"
    taken = {
        (kind, name): f"{kind.what} of the package"
        for kind in KINDS
        for name in kind.reserved_names
    }
    taken |= {(METHOD, name): "control of the package" for name in CONTROL.own}
    for kind, inner in (found for folder in folders for found in find_plugin_kinds(folder)):
        for name in _list_names(str(inner), kind.pattern):
            if other := taken.get((kind, name)):
                yield f"'{inner / name}': a {other} has this name"
            taken.setdefault((kind, name), f"{kind.what} in '{inner}'")


def describe_error(error: Exception, folders: Sequence[str]) -> str:
    """Describe an error in the code of `folders` in one line: file, line and message."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((str(error.filename), error.lineno))
    ours = [place for place in frames if any(Path(place[0]).is_relative_to(f) for f in folders)]
    where = "'{}', line {}: ".format(*ours[-1]) if ours else ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{where}{type(error).__name__}: {' '.join(str(message).split())}"


def method_kind(name: str) -> Kind:
    """Return METHOD or CONTROL; raise ValueError if neither has that name."""
    for kind in (METHOD, CONTROL):
        if name in kind.names():
            return kind
    raise ValueError(unknown_name("method", name, METHOD.names() + CONTROL.names()))


def params_class(name: str) -> type[MethodParams]:
    """Return the class `Params` of a method or control."""
    params: type[MethodParams] = method_kind(name).load(name, "params").Params
    return params


def prepare_class(name: str) -> type[MethodParams] | None:
    """Return the class `Prepare` (parameters of `prepare`) of a method; None if it has none."""
    return getattr(method_kind(name).load(name, "params"), "Prepare", None)


def prepare_values(name: str, params: MethodParams) -> dict[str, Any]:
    """Return the parameters that `prepare` reads, with their values."""
    prepare = prepare_class(name)
    assert prepare is not None, f"{name} has no Prepare"
    return params.model_dump(mode="json", include=set(prepare.model_fields))


def prepared_name(name: str, params: MethodParams) -> str:
    """Return the name of the folder that `prepare` writes: method and hash of the parameters."""
    values = json.dumps(prepare_values(name, params), sort_keys=True)
    return f"{name}-{hashlib.sha256(values.encode()).hexdigest()[:10]}"
