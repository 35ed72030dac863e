"""The forgeries of tests/unit/forgeries.py, made of a finished run: real models, not drawn ones."""

import shutil
from dataclasses import replace

import pytest
from conftest import Project
from forgeries import (
    FORGERIES,
    HEAD,
    UNKNOWN,
    Forgery,
    check_forgery,
    describe_forgery,
    judge_forgery,
)
from generators.tables import table
from made_submissions import RealWorld
from page_of_board import hold_to_page

from collateral.commands._judging import Judge
from collateral.results.submission import Submission

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
# On 120 test images, of which base and Retrain get 4 wrong, no use of test labels can be seen.
UNSEEN = {"29"}


@pytest.fixture(scope="module")
def world(finished: Project) -> RealWorld:
    return RealWorld(finished.folder / "results", "smoke", "digit_3-50", (0, 1), ours="ga")


@pytest.fixture(scope="module")
def judge(world) -> Judge:
    """The maintainers' own run is GA alone; the submission is made of another."""
    judge = Judge.open(world.root)
    plan = judge.plan.cells[world.cell_name]
    cells = {world.cell_name: replace(plan, numbers=replace(plan.numbers, methods=(world.ours,)))}
    return replace(judge, plan=replace(judge.plan, cells=cells))


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[str]]:
    """Rows of the table in docs/data/forgeries.md, by the number of the forgery."""
    return {}


@pytest.fixture(scope="module")
def rival(world, tmp_path_factory) -> Submission:
    folder = tmp_path_factory.mktemp("rival") / "rival"
    return Submission.load(world.submit(folder, lambda s: world.method(s, "rival"), "rival"))


@pytest.mark.parametrize("copied", ["ft", "iu", "neighbor", "ltd"])
def test_an_honest_submission_is_neither_refused_nor_named(world, judge, copied, tmp_path):
    one = replace(world, copied=copied)
    found = judge.judge(Submission.load(one.submit(tmp_path / "honest")), [])
    assert (found.faults, found.names) == ([], [])
    shutil.rmtree(tmp_path / "honest")


@pytest.mark.parametrize("one", FORGERIES, ids=lambda one: f"{one.number}: {one.forge.__name__}")
def test_a_forgery_of_a_real_run_is_refused_or_named(
    one: Forgery, world, judge, rival, outcomes, tmp_path
):
    found = judge_forgery(one, world, judge, rival, tmp_path / "forged")
    check_forgery(one, UNKNOWN if one.number in UNSEEN else one.outcome, found, world)
    outcomes[one.number] = describe_forgery(one, found, tmp_path)


def test_the_table_of_the_docs_has_what_was_said(outcomes, request):
    if len(outcomes) < len(FORGERIES):
        pytest.skip("needs all forgeries: run the whole file")
    hold_to_page("forgeries", table(HEAD, outcomes.values()), request.config)
