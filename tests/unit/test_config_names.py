"""Names that become folders: which may, and which nobody else may have."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collateral.config.cells import format_value, format_varied, is_slug, slug
from collateral.plan import paths
from collateral.results.layout import RESERVED


def test_folders_beside_names_of_the_users_own_are_reserved():
    patterns = [value for value in vars(paths).values() if isinstance(value, str)]
    below = [value for value in patterns if value.startswith(f"{paths.RESULTS}/")]
    parts = {part for value in below for part in value.split("/")[1:]}
    folders = {part for part in parts if re.fullmatch(r"[a-z_]+", part)}
    assert {"base", "figures", "retrain", "support_size", "tables", "tune"} <= folders <= RESERVED


@pytest.mark.parametrize("name", ["couch-50", "rl_forget", "a.b", "3", "_x"])
def test_a_slug_may_stand_in_a_path(name):
    assert is_slug(name)


@pytest.mark.parametrize("name", ["", "A", "a b", "a/b", "..", ".a", "-a", "a@b=1", "ä", "a\n"])
def test_names_that_are_no_slugs_are_refused(name):
    assert not is_slug(name)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("couch", "couch"),
        ("Pickup Truck", "pickup-truck"),
        ("lawn_mower", "lawn_mower"),
        (" 0 - zero", "0---zero"),
        ("../up", "up"),
        ("??", "x"),
    ],
)
def test_a_true_name_becomes_a_slug(name, wanted):
    assert slug(name) == wanted


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_every_name_becomes_a_slug_that_stays(name):
    assert is_slug(slug(name))
    assert slug(slug(name)) == slug(name)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1e-5, "1e-05"),
        (2.0, "2"),
        (4500, "4500"),
        (True, "true"),
        (None, "none"),
        ("auto", "auto"),
    ],
)
def test_a_value_is_short_in_a_runs_name(value, text):
    assert format_value(value) == text


def test_the_name_of_a_run_contains_each_varied_parameter():
    assert format_varied({"lr": 0.1, "support": "random"}) == ["lr=0.1", "support=random"]
