"""The README's table of methods is the list of methods."""

import re
from pathlib import Path

import pytest

from collateral.contract.plugins import CONTROL, METHOD, params_class

README = Path(__file__).resolve().parents[2] / "README.md"
TABLE = re.compile(r"(\| name \| method \| touches \|\n\| --- \| --- \| --- \|\n)((?:\|.*\n)*)")


def row(name: str) -> str:
    """Return a method's line: its name, what its docstring's first sentence says, its data."""
    params = params_class(name)
    sentence = " ".join((params.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
    return f"| `{name}` | {sentence} | {', '.join(sorted(params.touches)) or 'nothing'} |\n"


def test_the_table_of_methods_is_up_to_date(pytestconfig):
    wanted = "".join(row(name) for kind in (METHOD, CONTROL) for name in kind.names())
    text = README.read_text()
    if pytestconfig.getoption("--fix"):
        README.write_text(TABLE.sub(lambda match: match[1] + wanted, text))
        text = README.read_text()
    found = TABLE.search(text)
    assert found, "README.md has no table of methods"
    if found[2] != wanted:
        pytest.fail("the table of methods is stale: run `make schema`")
