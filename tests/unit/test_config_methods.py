"""Methods and controls in a config: what is said when they are wrong."""

import pytest
from small_config import EIGHTS, PACKAGE_METHODS, complaint, complaints, config

from collateral.config.load import load
from collateral.config.methods import resolve
from collateral.contract.plugins import CONTROL

# Methods.


def test_an_unknown_method_is_named_with_its_nearest_spelling():
    said = complaint(methods={"rll": {}})
    assert said == f"methods.rll: no method 'rll'; known: {PACKAGE_METHODS}; did you mean rl?"


def test_an_unknown_method_that_is_used_is_named():
    said = complaint(methods={"mine": {"uses": "rll"}})
    assert said.startswith("methods.mine.uses: no method 'rll'; known: ")
    assert said.endswith("; did you mean rl?")


def test_an_unknown_parameter_is_named_with_its_nearest_spelling():
    said = complaint(methods={"ft": {"epoch": 3}})
    assert said.startswith("methods.ft.epoch: unknown key (value 3); allowed: lr, batch_size,")
    assert said.endswith("; did you mean epochs?")


def test_a_wrong_literal_is_told_those_there_are():
    assert complaint(methods={"ft": {"optimizer": "adamx"}}) == (
        "methods.ft.optimizer: 'adamx' is not allowed; allowed: sgd, adam, adamw; "
        "did you mean adam?"
    )


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("epochs", -1, "greater than or equal to 0"),
        ("batch_size", 0, "greater than or equal to 1"),
        ("momentum", 1, "less than 1"),
        ("lr", float("inf"), "a finite number"),
    ],
)
def test_a_value_out_of_range_is_named(key, value, allowed):
    said = complaint(methods={"ft": {key: value}})
    assert said == f"methods.ft.{key}: {value}: should be {allowed}"


def test_a_wrong_value_in_a_list_to_tune_over_is_named():
    said = complaint(methods={"ft": {"lr": [0.1, -0.1]}})
    assert said == "methods.ft.lr: -0.1: should be greater than or equal to 0"


def test_an_empty_list_to_tune_over_is_refused():
    said = complaint(methods={"ft": {"lr": []}})
    assert said == "methods.ft.lr: an empty list; give at least one value"


def test_lists_that_make_too_many_trials_are_refused():
    lists = {
        "lr": list(range(1, 40)),
        "momentum": [n / 40 for n in range(40)],
        "epochs": [*range(40)],
    }
    said = complaint(methods={"ft": lists})
    assert said == "methods.ft: its lists make 62400 trials; at most 10000"


def test_a_value_to_tune_over_may_not_be_there_twice():
    said = complaint(methods={"ft": {"lr": [0.001, "1e-3"]}})
    assert said == "methods.ft.lr: [0.001, 0.001]: a value stands there twice"


APPROXIMATE = {"support_by": "example", "search": "approximate", "k": "auto"}


def test_default_values_that_do_not_go_with_the_fixed_ones_are_not_tried():
    spec = resolve("ltd", {**APPROXIMATE, "k_each": [5, 10]}, ("methods", "ltd"))
    assert spec.trials() == [{"k_each": 5}, {"k_each": 10}]
    assert spec.default_trial() is None  # k_each: null needs `search: exact`


def test_default_values_are_tried_with_the_fixed_ones():
    spec = resolve("ltd", {"k": "auto", "beta": [1, 5], "lr": [1e-3, 1e-2]}, ("methods", "ltd"))
    assert list(spec.default_trial().items()) == [("beta", 2.0), ("lr", 1e-4)]


def test_a_method_is_a_mapping():
    assert complaint(methods={"ft": 3}) == "methods.ft: 3: should be a mapping"


@pytest.mark.parametrize("name", ["Mine", "my method", "a/b", "-x", ".x", "", "retrain", "tune"])
def test_a_name_that_cannot_be_a_folder_is_refused(name):
    said = complaint(methods={name: {"uses": "ft"}})
    assert said.startswith(f"methods.{name}: not usable as a folder's name; use a-z, 0-9, _,")
    assert said.endswith("logs, probe, retrain, shadows, support_size, tables, theory, tune")


def test_a_name_may_not_be_too_long_for_a_folder():
    assert load(config(methods={"m" * 100: {"uses": "ft"}}))
    assert "at most 100" in complaint(methods={"m" * 101: {"uses": "ft"}})
    data = {"name": "arrays", "path": "mine.npz"}
    said = complaint(data=data, classes=["c" * 101])
    assert said.startswith("classes: cell 'ccc")
    assert said.endswith("more than 100 letters for a folder")
    along = {"lr": [0.1], "momentum": [0.1], "weight_decay": [1.2345e-5], "batch_size": [123456]}
    along |= {"optimizer": ["adamw"], "batchnorm": ["frozen"]}
    sweeps = {"s": {"method": "m" * 99, "vary": {"epochs": [100000]}, "along": along}}
    said = complaint(methods={"m" * 99: {"uses": "ft"}}, sweeps=sweeps)
    assert said.endswith("more than 200 letters for a folder")


@pytest.mark.parametrize("name", ["a\nb", "\x00", "\ud800", "x" * 1000])
def test_a_name_that_cannot_be_printed_is_shown_in_one_short_line(name):
    sweep_in = {"s": {"method": "ft", "vary": {"lr": [1]}, "cells": ["c"]}}
    along = {"s": {"method": "ft", "vary": {"lr": [1]}, "along": {name: []}}}
    for change in (
        {"methods": {name: {}}},
        {"model": name},
        {"track": [name]},
        {name: 3},
        {"classes": [name], "sweeps": sweep_in},
        {"sweeps": along},
    ):
        said = complaints(config(**change))
        assert said
        for line in said:
            assert line.startswith("benchmarks.b")
            assert line.isprintable()
            assert len(line) < 1000


def test_a_benchmark_and_a_cell_have_names_for_folders_too():
    (line,) = complaints({"benchmarks": {"My data": config()["benchmarks"]["b"]}})
    assert line.startswith("benchmarks.My data: not usable as a folder's name;")
    assert complaint(cells={"tables": {"forget": EIGHTS}}).startswith("cells.tables: not usable")


# Controls.


def test_an_unknown_control_is_named_with_its_nearest_spelling():
    said = complaint(controls=["orginal"])
    known = ", ".join(CONTROL.names())
    assert said == f"controls[0]: no control 'orginal'; known: {known}; did you mean original?"


def test_a_method_is_no_control():
    said = complaint(controls=["ft"])
    assert said == "controls[0]: 'ft' is a method; list it under `methods:`"


@pytest.mark.parametrize(
    ("methods", "key"),
    [
        ({"original": {}}, "original"),
        ({"original": {"uses": "rl"}}, "original"),
        ({"mine": {"uses": "original"}}, "mine.uses"),
    ],
)
def test_a_control_is_no_method(methods, key):
    said = complaint(methods=methods, controls=[])
    assert said == f"methods.{key}: 'original' is a control; list it under `controls:`"
