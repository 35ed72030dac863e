"""Break the pure modules on purpose, one place at a time: does a test notice?

    python tests/mutants.py                     # all of them, on one core
    python tests/mutants.py plan/paths gap      # those whose path has one of these in it

Each broken copy is imported by a forked process, which has the libraries already, and the module's
tests run until one fails. What no test noticed is printed; docs/mutants.md gives the reasons.
"""

import ast
import copy
import os
import resource
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workflow/collateral"
OF_CELLS = ("test_stage_metrics", "test_finding_compute")  # all findings of a cell
OF_TABLES = ("test_tables", "test_tables_sweeps", "test_figures", "test_figures_accuracy")
TESTS = {
    "plan/evaluation": ("test_jobs",),
    "plan/fingerprint": ("test_fingerprint", "test_presentation"),
    "plan/grid": ("test_grid", "test_jobs", "test_preparation", "test_presentation"),
    "plan/jobs": ("test_jobs", "test_estimate"),
    "plan/method_jobs": ("test_jobs", "test_estimate"),
    "plan/paths": ("test_paths", "test_jobs"),
    "plan/preparation": ("test_preparation", "test_jobs"),
    "plan/presentation": ("test_presentation",),
    "findings/_shared/compare": (*OF_TABLES, "test_tables_near_and_far"),
    "findings/_shared/statistics": (
        *("test_finding_gap", "test_finding_locality", "test_finding_classes"),
        *("test_tables", "test_stage_metrics"),
    ),
    "findings/accuracy/numbers": ("test_finding_accuracy", *OF_CELLS),
    "findings/classes/numbers": ("test_finding_classes",),
    "findings/costs/numbers": (*OF_CELLS, "test_tables_costs"),
    "findings/epochs/numbers": OF_CELLS,
    "findings/forget_set/numbers": OF_CELLS,
    "findings/gap/numbers": ("test_finding_gap", *OF_CELLS),
    "findings/locality/numbers": ("test_finding_locality", *OF_CELLS),
    "findings/membership/numbers": ("test_finding_membership", *OF_CELLS),
    "findings/reported/numbers": OF_CELLS,
    "findings/summary/numbers": ("test_tables_summary",),
    "findings/support_size/numbers": ("test_finding_support_size", *OF_CELLS),
    "findings/tuning/numbers": ("test_finding_tuning", *OF_CELLS),
    "findings/tuning/selection": ("test_selection",),
}
# What is imported before the processes are forked; none of it imports a module that is broken.
LIBRARIES = (
    *("hypothesis", "pandas", "scipy.special", "scipy.stats", "sklearn.svm"),
    *("collateral.config.load", "collateral.results.table"),
)
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
    """A module with one place changed."""

    place: str  # the line, and what stands there before and after
    code: CodeType


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield a copy of a module for each place and each way to break it."""
    tree = ast.parse(path.read_text())
    skipped = {id(node) for part in _unbroken(tree) for node in ast.walk(part)}
    for node in [node for node in ast.walk(tree) if id(node) not in skipped]:
        for other in WAYS.get(type(node), lambda node: ())(node):
            before, own = _text(node), (node.__class__, node.__dict__)
            line = next(part.lineno for part in ast.walk(node) if hasattr(part, "lineno"))
            node.__class__, node.__dict__ = other.__class__, {**own[1], **other.__dict__}
            place = f"{line}: {before} -> {_text(node)}"
            code = compile(ast.fix_missing_locations(tree), str(path), "exec")
            node.__class__, node.__dict__ = own
            yield Mutant(place, code)


def _text(node: ast.AST) -> str:
    """Write a node in a line; of a statement with a body the head alone."""
    return textwrap.shorten(ast.unparse(node).split("\n")[0], 90)


def _unbroken(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what no number depends on: types, decorators, docstrings, the wording of errors."""
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
    """Drop each named argument, and the last of several others; swap neighbours among them."""
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


# By kind of node: what may stand in its place.
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


def is_noticed(module: str, code: CodeType | None, tests: Sequence[str], seconds: int) -> bool:
    """Run the tests in a process of their own, with `code` for the module; say if one failed."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] != 0
    status = 3
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(10 * seconds)  # it may wait for ever, too
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if code:
            _replace(module, code)
        files = [str(ROOT / "tests/unit" / f"{name}.py") for name in tests]
        status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files]))
    finally:
        os._exit(status)


def _replace(module: str, code: CodeType) -> None:
    """Let the import of a module give this code."""
    own = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        return code if name == module else own(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def main() -> None:
    """Print a line a module, and what was not noticed."""
    wanted = sys.argv[1:] or [""]
    chosen = [name for name in TESTS if any(part in name for part in wanted)]
    for library in LIBRARIES:
        import_module(library)
    for name in chosen:
        module, tests = f"collateral.{name.replace('/', '.')}", TESTS[name]
        assert module not in sys.modules, f"{module} is imported too early"
        start = time.perf_counter()
        if is_noticed(module, None, tests, 300):
            raise SystemExit(f"{name}: its tests fail without a change: {', '.join(tests)}")
        seconds = 20 + int(5 * (time.perf_counter() - start))
        tried = list(mutants(PACKAGE / f"{name}.py"))
        left = [each for each in tried if not is_noticed(module, each.code, tests, seconds)]
        share = 1 - len(left) / len(tried)
        print(f"| {name} | {len(tried)} | {len(left)} | {share:.1%} |", flush=True)
        for each in left:
            print(f"    {each.place}", flush=True)


if __name__ == "__main__":
    # What made a broken module fail is of no use to the whole one.
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp()
    main()
