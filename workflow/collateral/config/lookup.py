"""Find methods and controls: the folder of that name, in the package or under `plugins:`."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from collateral import controls, methods
from collateral.config.params import MethodParams
from collateral.core.spelling import unknown

KINDS: dict[str, ModuleType] = {"method": methods, "control": controls}


def add_plugins(folders: Iterable[Path]) -> None:
    """Let every folder's subfolders be found as methods, after the package's own."""
    for folder in folders:
        if str(folder.resolve()) not in methods.__path__:
            methods.__path__.append(str(folder.resolve()))


def names(kind: str) -> list[str]:
    """Return the names of all methods or controls: the folders that hold a `params.py`."""
    return list(_folders_in(tuple(KINDS[kind].__path__)))


@cache
def _folders_in(paths: tuple[str, ...]) -> list[str]:
    """Look once: a large grid asks for every run."""
    return sorted({file.parent.name for path in paths for file in Path(path).glob("*/params.py")})


def is_own(name: str) -> bool:
    """Tell whether a method or control is the package's own, which a plug-in cannot replace."""
    return any(name in _folders_in((module.__path__[0],)) for module in KINDS.values())


def kind_of(name: str) -> str:
    """Return "method" or "control"; raise ValueError if there is neither of that name."""
    for kind in KINDS:
        if name in names(kind):
            return kind
    raise ValueError(unknown("method", name, names("method") + names("control")))


def module_of(name: str, part: str) -> str:
    """Return the import name of a method's `params` or `method`."""
    return f"{KINDS[kind_of(name)].__name__}.{name}.{part}"


def params_class(name: str) -> type[MethodParams]:
    """Return a method's `Params`."""
    return import_module(module_of(name, "params")).Params  # type: ignore[no-any-return]


def prepare_class(name: str) -> type[MethodParams] | None:
    """Return a method's `Prepare`, if it has two phases."""
    return getattr(import_module(module_of(name, "params")), "Prepare", None)
