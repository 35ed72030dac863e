"""Mutation testing: change the pure modules in one place at a time, and check that a test fails.

    python tools/mutants.py                     # all modules, on one core
    python tools/mutants.py plan/paths gap      # modules whose path contains one of these
    python tools/mutants.py --every 5           # every fifth mutant of each module

The first round is fast: for each mutant, a process that has collected the tests is forked, the
changed module replaces the loaded one, and those tests run that execute the changed line, until one
fails. Objects that were computed from the old module stay as they were. Therefore a mutant that no
test noticed is tried again in a new process, which imports only the changed module and runs all
tests of the module. Mutants that survive both rounds are printed; CONTRIBUTING.md explains them.
"""

import ast
import copy
import inspect
import json
import linecache
import os
import resource
import signal
import sys
import tempfile
import textwrap
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, PREFIX = ROOT / "workflow/collateral", "collateral."
QUIET = ("-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider")
OF_CELLS = ("test_stage_metrics", "test_finding_compute")  # all findings of a cell
OF_TABLES = ("test_tables", "test_tables_sweeps", "test_plots_cases")
TESTS = {
    "plan/fingerprint": ("test_fingerprint", "test_presentation"),
    "plan/grid": ("test_grid", "test_jobs", "test_preparation", "test_presentation"),
    **{
        f"jobs/{name}": ("test_jobs", "test_estimate", "test_comparison", "test_preparation")
        for name in ("_method", "_weights", "expose", "metrics", "shadow", "tune", "unlearn")
    },
    "plan/paths": ("test_paths", "test_jobs"),
    "plan/report_plan": ("test_presentation",),
    "findings/columns": ("test_columns",),
    "findings/_shared/compare": (*OF_TABLES, "test_views"),
    "metrics/accuracy": (
        *("test_finding_accuracy", "test_finding_classes", "test_finding_groups"),
        *OF_CELLS,
    ),
    "metrics/association": ("test_finding_localization", "test_finding_classes", "test_inference"),
    "metrics/copies": ("test_gates", "test_neighbours", "test_pictures"),
    "metrics/divergence": ("test_finding_divergence",),
    "metrics/membership": ("test_finding_membership", "test_finding_epochs", *OF_CELLS),
    "metrics/similarity": (
        *("test_similarity", "test_finding_locality", "test_finding_localization"),
        *OF_CELLS,
    ),
    "metrics/statistics": (
        *("test_finding_gap", "test_finding_trajectory", "test_finding_locality"),
        *("test_finding_classes", "test_tables", "test_stage_metrics"),
    ),
    "findings/accuracy/numbers": ("test_finding_accuracy", *OF_CELLS),
    "findings/classes/numbers": ("test_finding_classes",),
    "findings/costs/numbers": (*OF_CELLS, "test_tables_costs"),
    "findings/epochs/numbers": OF_CELLS,
    "findings/forget_set/numbers": OF_CELLS,
    "findings/gap/numbers": ("test_finding_gap", *OF_CELLS),
    "findings/locality/numbers": ("test_finding_locality", "test_finding_epochs", *OF_CELLS),
    "findings/membership/numbers": ("test_finding_membership", "test_finding_epochs", *OF_CELLS),
    "findings/reported/numbers": OF_CELLS,
    "findings/summary/numbers": ("test_tables_summary",),
    "findings/support_size/numbers": ("test_finding_support_size", *OF_CELLS),
    "findings/trajectory/views": ("test_tables_trajectory", "test_plots_cases"),
    "findings/trajectory/numbers": ("test_finding_trajectory",),
    "findings/tuning/numbers": ("test_finding_tuning", *OF_CELLS),
    "metrics/selection": ("test_selection",),
}
# Modules that are imported before processes are forked; none of them imports a mutated module.
LIBRARIES = (
    *("pandas", "scipy.special", "scipy.stats", "sklearn.svm"),
    "collateral.config.load",
)
OF_EVERY_CLASS = ("__dict__", "__weakref__")
SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    line: int
    change: str  # source text of the changed node, before and after
    source: str

    def __str__(self) -> str:
        return f"{self.line}: {self.change}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield a mutant of a module for each node of its syntax tree and each possible change."""
    tree = ast.parse(path.read_text())
    skipped = {id(node) for part in _unbroken(tree) for node in ast.walk(part)}
    for node in [node for node in ast.walk(tree) if id(node) not in skipped]:
        for other in WAYS.get(type(node), lambda node: ())(node):
            before, own = _text(node), (node.__class__, node.__dict__)
            line = next(part.lineno for part in ast.walk(node) if hasattr(part, "lineno"))
            node.__class__, node.__dict__ = other.__class__, {**own[1], **other.__dict__}
            change, source = f"{before} -> {_text(node)}", ast.unparse(tree)
            node.__class__, node.__dict__ = own
            yield Mutant(line, change, source)


def _text(node: ast.AST) -> str:
    """Write a node in a line; of a statement with a body the head alone."""
    return textwrap.shorten(ast.unparse(node).split("\n")[0], 90)


def _unbroken(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that are not changed: types, decorators, docstrings, errors, assertions."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(decorator_list=decorators, returns=returns):
                yield from [*decorators, *([returns] if returns else [])]
            case ast.ClassDef(decorator_list=decorators):
                yield from decorators
            case ast.arg(annotation=ast.AST() as kind) | ast.AnnAssign(annotation=kind):
                yield kind
            case ast.Raise() | ast.Assert() | ast.Expr(value=ast.Constant()):
                yield node
            case ast.keyword(arg="strict"):  # of zip: an assertion
                yield node


Others = Iterator[ast.AST]


def _compare(node: ast.Compare) -> Others:
    for place, op in enumerate(node.ops):
        for new in SWAPS.get(type(op), ()):
            yield _with(node, ops=_put(node.ops, place, [new()]))


def _operator(node: ast.BinOp | ast.BoolOp | ast.AugAssign) -> Others:
    yield from (_with(node, op=new()) for new in SWAPS.get(type(node.op), ()))


def _constant(node: ast.Constant) -> Others:
    match node.value:
        case bool():
            yield ast.Constant(not node.value)
        case int() | float():
            yield ast.Constant(node.value + 1)
        case str():
            yield ast.Constant(f"XX{node.value}")


def _call(node: ast.Call) -> Others:
    """Drop each keyword argument and the last positional one; swap adjacent positional ones."""
    named, args = [keyword.arg for keyword in node.keywords], node.args
    for place in (place for place, name in enumerate(named) if name != "strict"):
        yield _with(node, keywords=_put(node.keywords, place, []))
    for place in range(1, len(args)):
        swapped = [*args[: place - 1], args[place], args[place - 1], *args[place + 1 :]]
        yield _with(node, args=swapped)
    if len(args) > 1:
        yield _with(node, args=args[:-1])


def _slice(node: ast.Slice) -> Others:
    ends = {"lower": node.lower, "upper": node.upper}
    yield from (_with(node, **{end: None}) for end, there in ends.items() if there)


def _return(node: ast.Return) -> Others:
    if not isinstance(node.value, ast.Constant | None):
        yield ast.Return(ast.Constant(None))


def _assign(node: ast.Assign) -> Others:
    if not isinstance(node.targets[0], ast.Name | ast.Tuple):
        yield ast.Pass()


# Function that yields the changed nodes, by type of node.
WAYS: dict[type[ast.AST], Callable[[Any], Iterable[ast.AST]]] = {
    ast.Compare: _compare,
    ast.BinOp: _operator,
    ast.BoolOp: _operator,
    ast.AugAssign: lambda node: [*_operator(node), ast.Pass()],
    ast.UnaryOp: lambda node: [node.operand],
    ast.IfExp: lambda node: [node.body, node.orelse],
    ast.If: lambda node: [_with(node, test=ast.UnaryOp(ast.Not(), node.test))],
    ast.comprehension: lambda node: [_with(node, ifs=[])] if node.ifs else [],
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Slice: _slice,
    ast.Return: _return,
    ast.Assign: _assign,
    ast.Expr: lambda node: [ast.Pass()],
}


def _put(items: Sequence[Any], place: int, new: Sequence[Any]) -> list[Any]:
    return [*items[:place], *new, *items[place + 1 :]]


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


@dataclass(frozen=True, eq=False)
class Fast:
    """A pytest plug-in that runs the tests on mutants and collects the mutants that survive."""

    names: Sequence[str]
    every: int
    folder: Path  # folder of the files with which forked processes return results
    ran: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    by: list[str] = field(default_factory=lambda: [""])  # stack of the running test and fixtures

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for module in [module for name, module in sys.modules.items() if name.startswith(PREFIX)]:
            for cached in [each for each in vars(module).values() if hasattr(each, "cache_clear")]:
                cached.cache_clear()
        found = {name: list(self.unnoticed(session, name)) for name in self.names}
        (self.folder / "found.json").write_text(json.dumps(found))
        return True

    def unnoticed(self, session: pytest.Session, name: str) -> Iterator[str]:
        module, items = import_module(_module(name)), _items(session, name)
        source = inspect.getsource(module)
        assert not _fails(partial(self.trace, session, items, module, source), 300), name
        lines = json.loads((self.folder / "lines.json").read_text())
        for mutant in islice(mutants(PACKAGE / f"{name}.py"), 0, None, self.every):
            # A line that no test executes is executed when the module is imported.
            tests = [item for item in items if mutant.line in lines[item.nodeid]] or items
            if not _fails(partial(_run, session, tests, module, mutant.source), 60):
                yield str(mutant)

    def trace(
        self, session: pytest.Session, items: list[pytest.Item], module: ModuleType, source: str
    ) -> int:
        """Run the tests on the unchanged module; write the lines of it that each test executes."""

        def in_module(frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != module.__file__:
                return None
            self.ran[self.by[-1]].add(frame.f_lineno)
            return in_module

        sys.settrace(in_module)
        status = _run(session, items, module, source)
        sys.settrace(None)
        lines = {
            item.nodeid: sorted(set().union(*(self.ran[n] for n in (item.nodeid, *fixtures(item)))))
            for item in items
        }
        (self.folder / "lines.json").write_text(json.dumps(lines))
        return status

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.by.append(item.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        is_shared = fixturedef.scope != "function"  # Its lines count for all tests that use it.
        self.by.append(fixturedef.argname if is_shared else self.by[-1])
        try:
            return (yield)
        finally:
            self.by.pop()


def fixtures(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


def _items(session: pytest.Session, name: str) -> list[pytest.Item]:
    """Return the tests of a module, in the order of its test files in TESTS."""
    order = {ROOT / "tests/unit" / f"{test}.py": place for place, test in enumerate(TESTS[name])}
    return sorted((i for i in session.items if i.path in order), key=lambda i: order[i.path])


def _run(
    session: pytest.Session, items: Sequence[pytest.Item], module: ModuleType, source: str
) -> int:
    """Replace a module by this source, and run collected tests until one fails."""
    try:
        _put_in(module, source)
    except ValueError:  # The new code does not fit the old function; the second round tries it.
        return 0
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _put_in(module: ModuleType, source: str) -> None:
    """Execute a new source in a module; objects that others have imported get the new behaviour."""
    before = dict(vars(module))
    _remember(str(module.__file__), source)
    exec(compile(source, str(module.__file__), "exec"), vars(module))
    for name, old in before.items():
        new = vars(module)[name]
        if new is not old and _does(old, new):
            vars(module)[name] = old


def _does(old: Any, new: Any) -> bool:
    """Give an old function, class or dictionary the content of a new one; False for other types."""
    match old:
        case FunctionType():
            old.__code__, old.__defaults__ = new.__code__, new.__defaults__
            old.__kwdefaults__ = new.__kwdefaults__
        case type():
            for name, value in vars(new).items():
                if not _does(vars(old).get(name), value) and name not in OF_EVERY_CLASS:
                    setattr(old, name, value)
        case property() | cached_property():
            return _does(*(getattr(one, "fget", None) or one.func for one in (old, new)))
        case dict():
            values = dict(new)
            old.clear()
            old.update(values)
        case _ if hasattr(old, "cache_clear"):
            old.cache_clear()
            return _does(old.__wrapped__, new.__wrapped__)
        case _:
            return False
    return True


def _run_apart(name: str, source: str | None) -> int:
    """Run the tests of a module with this source, in a process that has not imported it."""
    path, own = str(PACKAGE / f"{name}.py"), SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, module: str) -> CodeType | None:
        return compile(source, path, "exec") if module == _module(name) else own(self, module)

    if source is not None:
        _remember(path, source)
        SourceFileLoader.get_code = get_code
    return int(pytest.main([*QUIET, "-x", *_files([name])]))


def _remember(path: str, source: str) -> None:
    """Make `inspect` return this source for a path."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def _fails(work: Callable[[], int], seconds: int) -> bool:
    """Run `work` in a forked process; return whether it failed or took too long."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] != 0
    status = 3
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(20 * seconds)  # The limit above does not count time spent waiting.
        status = work()
    finally:
        os._exit(status)


def _files(names: Iterable[str]) -> list[str]:
    tests = dict.fromkeys(test for name in names for test in TESTS[name])
    return [str(ROOT / "tests/unit" / f"{test}.py") for test in tests]


def _module(name: str) -> str:
    return f"{PREFIX}{name.replace('/', '.')}"


def fast(names: Sequence[str], every: int) -> dict[str, list[str]]:
    """Return the mutants that survive the first round, by module."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*QUIET, "--basetemp", f"{folder}/tests", *_files(names)]
        process = os.fork()
        if not process:
            os._exit(pytest.main(words, plugins=[Fast(names, every, Path(folder))]))
        os.waitpid(process, 0)
        places: dict[str, list[str]] = json.loads((Path(folder) / "found.json").read_text())
        return places


def main() -> None:
    """Print one line per module, and the mutants that no test noticed."""
    parser = ArgumentParser()
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    names = [name for name in TESTS if any(part in name for part in args.names)]
    for library in LIBRARIES:
        import_module(library)
    assert not sys.modules.keys() & map(_module, TESTS), "a library imports what is to be broken"
    for name, places in fast(names, args.every).items():
        assert not _fails(partial(_run_apart, name, None), 300), f"{name}: its tests fail as it is"
        tried = list(islice(mutants(PACKAGE / f"{name}.py"), 0, None, args.every))
        again = [mutant for mutant in tried if str(mutant) in places]
        left = [m for m in again if not _fails(partial(_run_apart, name, m.source), 60)]
        print(f"| {name} | {len(tried)} | {len(left)} | {1 - len(left) / len(tried):.1%} |")
        print("".join(f"    {mutant}\n" for mutant in left), end="", flush=True)


if __name__ == "__main__":
    # No deadline: on a busy machine, a slow test is not a failed test. No database: examples that
    # failed on a mutant say nothing about the real module.
    settings.register_profile("mutants", deadline=None, database=None)
    settings.load_profile("mutants")
    main()
