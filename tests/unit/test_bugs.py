"""The bugs of tools/bugs.py can still be put in: their texts are in the code, they have tests."""

from collections import Counter
from pathlib import Path

import bugs
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
