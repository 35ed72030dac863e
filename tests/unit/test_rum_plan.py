"""RUM in the plan: the code of the methods of its parts counts, and their names are checked."""

import pytest

from collateral.config.errors import ConfigError
from collateral.config.load import load
from collateral.jobs.unlearn import PlannedUnlearn
from collateral.plan.grid import build_grid


def grid(**parts):
    benchmark = {"data": {"name": "digits"}, "model": "resnet8", "seeds": [0]}
    benchmark |= {"classes": ["digit_3"], "fractions": [0.5], "methods": {"rum": parts}}
    return build_grid(load({"benchmarks": {"b": benchmark}}))["b"]


def planned(**parts) -> PlannedUnlearn:
    benchmark = grid(**parts)
    (cell,) = benchmark.cells.values()
    return PlannedUnlearn(benchmark, cell, 0, "rum")


def test_the_code_of_a_run_is_that_of_all_methods_of_its_parts():
    some = {"ft": {"uses": "ft"}, "scrub": {"uses": "scrub"}, "ltd": {"uses": "ltd"}}
    jobs = {name: planned(mid=None, high=part) for name, part in some.items()}
    assert {name: job.spec.methods for name, job in jobs.items()} == {
        name: {"rum", name} for name in some
    }
    assert len({job.code for job in jobs.values()}) == 3
    assert jobs["ft"].code == planned(mid=None, high={"uses": "ft", "lr": 0.5}).code


def test_the_code_of_a_model_that_a_part_names_counts_too():
    ltd = {"uses": "ltd", "teacher": "resnet8"}
    codes = {planned(high={**ltd, "teacher": name}).code for name in ("resnet8", "small_cnn")}
    assert len(codes) == 2


def test_a_list_of_parts_is_tuned_over():
    job = planned(mid=None, high=[{"uses": "ft"}, {"uses": "salun"}])
    assert job.spec.methods == {"rum", "ft", "salun"}
    assert [params.high["uses"] for params in job.spec.choices] == ["ft", "salun"]


def test_a_wrong_parameter_of_a_part_is_named_by_its_key():
    said = r"methods\.rum\.high: no parameter of ft 'epoch'; .*did you mean epochs\?"
    with pytest.raises(ConfigError, match=said):
        grid(high={"uses": "ft", "epoch": 3})
