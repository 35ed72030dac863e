"""Who prepares for whom: `two` prepares from `size` and `support`, and not from `lr`."""

from dataclasses import asdict

import pytest
from plug_ins import TWO_PHASES, forgotten_after, write_method
from small_grid import grid

from collateral.jobs._method import PreparePlan, find_prepare_plans


@pytest.fixture
def plugins(tmp_path):
    with forgotten_after():
        yield write_method(tmp_path, "two", TWO_PHASES)


def cell_of(plugins, vary=None, **methods):
    """Return a cell with configurations of `two`; those under another name say so."""
    sweeps = {"s": {"method": "two", "vary": vary}} if vary else {}
    return grid(plugins, methods=methods, sweeps=sweeps).cells["digit_3-50"]


def sources(cell, run):
    """Return which tunings on the first seed, and which run on others, prepare what a run needs."""
    first, other = (
        find_prepare_plans(cell).for_run(cell.runs[run], is_first_seed=is_first)
        for is_first in (True, False)
    )
    assert not first.others.tunings or not first.others.runs
    assert not other.others.tunings
    return list(first.others.tunings), next(iter(other.others.runs), None)


def test_a_method_of_one_phase_prepares_nothing():
    cell = grid(sweeps={"s": {"method": "ft", "vary": {"lr": [0.5]}}}).cells["digit_3-50"]
    assert cell.runs["ft"].prepare_calls == {}
    for name in ("ft", "ft@lr=0.5"):
        for is_first_seed in (True, False):
            found = find_prepare_plans(cell).for_run(cell.runs[name], is_first_seed=is_first_seed)
            assert found == PreparePlan()


def test_a_run_makes_prepared_files_that_only_it_needs(plugins):
    assert sources(cell_of(plugins, two={}), "two") == ([], None)


def test_equal_prepare_values_are_prepared_by_the_first_run(plugins):
    cell = cell_of(plugins, two={"lr": 0.5}, same={"uses": "two", "size": "10"}, ft={})
    (name,) = cell.runs["two"].prepare_calls
    assert [*cell.runs["same"].prepare_calls] == [name]
    assert name.startswith("two-")
    assert sources(cell, "two") == ([], None)
    assert sources(cell, "same") == ([], "two")


def test_other_prepare_values_have_another_prepared_folder(plugins):
    cell = cell_of(plugins, two={}, other={"uses": "two", "size": 11})
    assert cell.runs["two"].prepare_calls.keys() != cell.runs["other"].prepare_calls.keys()
    assert sources(cell, "two") == sources(cell, "other") == ([], None)


def test_a_sweeps_runs_take_what_the_plain_run_prepares(plugins):
    cell = cell_of(plugins, vary={"lr": [0.5, 0.6]}, two={})
    assert sources(cell, "two") == ([], None)
    assert sources(cell, "two@lr=0.5") == sources(cell, "two@lr=0.6") == ([], "two")


def test_a_sweep_of_a_prepare_value_shares_nothing(plugins):
    cell = cell_of(plugins, vary={"size": [10, 20]}, two={})
    assert list(cell.runs) == ["two", "original", "two@size=20"]
    assert sources(cell, "two") == sources(cell, "two@size=20") == ([], None)


def test_on_the_first_seed_tuning_prepares(plugins):
    cell = cell_of(plugins, vary={"size": [20]}, two={"lr": [0.1, 0.2]})
    assert sources(cell, "two") == (["two"], None)
    assert sources(cell, "two@size=20") == ([], None)


def test_the_first_of_two_tunings_prepares(plugins):
    rates = {"lr": [0.1, 0.2]}
    cell = cell_of(plugins, two=rates, same={"uses": "two", **rates})
    assert sources(cell, "two") == (["two"], None)
    assert sources(cell, "same") == (["two"], "two")


def test_tuning_prepares_every_value_that_may_be_chosen(plugins):
    cell = cell_of(plugins, two={"size": [10, 20]}, small={"uses": "two", "size": 10})
    assert len(cell.runs["two"].prepare_calls) == 2
    assert sources(cell, "two") == (["two"], None)
    # On another seed `two` may prepare 20, so that `small` cannot rely on it.
    assert sources(cell, "small") == (["two"], None)


def test_a_sweep_of_a_run_whose_choice_is_open_takes_what_was_chosen(plugins):
    cell = cell_of(plugins, vary={"lr": [0.5]}, two={"size": [10, 20]})
    assert sources(cell, "two@lr=0.5") == (["two"], "two")


def test_two_tunings_may_choose_otherwise_and_share_nothing_on_other_seeds(plugins):
    sizes = {"size": [10, 20]}
    cell = cell_of(plugins, two=sizes, same={"uses": "two", **sizes})
    assert sources(cell, "same") == (["two"], None)


@pytest.mark.parametrize("own", [{}, {"lr": [0.1, 0.2]}, {"size": [10, 20]}])
@pytest.mark.parametrize("vary", [{"lr": [0.5]}, {"size": [10, 30]}, {"support": ["random"]}])
def test_one_more_sweep_changes_no_run_that_is_there(plugins, own, vary):
    before = cell_of(plugins, two=own, same={"uses": "two", **own})
    after = cell_of(plugins, vary=vary, two=own, same={"uses": "two", **own})
    assert len(after.runs) > len(before.runs)
    for name, run in before.runs.items():
        assert asdict(after.runs[name]) == asdict(run)
        assert sources(after, name) == sources(before, name)


def made(cell, name, *, tuning=False, is_first_seed=True):
    """Return the sizes for which a job prepares itself."""
    run, found = cell.runs[name], find_prepare_plans(cell)
    job = found.for_tuning(run) if tuning else found.for_run(run, is_first_seed=is_first_seed)
    return [params.size for params in job.made]


def test_a_tuning_prepares_for_all_its_trials_and_finds_what_others_have(plugins):
    cell = cell_of(plugins, two={"size": [20, 30]}, more={"uses": "two", "size": [30, 40]})
    assert made(cell, "two", tuning=True) == [20, 30, 10]  # the default comes last
    assert find_prepare_plans(cell).for_tuning(cell.runs["two"]).others.tunings == ()
    assert find_prepare_plans(cell).for_tuning(cell.runs["more"]).others.tunings == ("two",)
    assert made(cell, "more", tuning=True) == [40, 10]


def test_a_run_makes_what_no_tuning_has_and_on_other_seeds_what_no_run_before_it_has(plugins):
    cell = cell_of(plugins, vary={"size": [20]}, two={"lr": [0.1, 0.2]}, same={"uses": "two"})
    assert made(cell, "two") == made(cell, "same") == []
    assert made(cell, "two@size=20") == [20]
    assert made(cell, "two", is_first_seed=False) == [10]
    assert made(cell, "same", is_first_seed=False) == []


def test_where_tunings_have_one_of_two_choices_a_run_makes_the_other(plugins):
    other = {"uses": "two", "support": "random", "size": [10, 30]}
    cell = cell_of(plugins, vary={"support": ["random"]}, two={"size": [10, 20]}, other=other)
    assert sources(cell, "two@support=random") == (["other"], None)
    assert made(cell, "two@support=random") == [20]


@pytest.mark.parametrize("is_first_seed", [True, False])
@pytest.mark.parametrize("own", [{}, {"lr": [0.1, 0.2]}, {"size": [10, 20]}])
def test_a_run_finds_or_makes_its_prepared_files(plugins, own, is_first_seed):
    cell = cell_of(plugins, vary={"size": [20, 30]}, two=own, same={"uses": "two", **own})
    found = find_prepare_plans(cell)
    kept = {
        name: {*run.find_prepare_calls(found.for_tuning(run).made)}
        for name, run in cell.runs.items()
        if name in cell.tuned
    }
    for run in cell.unlearned.values():
        job = found.for_run(run, is_first_seed=is_first_seed)
        there = set().union(*(kept[name] for name in job.others.tunings))
        for name in job.others.runs:
            there |= {*cell.runs[name].prepare_calls}
        assert {*run.prepare_calls} <= there | {*run.find_prepare_calls(job.made)}
        assert not {*run.find_prepare_calls(job.made)} & there


@pytest.mark.parametrize("own", [{}, {"lr": [0.1, 0.2]}, {"k": [10, 20]}])
def test_what_the_cells_teacher_has_nobody_else_makes_on_its_seed(own):
    methods = {"ltd": own, "same": {"uses": "ltd", **own}, "ft": {"lr": [0.1, 0.2]}}
    cell = grid(methods=methods, select="teacher").cells["digit_3-50"]
    found, (taught, *_) = find_prepare_plans(cell), cell.runs["ltd"].prepare_calls
    for name in cell.tuned:
        assert taught not in cell.runs[name].find_prepare_calls(
            found.for_tuning(cell.runs[name]).made
        )
    for name in ("ltd", "same"):
        first, other = (
            found.for_run(cell.runs[name], is_first_seed=is_first) for is_first in (True, False)
        )
        assert first.others.teacher
        assert not other.others.teacher
        assert taught not in cell.runs[name].find_prepare_calls(first.made)
    assert taught in cell.runs["ltd"].find_prepare_calls(
        found.for_run(cell.runs["ltd"], is_first_seed=False).made
    )
