"""Published values could be set, and every default is published or listed as our own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generators.defaults import OURS

from collateral.commands.list import find_tuned
from collateral.contract.params import Between
from collateral.plugins.find import METHOD, params_class

ROOT = Path(__file__).resolve().parents[2]
DEVIATIONS = ROOT / "docs/methods.md"
METHODS = pytest.mark.parametrize("name", METHOD.names())
OF_THE_PAPER = ("amun", "ft", "ga", "iu", "ltd", "neighbor", "rl", "salun")


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
def test_published_values_are_valid_parameters(name):
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
def test_the_value_of_the_first_source_is_the_default(name):
    params = params_class(name)
    for field, said in next(iter(params.published.values())).items():
        assert has(said, params.model_fields[field].default), field


def test_defaults_of_our_own_have_a_reason_in_the_docs():
    text = DEVIATIONS.read_text().partition("## Where we differ")[2]
    for name, fields in OURS.items():
        for field in fields:
            assert f"`{field}" in text, f"{name}.{field}"


@METHODS
def test_the_default_in_the_tuning_results_is_still_the_default(name):
    for one in find_tuned(name):
        for pair in [] if one.default == "not tried" else one.default.split(":")[0].split(", "):
            field, value = pair.split(" ")
            assert float(value) == params_class(name).model_fields[field].default, one
