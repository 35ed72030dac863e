"""Published values are values of real parameters, our defaults among them; docs/defaults.md."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collateral.contract.plugins import METHOD, params_class
from collateral.contract.published import Between, format_values
from collateral.contract.tried import tried

ROOT = Path(__file__).resolve().parents[2]
PAGE, DEVIATIONS = ROOT / "docs/defaults.md", ROOT / "docs/deviations.md"
TRIED = ["method", "cell", "defaults", "nearest of the config's"]
METHODS = pytest.mark.parametrize("name", METHOD.names())
OF_THE_PAPER = ("amun", "ft", "ga", "iu", "ltd", "neighbor", "rl", "salun")
# Defaults that differ from every published value, on purpose.
OURS = {
    "amun": {"lr_decay_epochs": None, "median_after": None, "give_up": True},
    "iu": {"augment": False},
    "ltd": {"targets": "clean"},
    "neggrad_plus": {"weight_decay": 0.0},
    "neighbor": {"within": "retain", "candidates": None},
}


def values(name: str) -> Iterator[tuple[str, Any]]:
    """Yield every parameter of which a source says something, with what it says."""
    for said in params_class(name).published.values():
        yield from said.items()


def has(said: Any, value: Any) -> bool:
    """Tell whether a value is what a source says, or one of them."""
    if isinstance(said, Between):
        return said.low <= value <= said.high
    return value in (said if isinstance(said, list) else [said])


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_the_paper_comes_first(name):
    assert next(iter(params_class(name).published)) == "paper"


@METHODS
def test_what_a_source_says_could_be_set(name):
    for said in params_class(name).published.values():
        for pick in (0, -1):  # ends of a range, or of what was used
            several = Between | list
            chosen = {key: v[pick] if isinstance(v, several) else v for key, v in said.items()}
            params_class(name).model_validate(chosen)


@METHODS
def test_a_default_is_published_or_named_as_ours(name):
    fields = params_class(name).model_fields
    found = {}
    for field, _ in values(name):
        said = [value for key, value in values(name) if key == field]
        default = fields[field].default
        if default is None or not any(has(value, default) for value in said):
            found[field] = default
    budgets = {"steps"}  # not given: epochs count
    assert {key: value for key, value in found.items() if key not in budgets} == OURS.get(name, {})


@METHODS
def test_what_the_first_source_states_is_the_default(name):
    params = params_class(name)
    for field, said in next(iter(params.published.values())).items():
        assert has(said, params.model_fields[field].default), field


def test_what_is_ours_has_a_reason():
    text = DEVIATIONS.read_text()
    for name, fields in OURS.items():
        for field in fields:
            assert f"`{field}" in text, f"{name}.{field}"


@METHODS
def test_what_was_tried_as_the_default_still_is(name):
    for one in tried(name):
        for pair in [] if one.default == "not tried" else one.default.split(":")[0].split(", "):
            field, value = pair.split(" ")
            assert float(value) == params_class(name).model_fields[field].default, one


def table(head: list[str], rows: Iterator[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def published() -> Iterator[list[str]]:
    """Yield what a source says, once for all methods of which it says the same."""
    of: dict[tuple[str, str], list[str]] = {}
    for name in METHOD.names():
        for source, said in params_class(name).published.items():
            of.setdefault((source, format_values(said)), []).append(f"`{name}`")
    for (source, said), names in of.items():
        yield [", ".join(names), source, said]


def ours() -> Iterator[list[str]]:
    for name, fields in OURS.items():
        shown = {field: "null" if value is None else value for field, value in fields.items()}
        yield [f"`{name}`", format_values(shown)]


def audited() -> Iterator[list[str]]:
    for name in METHOD.names():
        for one in tried(name):
            run = f"`{name}`" if one.run == name else f"`{name}` ({one.run})"
            nearest = "the same" if one.nearest == one.default else numbers(one.nearest)
            yield [run, one.cell, numbers(one.default), nearest]


def numbers(said: str) -> str:
    """Return a trial without the names of its numbers, which the page gives once."""
    return re.sub(r"(?:UA|affected RA|RA|gap) ", "", said)


def of_retrain() -> str:
    """Return Retrain's UA in every cell, in a line."""
    cells = {one.cell: one.retrain_ua for name in METHOD.names() for one in tried(name)}
    return "; ".join(f"{cell} {ua} %" for cell, ua in cells.items())


def filled(text: str) -> str:
    """Return the page with its tables made anew."""
    made = {
        "published": table(["method", "source", "values"], published()),
        "ours": table(["method", "default"], ours()),
        "tried": f"Retrain's UA: {of_retrain()}.\n\n{table(TRIED, audited())}",
    }
    for mark, rows in made.items():
        text, count = re.subn(
            rf"(<!-- {mark} -->\n).*?(<!-- end -->)",
            lambda match, rows=rows: match[1] + rows + match[2],
            text,
            flags=re.S,
        )
        assert count == 1, f"docs/defaults.md has no <!-- {mark} -->"
    return text


def test_the_page_is_up_to_date(pytestconfig):
    if pytestconfig.getoption("--fix"):
        PAGE.write_text(filled(PAGE.read_text()))
    text = PAGE.read_text()
    if text != filled(text):
        pytest.fail("docs/defaults.md is stale: run `make schema`")
