"""What can be told of a plug-in's code without running it: no torch, and no job, is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from collateral.contract.plugins import FINDING, METHOD, MODEL, PARTS, describe_error, is_shipped
from collateral.models._metadata import declared_work
from collateral.plan.fingerprint import PACKAGE, find_module, fingerprint

FORGIVING = {"Exception", "ImportError", "ModuleNotFoundError"}


def method_errors(name: str, *, will_run: bool) -> Iterator[str]:
    """Yield why a method that is plugged in cannot run; packages are looked for if it will."""
    yield from _errors(METHOD.module(name, "method"), "unlearn", will_run)


def model_errors(name: str, *, will_run: bool) -> Iterator[str]:
    """Yield why a model that is plugged in cannot be built, or its work is not known."""
    found = list(_errors(MODEL.module(name), "build", will_run))
    yield from found
    if not found:
        yield from _work_errors(name)


def _work_errors(name: str) -> Iterator[str]:
    try:
        declared_work(name)
    except ValueError as error:
        yield str(error)


def finding_errors() -> Iterator[str]:
    """Yield what cannot be read of findings that are plugged in; what raises stops no other."""
    modules = [module for part in PARTS for module in FINDING.parts(part)]
    for module in modules:
        yield from _broken(module, {module}, with_packages=False)


def _errors(module: str, function: str, will_run: bool) -> Iterator[str]:
    """Look at a module that must have a function, and at all of the user's that it imports."""
    file = _file(module)
    if file is None:
        yield f"'{_folder(module)}': has no {module.rpartition('.')[2]}.py"
    elif broken := list(_broken(module, {module}, with_packages=will_run)):
        yield from broken
    elif function not in _names(_parsed(file)):
        yield f"'{file}': has no function {function}"
    else:
        yield from _without_fingerprint(module, file)


def _without_fingerprint(module: str, file: Path) -> Iterator[str]:
    try:
        fingerprint([module])
    except (ModuleNotFoundError, ValueError) as error:
        yield f"'{file}': {error}"


def _broken(module: str, seen: set[str], *, with_packages: bool) -> Iterator[str]:
    """Yield what cannot be read, and imports of what is not there."""
    file = _file(module)
    if file is None or is_shipped(file):
        return
    try:
        tree = _parsed(file)
    except (SyntaxError, ValueError) as error:
        yield describe_error(error, [str(file)])
        return
    for line, name in _imports(tree.body, module):
        if problem := _missing(name, with_packages):
            yield f"'{file}', line {line}: {problem}"
        elif name.startswith(f"{PACKAGE}.") and name not in seen:
            seen.add(name)
            yield from _broken(name, seen, with_packages=with_packages)


def _missing(name: str, with_packages: bool) -> str:
    """Say that a module of the package, or somebody's package, is not there; else nothing."""
    root = name.split(".")[0]
    if root == PACKAGE:
        return "" if find_module(name) else f"there is no module {name}"
    # Without torch nothing is trained here: figures are drawn, or jobs run elsewhere.
    if not with_packages or find_spec(root) or not find_spec("torch"):
        return ""
    return f"the package {root} is not installed"


def _imports(body: list[ast.stmt], module: str) -> Iterator[tuple[int, str]]:
    """Yield what is imported together with a module, and on which line."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, _absolute(node, module)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from _imports([*node.body, *node.orelse], module)
        elif isinstance(node, ast.Try) and not _is_forgiving(node):
            yield from _imports(node.body, module)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    above = module.rsplit(".", node.level)[0] if node.level else ""
    return ".".join(filter(None, (above, node.module)))


def _is_forgiving(node: ast.Try) -> bool:
    """Tell whether an import that fails is dealt with."""
    caught = {name for handler in node.handlers for name in _ids(handler.type)}
    return bool(caught & FORGIVING) or any(handler.type is None for handler in node.handlers)


def _ids(node: ast.expr | None) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node else set()


def _names(tree: ast.Module) -> set[str]:
    """Return what a module defines, assigns or imports by name."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        else:
            found |= {
                part.id
                for part in ast.walk(node)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }
    return found


def _file(module: str) -> Path | None:
    spec = find_module(module)
    return Path(spec.origin) if spec and spec.origin else None


def _folder(module: str) -> str:
    """Return where a module that is not there would lie."""
    above = find_module(module.rpartition(".")[0])
    return next(iter(above.submodule_search_locations or ())) if above else module


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes(), str(file))
