"""Checks of plug-ins before any job: members that the Snakefile needs, syntax and imports.

Methods and models import torch, so their code is read and not run.
"""

import ast
from collections.abc import Iterable, Iterator
from importlib.util import decode_source, find_spec
from pathlib import Path
from symtable import symtable

from collateral.contract.messages import quoted
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


def plugin_errors(used: Iterable[tuple[Kind, str]]) -> Iterator[str]:
    """Yield the errors of the plug-ins that the config uses, and of all plugged-in findings.

    If they have none, yield the metrics of plugged-in findings whose names are used already.
    """
    findings = ((FINDING, name) for name in FINDING.names())
    plugged = [one for one in dict.fromkeys([*used, *findings]) if one[0].is_plugged_in(one[1])]
    problems = [problem for kind, name in plugged for problem in _member_errors(kind, name)]
    yield from problems
    if not problems and any(kind is FINDING for kind, _ in plugged):
        yield from _clashes()


def _member_errors(kind: Kind, name: str) -> Iterator[str]:
    """Yield why a plug-in cannot be imported, members that it lacks, and wrong values."""
    try:
        module = kind.load(name, "params" if kind is METHOD else "")
    except find.PluginError as error:
        yield str(error)
        return
    here = f"plugins: '{module.__file__}':"
    missing = [member for member in MEMBERS[kind] if not hasattr(module, member)]
    if kind is METHOD and not missing:
        missing = [f"Params.{one}" for one in METHOD_MEMBERS if not hasattr(module.Params, one)]
    yield from (f"{here} has no {member}, which every {kind.what} has" for member in missing)
    touches = module.Params.touches if kind is METHOD and not missing else frozenset()
    if not isinstance(touches, frozenset | set) or not touches <= {*TOUCHABLE}:
        allowed = f"should be a frozenset of some of {', '.join(TOUCHABLE)}"
        yield f"{here} Params.touches: {quoted(touches)}: {allowed}"
    metrics = getattr(module, "METRICS", {}) if kind is FINDING else {}
    if not isinstance(metrics, dict) or not all(isinstance(m, Metric) for m in metrics.values()):
        yield f"{here} METRICS: should be a dictionary of Metric by name"


def _clashes() -> Iterator[str]:
    """Yield an error for each metric of a plugged-in finding whose name is used already."""
    known: dict[str, str] = {}
    for finding in FINDING.names():
        module = FINDING.load(finding)
        for metric in getattr(module, "METRICS", {}):
            if other := known.get(metric):
                where = f"'{module.__file__}': METRICS: {quoted(metric)}"
                yield f"plugins: {where}: the finding {other} has a metric of this name; rename it"
            known.setdefault(metric, finding)


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
    for line, name in _imports(tree, module):
        if problem := _missing(name, with_packages):
            yield f"'{file}', line {line}: {problem}"
        elif name.startswith(f"{PACKAGE}.") and name not in seen:
            seen.add(name)
            yield from _broken(name, seen, with_packages=with_packages)


def _missing(name: str, with_packages: bool) -> str:
    """Return a message if the imported module or package does not exist, else an empty text."""
    root = name.split(".")[0]
    if root == PACKAGE:
        return "" if find_module(name) else f"there is no module {name}"
    # Without torch, nothing is trained on this machine, and missing packages are not an error.
    if not with_packages or find_spec(root) or not find_spec("torch"):
        return ""
    return f"the package {root} is not installed"


def _imports(tree: ast.Module, module: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each import at the top level of a module."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.rsplit(".", node.level)[0] if node.level else ""
            yield node.lineno, ".".join(filter(None, (above, node.module)))


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
