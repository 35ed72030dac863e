"""Test the claims of claims.toml on results, and print the answers.

Answers are printed as lines for a terminal or as a Markdown table.
"""

import ast
import inspect
import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from paper.claims import curves, sweeps, values
from paper.claims.results import (
    SCOPES,
    VERDICTS,
    Answer,
    Claim,
    Found,
    Results,
    Scope,
    all_hold,
    share,
)

FILE = Path(__file__).parent / "claims.toml"
# Functions that a test may call, by name; `holds` adds the case as their first argument.
FUNCTIONS = {
    name: function
    for module in (values, sweeps, curves)
    for name, function in vars(module).items()
    if inspect.isfunction(function)
    and next(iter(inspect.signature(function).parameters), "") == "case"
}
# Other names that a test may use: functions of arrays, and the list of baselines.
ARRAYS = {
    **{
        "abs": np.abs,
        "min": np.min,
        "max": np.max,
        "mean": np.mean,
        "spread": np.ptp,
        "diff": np.diff,
    },
    **{"later": curves.later, "fall": curves.fall, "baselines": values.BASELINES},
}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
}
HEAD = "| claim | here | numbers |\n| --- | --- | --- |\n"


def read_claims(file: Path = FILE) -> list[Claim]:
    """Read the claims of a TOML file."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["claim"]
    return [Claim(tests=tuple(row.pop("test")), **row) for row in rows]


def holds(case: values.Case, test: str) -> bool | None:
    """Evaluate a test of claims.toml; return None if it cannot be decided.

    A test compares numbers, such as "delta(iu, ua) > 0.1", or calls one function.
    """
    names = ARRAYS | {name: partial(function, case) for name, function in FUNCTIONS.items()}
    node = ast.parse(test, mode="eval").body
    if not isinstance(node, ast.Compare):
        found: bool | None = _value(node, names)
        return found
    sides = pairwise(np.asarray(_value(side, names)) for side in (node.left, *node.comparators))
    return all_hold([_compare(op, *pair) for op, pair in zip(node.ops, sides, strict=True)])


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression in a test; a name not in `names` is a string."""
    value = partial(_value, names=names)
    match node:
        case ast.Constant() | ast.UnaryOp():  # a number, such as -0.1
            return ast.literal_eval(node)
        case ast.Name():
            return names.get(node.id, node.id)
        case ast.List():
            return [value(item) for item in node.elts]
        case ast.Subscript():
            return value(node.value)[value(node.slice)]
        case ast.BinOp():
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        case ast.Call():
            keywords = {str(one.arg): value(one.value) for one in node.keywords}
            return value(node.func)(*(value(one) for one in node.args), **keywords)
    raise ValueError(f"{FILE.name}: {ast.unparse(node)} is not allowed in a test")


def _compare(op: ast.cmpop, left: Any, right: Any) -> bool | None:
    """Return False if any number fails the comparison, else None if a number is NaN, else True."""
    is_so, is_known = OPERATORS[type(op)](left, right), ~np.isnan(left - right)
    return (
        False if (is_known & ~is_so).any() else (True if is_known.size and is_known.all() else None)
    )


def run_tests(claim: Claim, *results: Any) -> Found:
    """Run all tests of a claim on the same results, and combine their outcomes."""
    case = values.Case(*results)
    return Found(all_hold([case.attempt(holds, test) for test in claim.tests]), case.text)


CLAIMS = read_claims()


def evaluate(results: Mapping[str, Results], claims: Sequence[Claim] = CLAIMS) -> list[Answer]:
    """Return one answer for each claim and each case, the results that the claim is tested on.

    A claim without any case has one undecided answer.
    """
    return [answer for claim in claims for answer in _answers(claim, results)]


def _answers(claim: Claim, results: Mapping[str, Results]) -> Iterator[Answer]:
    scope = SCOPES[claim.cells]
    cases = [(name, case) for name, of in results.items() for case in scope.cases(of).items()]
    for name, (case, cells) in cases:
        found = _on_each(claim, scope, cells) if scope.is_each else run_tests(claim, *cells)
        yield Answer(claim, name, case, VERDICTS[found.holds], found.text)
    if not cases:
        yield Answer(claim, "", "", VERDICTS[None], scope.missing)


def _on_each(claim: Claim, scope: Scope, cells: Sequence[Any]) -> Found:
    """Test a claim on each cell separately, and combine the outcomes.

    The claim cannot hold if a class of its scope is forgotten in none of the cells.
    """
    found = [run_tests(claim, cell) for cell in cells]
    names = [f"{cell.name}: " if len(cells) > 1 else "" for cell in cells]
    texts = [f"{name}{one.text}" for name, one in zip(names, found, strict=True)]
    shares = [share(cell) for cell in cells]
    if missing := sorted({*scope.classes} - {one[0] for one in shares if one}):
        texts.append(f"not here: {', '.join(missing)}")
    verdicts = [*(one.holds for one in found), *([None] if missing else [])]
    return Found(all_hold(verdicts), "; ".join(texts))


def text_lines(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield a line for each claim, followed by one line for each of its answers."""
    for _, group in groupby(answers, key=lambda answer: answer.claim.id):
        found = list(group)
        claim = found[0].claim
        yield f"{claim.id:2} {claim.sentence} ({claim.source})"
        for answer in found:
            place = "/".join(filter(None, (answer.benchmark, answer.case)))
            yield f"   {answer.verdict}: {place}{': ' * bool(place)}{answer.text}"


def count_verdicts(answers: Sequence[Answer]) -> str:
    """Return a text with the number of answers that have each verdict."""
    counts = [(v, sum(a.verdict == v for a in answers)) for v in VERDICTS.values()]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts)


def markdown_table(answers: Sequence[Answer]) -> str:
    """Return a Markdown table of all decided claims, and a line with the ids of undecided ones."""
    known = [answer for answer in answers if answer.verdict != VERDICTS[None]]
    is_one = len({(answer.benchmark, answer.case) for answer in known}) == 1
    num_benchmarks = len({answer.benchmark for answer in known if answer.case})
    rows = "".join(_row(a, "" if is_one else _place(a, num_benchmarks)) for a in known)
    open_ids = sorted({a.claim.id for a in answers} - {answer.claim.id for answer in known})
    rest = f"\nCannot be said here: {ranges(open_ids)}.\n" if open_ids else ""
    return f"{HEAD if rows else ''}{rows}{rest}"


def _place(answer: Answer, num_benchmarks: int) -> str:
    """Return the text of a table row that names the case of an answer.

    The name of the benchmark is added if there are several benchmarks.
    """
    if not answer.case:
        return ""
    return f"{answer.benchmark}/{answer.case}: " if num_benchmarks > 1 else f"{answer.case}: "


def _row(answer: Answer, place: str) -> str:
    claim = f"{answer.claim.id} {answer.claim.sentence}"
    fields = [field.replace("|", "\\|") for field in (claim, answer.verdict, place + answer.text)]
    return f"| {' | '.join(fields)} |\n"


def ranges(numbers: Sequence[int]) -> str:
    """Return a text that lists numbers, with ranges for consecutive ones: "1, 3 to 5"."""
    found = []
    for _, group in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        run = [number for _, number in group]
        found.append(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)))
    return ", ".join(found)


def choose(answers: Sequence[Answer], ids: str | None) -> list[Answer]:
    """Select the answers about the claims with these ids, such as "1-11,19"; all if empty."""
    if not ids:
        return list(answers)
    wanted = {number for part in ids.split(",") for number in _range(part)}
    return [answer for answer in answers if answer.claim.id in wanted]


def _range(part: str) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if not found:
        raise ValueError(f"claims {part!r}: neither a number nor two, such as 1-11")
    return range(int(found[1]), int(found[2] or found[1]) + 1)
