"""Read the claims from claims.toml, and test them on results."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from collateral.results.table import CellTable
from paper.claims import curves, sweeps, values
from paper.claims.claim import VERDICTS, Answer, Claim, Found, Test, join, run_all
from paper.claims.results import SCOPES, Results, Scope, share

FILE = Path(__file__).parent / "claims.toml"
TESTS: dict[str, Any] = {**vars(values), **vars(sweeps), **vars(curves)}


def read_claims(file: Path = FILE) -> list[Claim]:
    """Return the claims of a file."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["claim"]
    return [Claim(tests=tuple(map(parse_test, row.pop("test"))), **row) for row in rows]


def parse_test(call: str) -> Test:
    """Return the test that a call names: in "lowest(ltd, avg_gap)" the words are strings."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name), call
    function = TESTS[node.func.id]
    arguments = [_argument(argument) for argument in node.args]
    limits = {keyword.arg or "": _argument(keyword.value) for keyword in node.keywords}
    return lambda *results: function(*results, *arguments, **limits)


def _argument(node: ast.expr) -> Any:
    if isinstance(node, ast.List):
        return [_argument(element) for element in node.elts]
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


CLAIMS = read_claims()


def evaluate(results: Mapping[str, Results], claims: Sequence[Claim] = CLAIMS) -> list[Answer]:
    """Return an answer to every claim for each of its cases, or one that says there is none."""
    return [answer for claim in claims for answer in _answers(claim, results)]


def _answers(claim: Claim, results: Mapping[str, Results]) -> Iterator[Answer]:
    scope = SCOPES[claim.cells]
    cases = [(name, case) for name, of in results.items() for case in scope.cases(of).items()]
    for name, (case, cells) in cases:
        found = _on_each(claim, scope, cells) if scope.is_each else run_all(claim.tests, *cells)
        yield Answer(claim, name, case, VERDICTS[found.holds], found.text)
    if not cases:
        yield Answer(claim, "", "", VERDICTS[None], scope.missing)


def _on_each(claim: Claim, scope: Scope, cells: Sequence[Any]) -> Found:
    """Test a claim on every cell; a class that should be there and is not leaves it open."""
    found = [_named(cell, run_all(claim.tests, cell), len(cells)) for cell in cells]
    shares = [share(cell) for cell in cells]
    missing = sorted({*scope.classes} - {one[0] for one in shares if one})
    return join([*found, *([Found(None, f"not here: {', '.join(missing)}")] * bool(missing))])


def _named(cell: CellTable, found: Found, num_cells: int) -> Found:
    return found if num_cells == 1 else Found(found.holds, f"{cell.name}: {found.text}")
