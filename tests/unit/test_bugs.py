"""Bugs of tools/bugs.py and modules of tools/mutants.py are still there, and have tests."""

from collections import Counter
from functools import partial
from pathlib import Path

import bugs
import mutants
import pytest

ROOT = Path(__file__).resolve().parents[2]
NUM_BY_AREA = {
    **{"numbers": 10, "results": 5, "training": 6, "data": 5, "plan": 8},
    **{"shown": 5, "drawn": 5, "report": 6},
}


def test_there_are_bugs_of_every_area():
    assert Counter(bug.area for bug in bugs.BUGS) == NUM_BY_AREA
    assert len({bug.words for bug in bugs.BUGS}) == len(bugs.BUGS)


@pytest.mark.parametrize("bug", bugs.BUGS, ids=lambda bug: bug.words)
def test_a_bug_can_be_put_in_and_has_tests(bug):
    """Where this fails after a change of the code, write the bug anew, of the same kind."""
    assert bug.problems(ROOT) == [], "python tools/bugs.py --stale lists all stale bugs"
    assert bug.old != bug.new


@pytest.mark.parametrize("pattern", [*mutants.PURE, *mutants.IMPURE])
def test_a_pattern_of_modules_to_break_finds_some(pattern):
    assert [*mutants.PACKAGE.glob(pattern)]


@pytest.mark.parametrize("name", mutants.LEFT_OUT)
def test_test_files_that_are_left_out_are_there(name):
    assert [*(ROOT / "tests/unit").glob(f"test_{name}*.py")]


def test_a_test_that_alone_notices_a_mutant_is_left_out_of_the_list_of_the_others():
    found = {"m 1: a -> b": ["t::x"], "m 2: c -> d": ["t::x", "t::y"], "m 3: e -> f": []}
    assert [*mutants.table_of_killers(found)] == [
        "m 1: a -> b: t::x",
        "m 2: c -> d: t::x, t::y",
        "m 3: e -> f: none",
        "no mutant of its own: t::y",
    ]


def test_a_sample_of_mutants_has_its_size_and_is_the_same_for_a_seed():
    names = [*mutants.MODULES]
    places = mutants.chosen_places(names, every=1, sample=300, seed=1)
    assert sum(map(len, places.values())) == 300
    assert all(0 <= n < mutants.MODULES[name] for name, some in places.items() for n in some)
    assert mutants.chosen_places(names, every=1, sample=300, seed=1) == places
    assert mutants.chosen_places(names, every=1, sample=300, seed=2) != places
    first, count = next(iter(mutants.MODULES.items()))
    every_fifth = mutants.chosen_places([first], every=5, sample=None, seed=1)
    assert every_fifth == {first: {*range(0, count, 5)}}


def test_a_mutant_gets_the_tests_that_execute_its_line_the_fastest_first():
    def test(name, seconds, line, shared=()):
        lines = {"metrics/ranks": [line]} if line else {}
        return mutants.Test(f"tests/unit/{name}", seconds, dict.fromkeys(shared, 2.0), lines)

    slow, fast = test("test_a.py::slow", 1, 7, ["a"]), test("test_a.py::fast", 0.5, 7, ["a"])
    other, none = test("test_b.py::other", 0.1, 8), test("test_c.py::none", 0.1, 0)
    own, tests = test("test_ranks.py::own", 0.2, 0), [slow, fast, other, none]
    chosen = partial(mutants.tests_of, name="metrics/ranks")
    assert chosen(tests, line=7, seconds=9) == [fast.id, slow.id]
    assert chosen(tests, line=7, seconds=3.6) == [fast.id, slow.id]  # the fixture is set up once
    assert chosen(tests, line=7, seconds=3.4) == [fast.id]
    assert chosen(tests, line=9, seconds=9) == [other.id, fast.id, slow.id]
    assert chosen([*tests, own], line=8, seconds=9) == [other.id, own.id]
