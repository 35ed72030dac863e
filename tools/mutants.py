"""Mutation testing: change the pure modules in one place at a time, and check that a test fails.

    python tools/mutants.py --sample 300        # 300 mutants of all modules, drawn at random
    python tools/mutants.py plan/paths gap      # all mutants of modules whose path contains these
    python tools/mutants.py --every 5           # every fifth mutant of each module
    python tools/mutants.py jobs/ --every 9 --all-killers   # which tests notice each mutant?

Each mutant has the same probability to be drawn, and `--seed` (1 if not given) fixes the draw.

No list says which tests belong to a module. At first every test file runs once, and the lines of
the modules that each test executes are kept in .pytest_cache/mutants.json, until a source that the
test file imports changes. A mutant is given the tests that execute its line, the fastest first, up
to a limit of seconds.

The first round is fast: for each mutant, a process that has collected the tests is forked, the
changed module replaces the loaded one, and the tests run until one fails. Objects that were
computed from the old module stay as they were. Therefore a mutant that no test noticed is tried
again in a new process, which imports only the changed module, with more tests. Mutants that survive
both rounds are printed; CONTRIBUTING.md explains them.

With --all-killers no test ends the first round of a mutant: it prints every test that fails on it,
and last the tests without a mutant of their own, that is, one that no other test notices. Such
a test may still hold a message or a contract, or a line that too few mutants were tried on.
"""

import ast
import copy
import hashlib
import json
import linecache
import os
import random
import resource
import signal
import sys
import tempfile
import textwrap
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, PREFIX = ROOT / "workflow/collateral", "collateral."
CACHE = ROOT / ".pytest_cache/mutants.json"
QUIET = ("-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider", "-m", "not slow")
# The pure modules: what they return depends on their arguments alone.
PURE = (
    *("plan/*.py", "jobs/*.py", "metrics/*.py", "findings/*/numbers.py"),
    *("findings/verdict/rule.py", "findings/columns.py", "findings/_shared/compare.py"),
    "findings/trajectory/views.py",
)
IMPURE = ("plan/preflight.py", "plan/run_hooks.py", "plan/slurm.py")
# Tests that are slow and do not look at what pure modules return.
LEFT_OUT = (
    *("browser", "bundle", "docs", "figures", "folder", "fuzz", "generated", "init", "layers"),
    *("parquet", "plots_page", "plots_print", "shown_in_browser", "theory", "warm"),
)
FAILED = "failed.txt"  # file with the test that failed
SECONDS = (4, 25)  # of tests per mutant, in the first round and in the second
# Modules that are imported before processes are forked; none of them imports a mutated module.
LIBRARIES = (
    *("matplotlib.pyplot", "pandas", "scipy.special", "scipy.stats", "sklearn.svm", "torch"),
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


def mutants(name: str, places: Collection[int]) -> Iterator[Mutant]:
    """Yield the mutants of a module that are at these places among all its changes."""
    tree = ast.parse(_path(name).read_text())
    for place, (node, other) in enumerate(changes(tree)):
        if place in places:
            before, own = _text(node), (node.__class__, node.__dict__)
            line = next(part.lineno for part in ast.walk(node) if hasattr(part, "lineno"))
            node.__class__, node.__dict__ = other.__class__, {**own[1], **other.__dict__}
            change, source = f"{before} -> {_text(node)}", ast.unparse(tree)
            node.__class__, node.__dict__ = own
            yield Mutant(line, change, source)


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node of a syntax tree with each node that could replace it."""
    skipped = {id(node) for part in _unbroken(tree) for node in ast.walk(part)}
    for node in [node for node in ast.walk(tree) if id(node) not in skipped]:
        yield from ((node, other) for other in WAYS.get(type(node), lambda node: ())(node))


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


@dataclass(frozen=True)
class Test:
    """A test, its time, and the lines that it executes."""

    id: str
    seconds: float
    shared: dict[str, float]  # seconds of the fixtures that it shares with other tests
    lines: dict[str, list[int]]  # by module


@dataclass(eq=False)
class Tracer:
    """A pytest plug-in that runs all tests of a file and writes what they execute."""

    path: Path  # file to write
    by: list[str] = field(default_factory=lambda: [""])  # stack of the running test and fixtures
    since: float = 0
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lines: dict[str, dict[str, set[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    passed: list[pytest.Item] = field(default_factory=list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        modules = {str(import_module(_module(name)).__file__): name for name in MODULES}

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            name = modules.get(frame.f_code.co_filename)
            if name is None:
                return None
            self.lines[self.by[-1]][name].add(frame.f_lineno)
            return trace

        sys.settrace(trace)
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            failed = session.testsfailed
            self.push(item.nodeid)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.pop()
            self.passed += [item] if session.testsfailed == failed else []
        sys.settrace(None)
        session.testsfailed = 0
        self.path.write_text(json.dumps([asdict(self.test(item)) for item in self.passed]))
        return True

    def test(self, item: pytest.Item) -> Test:
        shared = shared_fixtures(item)
        parts = [self.lines[key] for key in (item.nodeid, *shared)]
        lines = {n: sorted(set().union(*(part[n] for part in parts if n in part))) for n in MODULES}
        return Test(
            id=item.nodeid,
            seconds=self.seconds[item.nodeid],
            shared={key: self.seconds[key] for key in shared if key in self.seconds},
            lines={name: numbers for name, numbers in lines.items() if numbers},
        )

    def push(self, key: str) -> None:
        self.charge()
        self.by.append(key)

    def pop(self) -> None:
        self.charge()
        self.by.pop()

    def charge(self) -> None:
        now = sum(os.times()[:4])  # of this process and of those that it has started
        self.seconds[self.by[-1]] += now - self.since
        self.since = now

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        is_shared = fixturedef.scope != "function"
        self.push(_key(fixturedef) if is_shared else self.by[-1])
        try:
            return (yield)
        finally:
            self.pop()


def shared_fixtures(item: pytest.Item) -> list[str]:
    """Return the fixtures of a test that other tests use, too."""
    if not isinstance(item, pytest.Function):
        return []
    fixtures = [one for some in item._fixtureinfo.name2fixturedefs.values() for one in some]
    return [_key(fixture) for fixture in fixtures if fixture.scope != "function"]


def _key(fixture: pytest.FixtureDef[Any]) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def traced_tests() -> list[Test]:
    """Return all tests with the lines that they execute, from the cache where it is up to date."""
    kept = json.loads(CACHE.read_text()) if CACHE.is_file() else {}
    hashes: dict[str, str] = {}
    for path in (path for path in test_files() if not _is_fresh(kept.get(path.name), hashes)):
        print(f"tracing {path.name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "tests.json"
            _fails(partial(_trace, path, out), 900)
            tests = json.loads(out.read_text()) if out.is_file() else []
            sources = json.loads((Path(folder) / "sources.json").read_text())
        kept[path.name] = {"sources": {s: _hash(s, hashes) for s in sources}, "tests": tests}
        CACHE.parent.mkdir(exist_ok=True)
        CACHE.write_text(json.dumps(kept))
    return [Test(**test) for path in test_files() for test in kept[path.name]["tests"]]


def _trace(path: Path, out: Path) -> int:
    status = pytest.main([*QUIET, "--basetemp", f"{out.parent}/tmp", str(path)], [Tracer(out)])
    loaded = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    sources = [f for f in loaded if f.startswith((str(PACKAGE), str(ROOT / "tests")))]
    (out.parent / "sources.json").write_text(json.dumps(sorted({str(path), *sources})))
    return int(status)


def test_files() -> list[Path]:
    """Return the files of unit tests that are tried on mutants."""
    return [
        path
        for path in sorted((ROOT / "tests/unit").glob("test_*.py"))
        if not path.stem.removeprefix("test_").startswith(LEFT_OUT)
    ]


def _is_fresh(entry: Any, hashes: dict[str, str]) -> bool:
    return entry is not None and all(
        _hash(source, hashes) == kept for source, kept in entry["sources"].items()
    )


def _hash(source: str, hashes: dict[str, str]) -> str:
    if source not in hashes:
        path = Path(source)
        hashes[source] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return hashes[source]


def tests_of(tests: Iterable[Test], name: str, line: int, seconds: float) -> list[str]:
    """Return the tests that execute a line of a module, the fastest first, of so many seconds."""
    own = f"tests/unit/test_{name.rpartition('/')[2]}.py::"  # These may run it in a process.
    near = [test for test in tests if name in test.lines or test.id.startswith(own)]
    # A line that no test executes is executed when the module is imported.
    if any(line in test.lines.get(name, []) for test in near):
        near = [test for test in near if line in test.lines.get(name, [line])]
    chosen, shared = list[str](), set[str]()
    for test in sorted(near, key=lambda test: test.seconds + sum(test.shared.values())):
        seconds -= test.seconds + sum(test.shared[key] for key in test.shared.keys() - shared)
        if seconds < 0 and chosen:
            break
        chosen.append(test.id)
        shared |= test.shared.keys()
    return chosen


@dataclass(frozen=True, eq=False)
class Failed:
    """A pytest plug-in that writes which tests failed, a line each."""

    path: Path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with self.path.open("a") as file:
                print(report.nodeid, file=file)


@dataclass(frozen=True, eq=False)
class Fast:
    """A pytest plug-in that runs the tests on mutants and writes the mutants that survive."""

    places: Mapping[str, Collection[int]]  # of the mutants, by module
    tests: Sequence[Test]
    folder: Path
    killers: dict[str, list[str]] | None = None  # by mutant, if all tests shall be found

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for module in [module for name, module in sys.modules.items() if name.startswith(PREFIX)]:
            for cached in [each for each in vars(module).values() if hasattr(each, "cache_clear")]:
                cached.cache_clear()
        found = {name: list(self.unnoticed(session, name)) for name in self.places}
        (self.folder / "found.json").write_text(json.dumps(found))
        (self.folder / "killers.json").write_text(json.dumps(self.killers))
        return True

    def unnoticed(self, session: pytest.Session, name: str) -> Iterator[int]:
        run = partial(_run, session, import_module(_module(name)))
        places = sorted(self.places[name])
        for place, mutant in zip(places, mutants(name, places), strict=True):
            ids = tests_of(self.tests, name, mutant.line, SECONDS[0])
            if self.killers is not None:
                found = _killers(run, name, mutant, ids, self.folder / FAILED)
                self.killers[f"{name} {mutant}"] = found
            if not _is_noticed(run, name, mutant, ids, self.folder / FAILED):
                print(f"after the first round: {name} {mutant}", file=sys.stderr, flush=True)
                yield place


@dataclass(frozen=True, eq=False)
class Only:
    """A pytest plug-in that runs only these tests, in this order."""

    ids: Sequence[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_id = {item.nodeid: item for item in items}
        items[:] = [by_id[test] for test in self.ids]


def _is_noticed(
    run: Callable[[Sequence[str], str], int],
    name: str,
    mutant: Mutant,
    ids: list[str],
    failed: Path,
) -> bool:
    """Tell whether a test fails on a mutant; it must not fail on the module as it is."""
    failed.unlink(missing_ok=True)
    if not _fails(partial(run, ids, mutant.source)):
        return False
    if not failed.is_file():
        return True  # The process came to its end before a test did, or the module is no module.
    tried = ids[: ids.index(failed.read_text().split("\n")[0]) + 1]
    is_sound = not _fails(partial(run, tried, _path(name).read_text()))
    if not is_sound:
        print(f"{tried[-1]} fails on {name} as it is", file=sys.stderr, flush=True)
    return is_sound


def _killers(
    run: Callable[..., int], name: str, mutant: Mutant, ids: list[str], failed: Path
) -> list[str]:
    """Return all tests that fail on a mutant and not on the module as it is."""
    found = []
    for source in (mutant.source, _path(name).read_text()):
        failed.unlink(missing_ok=True)
        _fails(partial(run, ids, source, to_end=True))
        found.append(failed.read_text().splitlines() if failed.is_file() else [])
    return sorted({*found[0]} - {*found[1]})


def _run(
    session: pytest.Session,
    module: ModuleType,
    ids: Sequence[str],
    source: str,
    *,
    to_end: bool = False,
) -> int:
    """Replace a module by this source, and run collected tests until one fails, or all."""
    try:
        _put_in(module, source)
    except ValueError:  # The new code does not fit the old function; the second round tries it.
        return 0
    by_id = {item.nodeid: item for item in session.items}
    items = [by_id[test] for test in ids]
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed and not to_end:
            return 1
    return int(session.testsfailed > 0)


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


def _run_apart(name: str, failed: Path, ids: Sequence[str], source: str) -> int:
    """Run tests with this source of a module, in a process that has not imported it."""
    path, own = str(_path(name)), SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, module: str) -> CodeType | None:
        return compile(source, path, "exec") if module == _module(name) else own(self, module)

    _remember(path, source)
    SourceFileLoader.get_code = get_code
    return int(pytest.main([*QUIET, "-x", *_files(ids)], [Only(ids), Failed(failed)]))


def _remember(path: str, source: str) -> None:
    """Make `inspect` return this source for a path."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def _fails(work: Callable[[], int], seconds: int = 3 * SECONDS[1]) -> bool:
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


def _files(ids: Iterable[str]) -> list[str]:
    return [str(ROOT / file) for file in dict.fromkeys(test.partition("::")[0] for test in ids)]


def _path(name: str) -> Path:
    return PACKAGE / f"{name}.py"


def _module(name: str) -> str:
    return f"{PREFIX}{name.replace('/', '.').removesuffix('.__init__')}"


def pure_modules() -> dict[str, int]:
    """Return the number of possible changes of each pure module."""
    paths = {path for pattern in PURE for path in PACKAGE.glob(pattern)}
    names = [path.relative_to(PACKAGE).as_posix() for path in sorted(paths)]
    counts = {
        name.removesuffix(".py"): sum(1 for _ in changes(ast.parse((PACKAGE / name).read_text())))
        for name in names
        if name not in IMPURE
    }
    return {name: count for name, count in counts.items() if count}


MODULES = pure_modules()


def fast(
    places: Mapping[str, Collection[int]],
    tests: Sequence[Test],
    folder: Path,
    *,
    all_killers: bool = False,
) -> dict[str, list[int]]:
    """Return the places of the mutants that survive the first round, by module."""
    words = [*QUIET, "--basetemp", f"{folder}/tests", *_files(test.id for test in tests)]
    process = os.fork()
    if not process:
        killers: dict[str, list[str]] | None = {} if all_killers else None
        plugins = [Fast(places, tests, folder, killers), Failed(folder / FAILED)]
        os._exit(pytest.main(words, plugins=plugins))
    os.waitpid(process, 0)
    survivors: dict[str, list[int]] = json.loads((folder / "found.json").read_text())
    return survivors


def apart(name: str, places: Collection[int], tests: Sequence[Test], folder: Path) -> list[Mutant]:
    """Return the mutants of a module that survive the second round."""
    failed = folder / FAILED
    return [
        mutant
        for mutant in mutants(name, places)
        if not (ids := tests_of(tests, name, mutant.line, SECONDS[1]))
        or not _is_noticed(partial(_run_apart, name, failed), name, mutant, ids, failed)
    ]


def table_of_killers(killers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a row per mutant with all tests that fail; then the tests without an own mutant."""
    for mutant, tests in killers.items():
        yield f"{mutant}: {', '.join(tests) or 'none'}"
    alone = {tests[0] for tests in killers.values() if len(tests) == 1}
    yield from (
        f"no mutant of its own: {test}"
        for test in sorted({test for tests in killers.values() for test in tests} - alone)
    )


def chosen_places(
    names: Sequence[str], every: int, sample: int | None, seed: int
) -> dict[str, Collection[int]]:
    """Return the places of the mutants to try, by module."""
    pairs = [(name, place) for name in names for place in range(0, MODULES[name], every)]
    if sample is not None:
        pairs = sorted(random.Random(seed).sample(pairs, min(sample, len(pairs))))
    return {one: {place for name, place in pairs if name == one} for one in dict(pairs)}


def main() -> None:
    """Print one line per module, and the mutants that no test noticed."""
    parser = ArgumentParser()
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--every", type=int, default=1, help="try every n-th mutant of a module")
    parser.add_argument("--sample", type=int, help="try so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--all-killers", action="store_true", help="print all tests that fail")
    args = parser.parse_args()
    names = [name for name in MODULES if any(part in name for part in args.names)]
    for library in LIBRARIES:
        import_module(library)
    assert not sys.modules.keys() & map(_module, MODULES), "a library imports what is to be broken"
    places = chosen_places(names, args.every, args.sample, args.seed)
    tests, num_left = traced_tests(), 0
    with tempfile.TemporaryDirectory() as folder:
        found = fast(places, tests, Path(folder), all_killers=args.all_killers)
        if args.all_killers:
            killers = json.loads((Path(folder) / "killers.json").read_text())
            print(*table_of_killers(killers), sep="\n")
        for name, survivors in found.items():
            left = apart(name, survivors, tests, Path(folder))
            num_left += len(left)
            print(f"| {name} | {len(places[name])} | {len(left)} |")
            print("".join(f"    {mutant}\n" for mutant in left), end="", flush=True)
    num = sum(map(len, places.values()))
    print(f"{num - num_left} of {num} mutants noticed ({1 - num_left / num:.0%})")


if __name__ == "__main__":
    # No deadline: on a busy machine, a slow test is not a failed test. No database: examples that
    # failed on a mutant say nothing about the real module.
    settings.register_profile("mutants", deadline=None, database=None)
    settings.load_profile("mutants")
    main()
