"""Bugs of tools/bugs.py and modules of tools/mutants.py are still there, and have tests."""

from collections import Counter
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


@pytest.mark.parametrize("name", mutants.TESTS)
def test_a_module_to_break_and_its_tests_are_there(name):
    files = [f"tests/unit/{test}.py" for test in mutants.TESTS[name]]
    missing = [file for file in files if not (ROOT / file).is_file()]
    assert (mutants.PACKAGE / f"{name}.py").is_file() and missing == []
