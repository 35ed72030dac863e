"""Forged submissions are refused, or named; honest ones are neither."""

import pytest
from forgeries import FORGERIES, IGNORED, REFUSED, UNKNOWN, Forgery
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


def judge(world, folder, rival):
    """Return why a submission is refused, and what is named about it."""
    try:
        submission = Submission.load(folder)
    except ValueError as error:
        return [str(error)], []
    found = Judge.open(world.root).judge(submission, [rival])
    return found.faults, found.names


def numbers(world, folder, out) -> str:
    judge = Judge.open(world.root)
    judge.write(judge.judge(Submission.load(folder), []), out)
    return (out / layout.METRICS).read_text()


def test_an_honest_submission_is_neither_refused_nor_named(world, rival, tmp_path):
    assert judge(world, world.submit(tmp_path / "honest"), rival) == ([], [])


def test_there_are_thirty_forgeries():
    assert {int(one.number.split(",")[0]) for one in FORGERIES} == {*range(1, 31)}


@pytest.mark.parametrize("one", FORGERIES, ids=lambda one: f"{one.number}: {one.forge.__name__}")
def test_a_forgery_is_refused_or_named(one: Forgery, world, rival, tmp_path):
    folder = world.submit(tmp_path / "forged")
    one.forge(world, folder)
    faults, names = judge(world, folder, rival)
    said = faults if one.outcome == REFUSED else names
    assert bool(faults) == (one.outcome == REFUSED)
    if one.outcome == UNKNOWN:  # what the board says that nobody can know
        assert names == []
        return
    assert any(one.sentence in text for text in said), said
    # A mix, as an ensemble, may also be more accurate; nothing else is named twice.
    assert len(names) <= (2 if one.number == "20" else 1), names


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
