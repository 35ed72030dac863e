"""Checks of plug-ins before any job: members that the Snakefile needs, syntax and imports.

Methods and models import torch, so their code is read and not run.
"""

import ast
from collections.abc import Iterable, Iterator
from importlib.util import decode_source, find_spec
from pathlib import Path
from symtable import symtable
from typing import Any

from collateral.contract.messages import did_you_mean, quoted
from collateral.contract.metrics import Metric
from collateral.contract.params import TOUCHABLE
from collateral.plugins import find
from collateral.plugins.find import DATA, FINDING, FORGET, METHOD, Kind
from collateral.plugins.modules import PACKAGE, find_module, is_shipped

# Required members of the file that the Snakefile imports; for a method, this is params.py.
MEMBERS = {
    METHOD: ("Params",),
    DATA: ("INFO", "Options", "load"),
    FORGET: ("Params", "select", "count", "chosen"),
    FINDING: (),
}
# Required members of the class `Params` of a method.
METHOD_MEMBERS = ("label", "touches")
# Names of exception types; an `except` clause with one of them catches a failed import.
FORGIVING = {"Exception", "ImportError", "ModuleNotFoundError"}


def plugin_errors(used: Iterable[tuple[Kind, str]]) -> Iterator[str]:
    """Yield the errors of the plug-ins that the config uses, and of all plugged-in findings."""
    for kind, name in dict.fromkeys([*used, *((FINDING, name) for name in FINDING.names())]):
        if kind.is_plugged_in(name):
            yield from _member_errors(kind, name)
    if any(map(FINDING.is_plugged_in, FINDING.names())):
        yield from _clashes()


def _member_errors(kind: Kind, name: str) -> Iterator[str]:
    try:
        module = kind.load(name, "params" if kind is METHOD else "")
    except find.PluginError as error:
        yield str(error)
        return
    for problem in _find_problems(kind, module):
        yield f"plugins: '{_path(module)}': {problem}"


def _find_problems(kind: Kind, module: Any) -> Iterator[str]:
    """Yield the members that a plug-in lacks, and those with a wrong value."""
    missing = [member for member in MEMBERS[kind] if not hasattr(module, member)]
    if kind is METHOD and not missing:
        missing = [f"Params.{one}" for one in METHOD_MEMBERS if not hasattr(module.Params, one)]
    yield from (f"has no {member}, which every {kind.what} has" for member in missing)
    if kind is METHOD and not missing:
        yield from (f"Params.touches: {wrong}" for wrong in _touches_errors(module.Params.touches))
    if kind is FINDING and not _are_metrics(getattr(module, "METRICS", {})):
        yield "METRICS: should be a dictionary of Metric by name"


def _clashes() -> Iterator[str]:
    """Yield an error for each metric of a plugged-in finding whose name is used already."""
    known: dict[str, str] = {}
    for finding in FINDING.names():
        for metric in _metrics(finding):
            if other := known.get(metric):
                where = f"'{_path(FINDING.load(finding))}': METRICS: {quoted(metric)}"
                yield f"plugins: {where}: the finding {other} has a metric of this name; rename it"
            known.setdefault(metric, finding)


def _metrics(finding: str) -> list[str]:
    """Return the metric names of a finding; empty if the finding has another error."""
    try:
        metrics = getattr(FINDING.load(finding), "METRICS", {})
    except find.PluginError:
        return []
    return list(metrics) if _are_metrics(metrics) else []


def _are_metrics(value: Any) -> bool:
    """Tell whether a value is a dictionary from names to Metric objects."""
    is_dictionary = isinstance(value, dict)
    return is_dictionary and all(isinstance(one, Metric) for one in value.values())


def _touches_errors(touches: Any) -> Iterator[str]:
    """Yield the errors of `Params.touches`."""
    allowed = f"allowed: {', '.join(TOUCHABLE)}"
    if not isinstance(touches, frozenset | set):
        yield f"{quoted(touches)}: should be a frozenset of names; {allowed}"
        return
    for name in sorted(touches - {*TOUCHABLE}, key=str):
        yield f"{quoted(name)} is not allowed; {allowed}{did_you_mean(name, TOUCHABLE)}"


def _path(module: Any) -> Path:
    return Path(module.__file__)


def finding_errors() -> Iterator[str]:
    """Yield the syntax errors and missing imports in the files of plugged-in findings."""
    modules = [module for part in find.PARTS for module in FINDING.parts(part)]
    for module in modules:
        yield from _broken(module, {module}, with_packages=False)


def code_errors(module: str, function: str, *, will_run: bool) -> Iterator[str]:
    """Yield why a function cannot be imported; check for packages only if a job `will_run`."""
    file = find_file(module)
    if file is None:
        yield f"'{_folder(module)}': has no {module.rpartition('.')[2]}.py"
    elif broken := list(_broken(module, {module}, with_packages=will_run)):
        yield from broken
    elif function not in _names(file):
        yield f"'{file}': has no function {function}"


def _broken(module: str, seen: set[str], *, with_packages: bool) -> Iterator[str]:
    """Yield the syntax errors and missing imports of a module and of the modules it imports."""
    file = find_file(module)
    if file is None or is_shipped(file):
        return
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        yield find.describe_error(error, [str(file)])
        return
    for line, name in _imports(tree.body, module):
        if problem := _missing(name, with_packages):
            yield f"'{file}', line {line}: {problem}"
        elif name.startswith(f"{PACKAGE}.") and name not in seen:
            seen.add(name)
            yield from _broken(name, seen, with_packages=with_packages)


def _missing(name: str, with_packages: bool) -> str:
    """Return a message if a module of Collateral or a package does not exist, else no text."""
    root = name.split(".")[0]
    if root == PACKAGE:
        return "" if find_module(name) else f"there is no module {name}"
    # Without torch, nothing is trained on this machine, and missing packages are not an error.
    if not with_packages or find_spec(root) or not find_spec("torch"):
        return ""
    return f"the package {root} is not installed"


def _imports(body: list[ast.stmt], module: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each import that runs when the module is imported."""
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
    """Tell whether a `try` statement catches a failed import."""
    caught = {name for handler in node.handlers for name in _ids(handler.type)}
    return bool(caught & FORGIVING) or any(handler.type is None for handler in node.handlers)


def _ids(node: ast.expr | None) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node else set()


def _names(file: Path) -> set[str]:
    """Return the names that a module defines, assigns or imports."""
    symbols = symtable(decode_source(file.read_bytes()), str(file), "exec").get_symbols()
    return {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}


def find_file(module: str) -> Path | None:
    """Return the file of a module, or None."""
    spec = find_module(module)
    return Path(spec.origin) if spec and spec.origin else None


def _folder(module: str) -> str:
    """Return the folder in which a missing module should be."""
    above = find_module(module.rpartition(".")[0])
    return next(iter(above.submodule_search_locations or ())) if above else module
