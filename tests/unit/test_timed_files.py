"""Which files of results are never the same twice."""

from pathlib import Path

import pytest
from torture import has_times


@pytest.mark.parametrize(
    "path",
    [
        "costs.csv",
        "cell/seed-0/ga/cost.json",
        "tables/record.json",
        "tables/cell/main.tex",
        "figures/cell/trajectory.pdf",
        "figures/cell/sweep-beta-standard.png",
        "figures/cell/verdict.png",
    ],
)
def test_costs_and_what_shows_them_have_times(path):
    assert has_times(Path(path))


@pytest.mark.parametrize(
    "path", ["metrics.csv", "cell/seed-0/ga/record.json", "tables/cell/affected.csv", "check.done"]
)
def test_numbers_and_records_of_runs_have_none(path):
    assert not has_times(Path(path))


def test_the_smoke_test_uses_this_list_and_has_none_of_its_own():
    text = (Path(__file__).parents[1] / "workflow/test_smoke.py").read_text()
    assert "from torture import has_times" in text
    assert "glance.json" not in text
