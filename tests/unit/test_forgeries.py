"""Forged submissions are refused, or named; honest ones are neither."""

import pytest
from forgeries import FORGERIES, IGNORED, Forgery, check_forgery, judge_forgery
from made_submissions import CELL, RUN, SEEDS, World

from collateral.commands._judging import Judge
from collateral.results import layout
from collateral.results.submission import Submission


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("world") / "results").write()


@pytest.fixture(scope="module")
def rival(world, tmp_path_factory) -> Submission:
    folder = tmp_path_factory.mktemp("rival") / "rival"
    return Submission.load(world.submit(folder, lambda s: world.method(s, "rival"), "rival"))


def numbers(world, folder, out) -> str:
    judge = Judge.open(world.root)
    judge.write(judge.judge(Submission.load(folder), []), out)
    return (out / layout.METRICS).read_text()


def test_an_honest_submission_is_neither_refused_nor_named(world, rival, tmp_path):
    honest = Submission.load(world.submit(tmp_path / "honest"))
    found = Judge.open(world.root).judge(honest, [rival])
    assert (found.faults, found.names) == ([], [])


def test_there_are_thirty_three_forgeries():
    assert {int(one.number.split(",")[0]) for one in FORGERIES} == {*range(1, 34)}


@pytest.mark.parametrize("one", FORGERIES, ids=lambda one: f"{one.number}: {one.forge.__name__}")
def test_a_forgery_is_refused_or_named(one: Forgery, world, rival, tmp_path):
    found = judge_forgery(one, world, Judge.open(world.root), rival, tmp_path / "forged")
    check_forgery(one, one.outcome, found, world)


def test_changing_files_that_the_judge_does_not_read_changes_no_number(world, tmp_path):
    folder = world.submit(tmp_path / "forged")
    honest = numbers(world, folder, tmp_path / "before")
    ignored = [one.forge for one in FORGERIES if one.outcome == IGNORED]
    for forge in ignored:
        forge(world, folder)
    assert len(ignored) == 3
    assert numbers(world, folder, tmp_path / "after") == honest
    assert honest.count(f",{RUN},method,ua,") == len(SEEDS)
    assert CELL in honest
