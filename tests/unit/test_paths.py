"""File names: patterns, slugs, and the names that nobody else may have."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collateral.plan import paths

PATTERNS = {
    name: value
    for name, value in vars(paths).items()
    if isinstance(value, str) and value.startswith(f"{paths.RESULTS}/")
}


def test_patterns_are_filled_in_by_snakemakes_wildcards_alone():
    assert {"DATA", "BASE", "SPLIT", "RUN", "TUNE", "METRICS", "REPORT"} <= set(PATTERNS)
    wildcards = set(re.findall(r"{(.*?)}", " ".join(PATTERNS.values())))
    assert wildcards == {"benchmark", "cell", "seed", "run", "method"}


def test_no_two_patterns_are_the_same():
    assert len(set(PATTERNS.values())) == len(PATTERNS)


def test_folders_beside_names_of_the_users_own_are_reserved():
    parts = {part for value in PATTERNS.values() for part in value.split("/")[1:]}
    folders = {part for part in parts if "{" not in part and "." not in part}
    # A control: no method may have its name.
    assert folders - {"original"} <= paths.RESERVED
    assert {"base", "diagnose", "figures", "retrain", "tables", "tune"} <= folders


def test_the_files_of_a_run_are_in_its_folder():
    assert paths.run_files("some/folder") == {
        "model": "some/folder/model.safetensors",
        "outputs": "some/folder/outputs.npz",
        "history": "some/folder/history.csv",
        "record": "some/folder/record.json",
        "cost": "some/folder/cost.json",
    }


def test_a_log_has_the_stages_folder_and_a_wildcard_a_level():
    assert paths.log("theory") == "logs/theory.log"
    assert paths.log("base", "benchmark", "seed") == "logs/base/{benchmark}/{seed}.log"


def test_checkpoints_are_outside_the_folder_that_is_declared():
    assert paths.checkpoints("results/b/results/seed-0") == "results/.checkpoints/b/results/seed-0"


@pytest.mark.parametrize("name", ["couch-50", "rl_forget", "a.b", "3", "_x"])
def test_a_slug_may_stand_in_a_path(name):
    assert paths.is_slug(name)


@pytest.mark.parametrize("name", ["", "A", "a b", "a/b", "..", ".a", "-a", "a@b=1", "ä", "a\n"])
def test_what_is_no_slug_may_not(name):
    assert not paths.is_slug(name)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("couch", "couch"),
        ("Pickup Truck", "pickup-truck"),
        ("lawn_mower", "lawn_mower"),
        (" 0 - zero", "0---zero"),
        ("../up", "up"),
        ("??", "x"),
    ],
)
def test_a_true_name_becomes_a_slug(name, slug):
    assert paths.slug(name) == slug


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_every_name_becomes_a_slug_that_stays(name):
    slug = paths.slug(name)
    assert paths.is_slug(slug)
    assert paths.slug(slug) == slug


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
    assert paths.short(value) == text
