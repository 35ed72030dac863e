"""What a stage's code means, as a hash: of its modules' syntax trees, without docstrings."""

import ast
import hashlib
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import collateral

PACKAGE = "collateral"
# Names of files, options, costs, the wording of errors, and which of several GPUs is taken.
BOOKKEEPING = frozenset(
    f"{PACKAGE}.{name}"
    for name in ("core.locks", "core.record", "core.spelling", "paths", "stages.options")
)


def fingerprint(modules: Iterable[str]) -> str:
    """Return a hash of `modules` and of all that they import within the package."""
    seen: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in seen and not _is_config(module):
            seen.add(module)
            waiting += _read(module)[1]
    content = "\n".join(f"{module} {_read(module)[0]}" for module in sorted(seen))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _is_config(module: str) -> bool:
    """Tell whether no result depends on a module: it only declares parameters, whose values are on
    the command line, or it keeps the books.
    """
    is_declaring = module.startswith(f"{PACKAGE}.config.") or module.endswith(".params")
    return is_declaring or module in BOOKKEEPING


@cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """Return a module's hash and the package's modules that it imports."""
    spec = _find(module)
    if spec is None:
        raise ModuleNotFoundError(f"no module {module}, so no fingerprint of it")
    if spec.origin is None:  # a folder without __init__.py
        return "", ()
    tree = ast.parse(Path(spec.origin).read_text())
    for node in ast.walk(tree):
        _drop_docstring(node)
    imports = {name for node in ast.walk(tree) for name in _imported(node)}
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(sorted(imports))


def _drop_docstring(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
        node.body = node.body[1:] or [ast.Pass()]


def _imported(node: ast.AST) -> list[str]:
    """Return the package's modules that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.startswith(f"{PACKAGE}.")]
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
        # `from collateral.core import files` may name modules, or names within a module.
        module = str(node.module)
        inner = [f"{module}.{alias.name}" for alias in node.names]
        return [module, *(name for name in inner if _find(name))]
    return []


@cache
def _find(module: str) -> ModuleSpec | None:
    """Find a module of the package, plug-ins included, and import nothing on the way."""
    spec: ModuleSpec | None = collateral.__spec__
    path: Sequence[str] | None = collateral.__path__
    name = PACKAGE
    for part in module.split(".")[1:]:
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, path) if path else None
        if spec is None:
            return None
        # A folder of plug-ins is on the path of the imported package alone.
        path = getattr(sys.modules.get(name), "__path__", spec.submodule_search_locations)
    return spec
