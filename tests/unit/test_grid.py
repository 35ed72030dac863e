"""From a config to everything that runs."""

import pytest
from plug_ins import FOLLOWER, TWO_PHASES, forgotten_after, write_control, write_method
from small_config import config
from small_grid import CLASSES, FRACTIONS, grid

from collateral.config.errors import ConfigError
from collateral.config.load import load
from collateral.jobs import read_job
from collateral.jobs.base import PlannedBase
from collateral.jobs.split import PlannedSplit
from collateral.plan.grid import build_grid
from collateral.plan.report_plan import make_plan


def runs(cell="digit_3-50", **changes):
    return grid(**changes).cells[cell].runs


# Cells.


def test_a_class_and_a_fraction_make_a_cell():
    cells = grid().cells
    assert list(cells) == ["digit_3-50", "digit_3-90", "digit_8-50", "digit_8-90"]
    assert cells["digit_8-90"].forget.kind == "class_part"
    assert cells["digit_8-90"].forget.params == {
        "class": "digit_8",
        "fraction": 0.9,
        "order": "first",
    }


@pytest.mark.parametrize(
    ("fraction", "name"), [(0.5, "50"), (1, "100"), (0.29, "29"), (0.125, "12.5"), (0.001, "0.1")]
)
def test_a_cells_name_has_the_fraction_in_percent(fraction, name):
    assert list(grid(classes=["digit_3"], fractions=[fraction]).cells) == [f"digit_3-{name}"]


def test_a_true_name_becomes_a_slug_and_stays_in_the_parameters():
    data = {"name": "arrays", "path": "mine.npz"}
    cells = grid(data=data, classes=["Pickup Truck"], fractions=[0.5]).cells
    assert list(cells) == ["pickup-truck-50"]
    assert cells["pickup-truck-50"].forget.params["class"] == "Pickup Truck"


def test_cells_listed_one_by_one_come_after():
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.2, "order": "random"}
    cells = grid(cells={"ones": {"forget": forget}}).cells
    assert list(cells)[-1] == "ones"
    assert cells["ones"].forget.params == {"class": "digit_1", "fraction": 0.2, "order": "random"}


def test_the_classes_of_a_forget_set_may_be_numbers_which_are_text_in_a_description():
    """The description is the same after it was read from a record, so nothing runs again."""
    forget = {"kind": "classes_part", "classes": {"digit_1": 0.2, 3: 0.5}}
    benchmark = grid(cells={"some": {"forget": forget}}, classes=[], fractions=[])
    (job,) = PlannedSplit.list_all(benchmark)
    assert job.cell.forget.params == {"classes": {"digit_1": 0.2, 3: 0.5}}
    assert job.job.params == {"classes": {"digit_1": 0.2, "3": 0.5}}
    assert read_job(job.text) == job.job


def test_every_cell_has_every_method_and_control():
    benchmark = grid(methods={"ft": {}, "ga": {}, "rl_forget": {"uses": "rl"}})
    assert len(benchmark.cells) == len(CLASSES) * len(FRACTIONS)
    assert benchmark.seeds == (3, 1, 2)
    for cell in benchmark.cells.values():
        assert list(cell.runs) == ["ft", "ga", "rl_forget", "original"]


def test_the_base_model_itself_is_a_run_that_nothing_computes():
    cell = grid(methods={"ltd": {}}, controls=["original", "ideal"]).cells["digit_3-50"]
    assert list(cell.runs) == ["ltd", "original", "ideal"]
    assert [*cell.unlearned] == ["ltd", "ideal"]
    assert (cell.names_by_kind("method"), cell.names_by_kind("control")) == (
        ["ltd"],
        ["original", "ideal"],
    )


def test_labels_are_in_the_configs_order():
    benchmark = grid(methods={"rl": {}, "ft": {}, "mine": {"uses": "ft"}})
    assert benchmark.labels() == {
        "rl": "RL",
        "ft": "FT",
        "mine": "FT (mine)",
        "original": "Original",
    }


# Bases.


def test_matched_runs_have_a_base_for_every_seed():
    benchmark = grid()
    assert benchmark.base_seeds == (3, 1, 2)
    assert [job.seed for job in PlannedBase.list_all(benchmark)] == [3, 1, 2]
    assert [benchmark.base_seed(seed) for seed in (3, 1, 2)] == [3, 1, 2]


def test_shared_runs_have_the_first_seeds_base():
    benchmark = grid(base={"sharing": "shared"})
    assert benchmark.base_seeds == (3, 3, 3)
    assert [job.seed for job in PlannedBase.list_all(benchmark)] == [3]
    assert [benchmark.base_seed(seed) for seed in (3, 1, 2)] == [3, 3, 3]


# Parameters.


def test_parameters_are_the_defaults_but_for_what_is_given():
    params = runs(methods={"ft": {"lr": 0.3}})["ft"].params
    assert params.lr == 0.3
    assert params.batch_size == 256


def test_a_cell_may_have_parameters_of_its_own():
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.2}
    cells = {"ones": {"forget": forget, "methods": {"ft": {"lr": 0.7}}}}
    benchmark = grid(methods={"ft": {"lr": 0.3, "epochs": 4}}, cells=cells)
    own, other = (benchmark.cells[name].runs["ft"].params for name in ("ones", "digit_3-50"))
    assert (own.lr, own.epochs) == (0.7, 4)
    assert (other.lr, other.epochs) == (0.3, 4)


def test_a_cell_may_fix_what_others_tune():
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.2}
    cells = {"ones": {"forget": forget, "methods": {"ft": {"lr": 0.7}}}}
    benchmark = grid(methods={"ft": {"lr": [0.1, 0.2]}}, cells=cells)
    assert list(benchmark.cells["digit_3-50"].tuned) == ["ft"]
    assert not benchmark.cells["ones"].tuned


# Tuning.


def test_a_method_with_lists_is_tuned_over_all_combinations():
    cell = grid(methods={"ft": {"lr": [0.1, 0.2], "epochs": [1, 2]}, "ga": {}}).cells["digit_3-50"]
    assert list(cell.tuned) == ["ft"]
    assert cell.tuned["ft"].trials() == [
        {"lr": 0.1, "epochs": 1},
        {"lr": 0.1, "epochs": 2},
        {"lr": 0.2, "epochs": 1},
        {"lr": 0.2, "epochs": 2},
    ]
    assert cell.runs["ft"].tuned_by == "ft"
    assert cell.runs["ga"].tuned_by is None


def test_before_tuning_parameters_have_their_first_value():
    assert runs(methods={"ft": {"lr": [0.2, 0.1]}})["ft"].params.lr == 0.2


def test_trials_are_numbered_with_the_defaults_at_the_end_where_they_are_not_among_them():
    run = runs(methods={"ft": {"lr": [0.1, 0.2]}})["ft"]
    assert run.trials == [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.01}]
    assert [params.lr for params in run.trial_params] == [0.1, 0.2, 0.01]
    assert [params.lr for params in run.choices] == [0.1, 0.2]
    assert runs(methods={"ft": {"lr": [0.1, 0.01]}})["ft"].trials == [{"lr": 0.1}, {"lr": 0.01}]


# Sweeps.


def swept(method="ft", cells=None, methods=None, **vary):
    """Return the names of a sweep's runs in the first cell."""
    entry = {"method": method, "vary": vary} | ({"cells": cells} if cells else {})
    found = runs(methods=methods or {method: {}}, sweeps={"s": entry})
    return [name for name in found if "@" in name]


def test_a_sweeps_run_is_named_by_method_parameter_and_value():
    assert swept("rl", labels=["wrong"]) == ["rl@labels=wrong"]


def test_floats_are_written_short_and_booleans_small():
    assert swept(lr=[0.1, 0.00001, 1]) == ["ft@lr=0.1", "ft@lr=1e-05", "ft@lr=1"]
    assert swept("rl", retain=[False]) == ["rl@retain=false"]


def test_text_that_is_a_number_is_named_as_the_number():
    assert swept(lr=["1e-3"]) == ["ft@lr=0.001"]


@pytest.mark.parametrize("own", [{}, {"lr": 0.01}, {"lr": "1e-2"}, {"lr": [0.01]}])
def test_the_methods_own_value_is_no_second_run(own):
    assert swept(methods={"ft": own}, lr=[0.001, 0.01]) == ["ft@lr=0.001"]


def test_a_sweep_runs_in_all_cells_or_in_those_it_names():
    entry = {"method": "ft", "vary": {"lr": [0.5]}}
    everywhere = grid(sweeps={"s": entry}).cells.values()
    assert all("ft@lr=0.5" in cell.runs for cell in everywhere)
    somewhere = grid(sweeps={"s": {**entry, "cells": ["digit_8-50"]}}).cells
    assert [name for name, cell in somewhere.items() if "ft@lr=0.5" in cell.runs] == ["digit_8-50"]


def test_a_sweeps_run_varies_one_parameter_of_the_configured_method():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    run = runs(methods={"ft": {"epochs": 4}}, sweeps=sweeps)["ft@lr=0.5"]
    assert (run.params.lr, run.params.epochs) == (0.5, 4)
    assert run.label == "FT, lr 0.5"
    assert run.tuned_by is None


def test_a_sweep_of_a_tuned_method_takes_the_tunings_choice():
    methods = {"ft": {"lr": [0.1, 0.2]}}
    sweeps = {"s": {"method": "ft", "vary": {"epochs": [3]}}}
    cell = grid(methods=methods, sweeps=sweeps).cells["digit_3-50"]
    assert cell.runs["ft@epochs=3"].tuned_by == "ft"
    assert list(cell.tuned) == ["ft"]


def test_where_the_choice_is_open_every_value_of_it_is_a_run():
    assert swept(methods={"ft": {"lr": [0.1, 0.2]}}, lr=[0.1, 0.2]) == ["ft@lr=0.1", "ft@lr=0.2"]


def sweep_of(methods=None, cell="digit_3-50", **entry):
    """Return a sweep of `ft` in a cell."""
    sweeps = {"s": {"method": "ft", **entry}}
    return grid(methods=methods or {"ft": {}}, sweeps=sweeps).cells[cell].sweeps[0]


def test_a_sweep_knows_its_values_in_the_configs_order_and_the_own_run_among_them():
    sweep = sweep_of(vary={"lr": [0.5, "1e-2", 0.001]})
    assert (sweep.own, sweep.key) == ("ft", "lr")
    assert [*sweep.values.items()] == [("ft@lr=0.5", 0.5), ("ft", 0.01), ("ft@lr=0.001", 0.001)]
    assert sweep.labels == {"ft@lr=0.5": "0.5", "ft": "0.01", "ft@lr=0.001": "0.001"}


def test_an_own_value_that_is_not_listed_comes_last():
    values = sweep_of(vary={"lr": [0.5]}).values
    assert list(values.items()) == [("ft@lr=0.5", 0.5), ("ft", 0.01)]


def test_where_the_value_is_tuned_the_own_run_has_none_to_tell():
    sweep = sweep_of({"ft": {"lr": [0.1, 0.2]}}, vary={"lr": [0.1]})
    assert list(sweep.values.items()) == [("ft@lr=0.1", 0.1), ("ft", None)]
    assert sweep.labels == {"ft@lr=0.1": "0.1", "ft": "as tuned"}


def test_where_the_value_is_tuned_its_default_is_a_run_as_any_other():
    sweep = sweep_of({"ft": {"lr": [0.1, 0.2]}}, vary={"lr": [0.01, 0.1]})
    assert list(sweep.values) == ["ft@lr=0.01", "ft@lr=0.1", "ft"]


def test_where_only_what_goes_along_is_tuned_the_own_run_tells_its_value():
    sweep = sweep_of(
        {"ft": {"lr": [0.1, 0.2]}}, vary={"optimizer": ["adamw"]}, along={"lr": [0.001]}
    )
    assert sweep.labels == {
        "ft@optimizer=adamw@lr=0.001": "adamw, lr 0.001",
        "ft": "sgd, as tuned",
    }


def test_a_sweep_is_of_the_cells_that_it_names_with_their_own_values():
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.2}
    cells = {"ones": {"forget": forget, "methods": {"ft": {"lr": 0.5}}}}
    entry = {"method": "ft", "vary": {"lr": [0.5, 0.01]}, "cells": ["ones", "digit_3-50"]}
    found = grid(cells=cells, sweeps={"s": entry}).cells
    values = {name: cell.sweeps[0].values for name, cell in found.items() if cell.sweeps}
    assert values == {
        "digit_3-50": {"ft@lr=0.5": 0.5, "ft": 0.01},
        "ones": {"ft": 0.5, "ft@lr=0.01": 0.01},
    }


def test_parameters_that_change_along_are_in_name_and_values_of_the_run():
    entry = {
        "method": "ft",
        "vary": {"optimizer": ["sgd", "adamw", "adam"]},
        "along": {"lr": [0.01, 0.001, "1e-4"]},
    }
    cell = grid(sweeps={"s": entry}).cells["digit_3-50"]
    names = ["ft", "ft@optimizer=adamw@lr=0.001", "ft@optimizer=adam@lr=0.0001"]
    assert list(cell.sweeps[0].values) == names
    assert cell.runs[names[1]].vary == {"optimizer": "adamw", "lr": 0.001}
    assert cell.runs[names[1]].label == "FT, optimizer adamw, lr 0.001"
    labels = ["sgd, lr 0.01", "adamw, lr 0.001", "adam, lr 0.0001"]
    assert list(cell.sweeps[0].labels.values()) == labels


def test_a_run_is_the_methods_own_only_if_what_goes_along_is_too():
    sweep = sweep_of(vary={"optimizer": ["sgd"]}, along={"lr": [0.5]})
    assert sweep.values == {"ft@optimizer=sgd@lr=0.5": "sgd", "ft": "sgd"}
    assert sweep.labels["ft"] == "sgd, lr 0.01"


# Tracking.


def test_the_methods_named_under_track_are_tracked_and_their_sweeps_are_not():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    cell = grid(methods={"ft": {}, "ga": {}}, sweeps=sweeps, track=["ft"]).cells["digit_3-50"]
    assert cell.tracked == ["ft"]
    assert [name for name, run in cell.runs.items() if run.tracked] == ["ft"]
    assert grid(methods={"ft": {}}).cells["digit_3-50"].tracked == []


def test_all_tracks_every_method_and_the_controls_that_train():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    given = {"methods": {"ft": {}, "ltd": {}}, "controls": ["original", "ideal"], "sweeps": sweeps}
    for track in ("all", ["all"]):
        cell = grid(**given, track=track).cells["digit_3-50"]
        assert cell.tracked == ["ft", "ltd", "ideal"]


# Controls.


def test_a_control_has_its_defaults_and_no_tuning():
    run = runs()["original"]
    assert run.method.kind == "control"
    assert run.tuned_by is None
    assert not run.needs_retrain


@pytest.fixture
def follower(tmp_path, tmp_path_factory):
    """Make a control that takes `lr` and `size` from the method `two`."""
    with forgotten_after():
        write_control(tmp_path_factory.mktemp("controls"), "follower", FOLLOWER)
        yield write_method(tmp_path, "two", TWO_PHASES)


def follow(plugins, methods, cell="digit_3-50", **changes):
    benchmark = grid(plugins, methods=methods, controls=["follower"], **changes)
    return benchmark.cells[cell].runs["follower"]


def test_a_control_takes_what_the_method_was_given(follower):
    run = follow(follower, {"two": {"lr": 0.3, "support": "random"}})
    assert (run.params.lr, run.params.size) == (0.3, 70)
    assert run.needs_retrain


def test_a_control_takes_what_the_method_was_given_in_this_cell(follower):
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.2}
    cells = {"ones": {"forget": forget, "methods": {"two": {"lr": 0.9}}}}
    assert follow(follower, {"two": {"lr": 0.3}}, cell="ones", cells=cells).params.lr == 0.9


def test_a_control_uses_the_tuned_parameters_of_its_method(follower):
    run = follow(follower, {"two": {"lr": [0.1, 0.2]}})
    assert run.tuned_by == "two"
    assert run.method.trials() == [{}]


def test_a_control_finds_the_method_under_another_name_among_others(follower):
    methods = {"ft": {"lr": 0.5}, "mine": {"uses": "two", "lr": 0.3}, "ga": {"lr": 0.6}}
    assert follow(follower, methods).params.lr == 0.3


def test_a_control_without_its_method_is_refused(follower):
    with pytest.raises(ConfigError, match="'follower' takes its parameters from two; 0 of them"):
        follow(follower, {"ft": {"lr": 0.3}})


# Support sizes


def test_supports_of_every_size_are_tried_in_all_cells_or_in_those_named():
    sizes = {"method": "mine", "k": [20, 50]}
    methods = {"ltd": {}, "mine": {"uses": "ltd", "teacher_lr": 0.3}}
    everywhere = grid(methods=methods, support_size=sizes).cells.values()
    assert [cell.support_sized.name for cell in everywhere] == ["mine"] * len(everywhere)
    some = grid(methods=methods, support_size={**sizes, "cells": ["digit_8-50"]}).cells
    assert [name for name, cell in some.items() if cell.support_sized] == ["digit_8-50"]
    assert some["digit_8-50"].support_sized.params.teacher_lr == 0.3
    assert not any(cell.support_sized for cell in grid(methods=methods).cells.values())


def test_the_width_of_figures_is_in_the_plan_of_every_benchmark():
    raw = config()
    assert make_plan(build_grid(load(raw))["b"]).figure_width == 5.5
    assert (
        make_plan(build_grid(load({**raw, "figures": {"width": 6.75}}))["b"]).figure_width == 6.75
    )
