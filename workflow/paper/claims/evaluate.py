"""Test the claims of claims.toml on results, and print the answers.

Answers are printed as lines for a terminal or as a Markdown table. In a page of docs/, a table is
between `<!-- claims: NAME -->` and `<!-- end of claims -->`. NAME is a folder of docs/data; ids of
claims may follow it: `<!-- claims: NAME 1-11,19 -->`.
"""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from collateral.results.table import CellTable
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
    join,
    read_all,
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
# Functions of arrays, and lists of runs, that a test may use.
ARRAYS = {
    **{"abs": np.abs, "min": np.min, "mean": np.mean, "spread": np.ptp, "diff": np.diff},
    **{"later": curves.later, "fall": curves.fall, "baselines": values.BASELINES},
}
COMPARISONS = {ast.Lt: np.less, ast.LtE: np.less_equal}
COMPARISONS |= {ast.Gt: np.greater, ast.GtE: np.greater_equal}
HEAD = "| claim | here | numbers |\n| --- | --- | --- |\n"
TABLE = re.compile(
    r"(<!-- claims: (\S+)(?: ([\d,-]+))? -->\n)(.*?)(<!-- end of claims -->)", re.DOTALL
)


def read_claims(file: Path = FILE) -> list[Claim]:
    """Read the claims of a TOML file."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["claim"]
    return [Claim(tests=tuple(row.pop("test")), **row) for row in rows]


def holds(case: values.Case, test: str) -> bool | None:
    """Evaluate a test: a comparison of numbers such as "delta(iu, ua) > 0.1", or one call."""
    functions = {name: partial(function, case) for name, function in FUNCTIONS.items()}
    names = Names(ARRAYS | functions)
    node = ast.parse(test, mode="eval").body
    if not isinstance(node, ast.Compare):
        found: bool | None = _value(node, names)
        return found
    sides = pairwise(np.asarray(_value(side, names)) for side in (node.left, *node.comparators))
    return all_hold([_compare(op, *pair) for op, pair in zip(node.ops, sides, strict=True)])


class Names(dict[str, Any]):
    """Names in a test; an unknown name stands for itself, such as the name of a run."""

    def __missing__(self, name: str) -> str:
        """Return the name."""
        return name


def _value(node: ast.expr, names: Names) -> Any:
    """Return the value of an expression; it is from claims.toml, a file of this package."""
    return eval(compile(ast.Expression(node), FILE.name, "eval"), {"__builtins__": {}}, names)


def _compare(op: ast.cmpop, left: Any, right: Any) -> bool | None:
    """Return False if the comparison fails for any number, None if one is missing, else True."""
    is_so, is_known = COMPARISONS[type(op)](left, right), ~np.isnan(left - right)
    return (
        False if (is_known & ~is_so).any() else (True if is_known.size and is_known.all() else None)
    )


def run_tests(claim: Claim, *results: Any) -> Found:
    """Run all tests of a claim on the same results, and combine their outcomes."""
    case = values.Case(*results)
    return Found(all_hold([case.attempt(holds, test) for test in claim.tests]), case.text)


CLAIMS = read_claims()


def evaluate(results: Mapping[str, Results], claims: Sequence[Claim] = CLAIMS) -> list[Answer]:
    """Return one answer per claim and case; one undecided answer for a claim without cases."""
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
    """Test a claim on each cell; it cannot hold if a class of the scope is in no cell."""
    found = [_named(cell, run_tests(claim, cell), len(cells)) for cell in cells]
    shares = [share(cell) for cell in cells]
    missing = sorted({*scope.classes} - {one[0] for one in shares if one})
    return join([*found, *([Found(None, f"not here: {', '.join(missing)}")] * bool(missing))])


def _named(cell: CellTable, found: Found, num_cells: int) -> Found:
    return found if num_cells == 1 else Found(found.holds, f"{cell.name}: {found.text}")


def text_lines(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield a line for each claim, followed by one line per case with its answer."""
    for _, group in groupby(answers, key=lambda answer: answer.claim.id):
        found = list(group)
        claim = found[0].claim
        yield f"{claim.id:2} {claim.sentence} ({claim.source})"
        for answer in found:
            place = "/".join(filter(None, (answer.benchmark, answer.case)))
            yield f"   {answer.verdict}: {place}{': ' * bool(place)}{answer.text}"


def count_verdicts(answers: Sequence[Answer]) -> str:
    """Return the number of answers by verdict, as text."""
    counts = [(v, sum(a.verdict == v for a in answers)) for v in VERDICTS.values()]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts)


def markdown_table(answers: Sequence[Answer]) -> str:
    """Return a Markdown table of the decided claims, and a line with the ids of the others."""
    known = [answer for answer in answers if answer.verdict != VERDICTS[None]]
    is_one = len({(answer.benchmark, answer.case) for answer in known}) == 1
    num_benchmarks = len({answer.benchmark for answer in known if answer.case})
    rows = "".join(_row(a, "" if is_one else _place(a, num_benchmarks)) for a in known)
    open_ids = sorted({a.claim.id for a in answers} - {answer.claim.id for answer in known})
    rest = f"\nCannot be said here: {ranges(open_ids)}.\n" if open_ids else ""
    return f"{HEAD if rows else ''}{rows}{rest}"


def _place(answer: Answer, num_benchmarks: int) -> str:
    """Return the case's name for a table row, with the benchmark's name if there are several."""
    if not answer.case:
        return ""
    return f"{answer.benchmark}/{answer.case}: " if num_benchmarks > 1 else f"{answer.case}: "


def _row(answer: Answer, place: str) -> str:
    claim = f"{answer.claim.id} {answer.claim.sentence}"
    fields = [field.replace("|", "\\|") for field in (claim, answer.verdict, place + answer.text)]
    return f"| {' | '.join(fields)} |\n"


def ranges(numbers: Sequence[int]) -> str:
    """Return a list of numbers with ranges for consecutive ones, such as "1, 3 to 5"."""
    found = []
    for _, group in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        run = [number for _, number in group]
        found.append(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)))
    return ", ".join(found)


def choose(answers: Sequence[Answer], ids: str | None) -> list[Answer]:
    """Return the answers to the claims with these ids, such as "1-11,19"; without ids, all."""
    if not ids:
        return list(answers)
    wanted = {number for part in ids.split(",") for number in _range(part)}
    return [answer for answer in answers if answer.claim.id in wanted]


def _range(part: str) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
    if not found:
        raise ValueError(f"claims {part!r}: neither a number nor two, such as 1-11")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def fill_page(text: str, data: Path) -> str:
    """Return the text of a page with its claim tables recomputed from docs/data."""

    def table(match: re.Match[str]) -> str:
        answers = choose(evaluate(read_all(data / match[2])), match[3])
        return f"{match[1]}{markdown_table(answers)}{match[5]}"

    return TABLE.sub(table, text)
