"""Methods in a folder of the test's own, found as a user's plug-ins are, and forgotten again."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collateral import controls, methods

HEAD = """
from typing import ClassVar, Literal
from pydantic import Field
from collateral.contract.params import MethodParams
"""
ONE_PHASE = (
    HEAD
    + """
class Params(MethodParams):
    label: ClassVar[str] = "Mine"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
    strength: float = Field(1.0, ge=0, description="How much of it.")
    kind: Literal["soft", "hard"] = Field("soft", description="Which of the two.")
"""
)
TWO_PHASES = (
    HEAD
    + """
class Prepare(MethodParams):
    label: ClassVar[str] = "Two"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
    size: int = Field(10, ge=1, description="Read by prepare.")
    support: Literal["closest", "random"] = Field("closest", description="Read by prepare.")


class Params(Prepare):
    lr: float = Field(0.1, ge=0, description="Not read by prepare.")
"""
)
FOLLOWER = (
    HEAD
    + """
class Params(MethodParams):
    label: ClassVar[str] = "Follower"
    touches: ClassVar[frozenset[str]] = frozenset()
    inherits: ClassVar[str | None] = "two"
    needs_retrain: ClassVar[bool] = True
    lr: float = Field(0.7, description="As the method's.")
    size: int = Field(70, description="As the method's.")
"""
)


def write_method(folder: Path, name: str, params: str = ONE_PHASE, method: str = "") -> Path:
    """Write a method's folder; return the folder of plug-ins."""
    (folder / name).mkdir(parents=True)
    (folder / name / "params.py").write_text(params)
    (folder / name / "method.py").write_text(method)
    return folder


def write_control(folder: Path, name: str, params: str) -> None:
    """Write a control's folder and let it be found; the config has no key for that."""
    write_method(folder, name, params)
    controls.__path__.append(str(folder))


@contextmanager
def forgotten_after() -> Iterator[None]:
    """Undo what plug-ins leave behind: the packages' paths, and modules imported from them."""
    paths = {package: list(package.__path__) for package in (methods, controls)}
    modules = set(sys.modules)
    yield
    for package, path in paths.items():
        package.__path__[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("collateral.methods.", "collateral.controls.")):
            del sys.modules[name]
