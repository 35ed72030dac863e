"""Valid configs, and errors that need code to write down; all others: `bad_configs/`."""

import os

import pytest
import yaml
from pydantic import ValidationError
from small_config import EIGHTS, complaint, complaints, config

from collateral.config.errors import explain
from collateral.config.load import load, read
from collateral.config.methods import resolve
from collateral.contract.params import Strict
from collateral.plan.grid import build_grid


def test_the_plain_config_is_right():
    benchmark = load(config()).benchmarks["b"]
    assert benchmark.seeds == (0, 1)
    assert benchmark.base.sharing == "matched"
    assert benchmark.controls == ("original",)


def test_a_file_is_read_as_the_same_config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config()))
    assert read(path) == load(config())


def test_a_config_cannot_be_changed_after_loading():
    with pytest.raises(ValueError, match="frozen"):
        load(config()).benchmarks["b"].model = "mlp"


def test_an_empty_entry_means_the_defaults():
    benchmark = load(yaml.safe_load(yaml.safe_dump(config()).replace("ft: {}", "ft:"))).benchmarks
    assert benchmark["b"].methods == {"ft": {}, "rl": {}}


def test_text_that_is_a_number_is_one():
    spec = resolve("ft", {"lr": ["1e-3", "1e-2"], "epochs": "7"}, ("methods", "ft"))
    assert spec.grid == {"lr": (0.001, 0.01)}
    assert spec.fixed == {"epochs": 7}


def test_a_list_of_one_value_is_that_value():
    spec = resolve("ft", {"lr": [0.1]}, ("methods", "ft"))
    assert spec.fixed == {"lr": 0.1}
    assert not spec.grid


def test_a_class_by_index_gets_its_name():
    cells = build_grid(load(config(classes=[8])))["b"].cells
    assert list(cells) == ["digit_8-50"]
    assert cells["digit_8-50"].forget.params["class"] == "digit_8"


def test_a_class_index_refers_to_the_kept_classes():
    data = {"name": "digits", "classes": ["digit_7", "digit_1"]}
    assert list(build_grid(load(config(data=data, classes=[1])))["b"].cells) == ["digit_1-50"]


def test_any_class_is_accepted_if_class_names_are_unknown_before_loading():
    data = {"name": "arrays", "path": "mine.npz"}
    cells = build_grid(load(config(data=data, classes=["Any one", 7])))["b"].cells
    assert list(cells) == ["any-one-50", "7-50"]
    assert cells["any-one-50"].forget.params["class"] == "Any one"


def test_a_model_of_timm_is_known_by_name():
    assert load(config(model="timm/resnet18")).benchmarks["b"].model == "timm/resnet18"


def test_an_unknown_model_of_timm_is_named_with_the_nearest_ones():
    said = complaint(model="timm/resnt18")
    assert said.startswith("model: no model 'timm/resnt18' among the ")
    assert "; nearest: timm/resnet18, timm/" in said


def test_a_fraction_of_1_is_right():
    assert load(config(fractions=[1])).benchmarks["b"].fractions == (1.0,)


def test_the_largest_seed_is_right():
    assert load(config(seeds=[2**32 - 1])).benchmarks["b"].seeds == (2**32 - 1,)


def test_a_model_without_keys_allows_none():
    with pytest.raises(ValidationError) as error:
        Strict.model_validate({"a": 1})
    assert explain(error.value, Strict, ()) == [(("a",), "unknown key (value 1); allowed: none")]


@pytest.mark.parametrize(
    "changes",
    [
        {"base": {"optimizer": "adam", "nesterov": False, "momentum": 0}},
        {"base": {"nesterov": True, "momentum": 0.5}},
        {"base": {"validation_share": 0.2, "checkpoint": "best_validation"}},
        {"select": "teacher", "methods": {"ft": {"lr": [0.1, 0.2]}}},
        {
            "select": "teacher",
            "cells": {"c": {"forget": EIGHTS, "methods": {"ft": {"lr": [0.1, 0.2]}}}},
        },
        {"select": "paper"},
        {"shadows": {}, "base": {"weights": "base.pt", "epochs": 3}},
        {"shadows": {"count": 6}},
        {"base": {"sharing": "shared"}, "given": {"theirs": {"weights": "a.pt"}}},
        {"fractions": [0.5, 0.9], "given": {"theirs": {"weights": "a-{cell}-{seed}.pt"}}},
        {"fractions": [0.5, 0.9], "retrain": {"weights": "a-{cell}-{seed}.pt"}},
    ],
)
def test_keys_that_go_together_are_right(changes):
    load(config(**changes))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("~nobody-of-this-name/x.npz", "not a path: Could not determine home directory."),
        ("x" * 300, f"not a path: [Errno 36] File name too long: '{'x' * 300}'"),
    ],
)
def test_a_path_that_cannot_be_looked_for_is_named(path, said):
    assert complaint(data={"name": "arrays", "path": path}, classes=[1]).endswith(said)
    assert complaints({**config(), "plugins": [path]})[0].endswith(said)


def test_a_pipe_or_a_device_is_no_file(tmp_path):
    """Whoever opens it waits for ever, or reads for ever."""
    os.mkfifo(tmp_path / "pipe.npz")
    for path in (tmp_path / "pipe.npz", "/dev/zero"):
        line = complaint(data={"name": "arrays", "path": str(path)}, classes=[1])
        assert line.endswith("is a pipe or a device; give a file or a folder")
    forget = {"kind": "files", "path": "/dev/zero"}
    line = complaint(cells={"gone": {"forget": forget}})
    assert line.startswith("cells.gone.forget.path: '/dev/zero': is a pipe")


def test_classes_that_only_the_data_knows_are_left_to_the_split():
    forget = {"kind": "classes_part", "classes": {"any": 0.5, "other": 0.1}}
    data = {"name": "arrays", "path": "mine.npz"}
    loaded = load(config(data=data, classes=["any"], cells={"c": {"forget": forget}}))
    (benchmark,) = loaded.benchmarks.values()
    assert benchmark.classes == ("any",)
    assert {*benchmark.cells} == {"c"}


# Methods.


def test_default_values_that_do_not_go_with_the_fixed_ones_are_not_tried():
    spec = resolve(
        "ltd",
        {"support_by": "example", "search": "approximate", "k": "auto", "k_each": [5, 10]},
        ("methods", "ltd"),
    )
    assert spec.trials() == [{"k_each": 5}, {"k_each": 10}]
    assert spec.default_trial() is None  # k_each: null needs `search: exact`


def test_default_values_are_tried_with_the_fixed_ones():
    spec = resolve("ltd", {"k": "auto", "beta": [1, 5], "lr": [1e-3, 1e-2]}, ("methods", "ltd"))
    assert list(spec.default_trial().items()) == [("beta", 2.0), ("lr", 1e-4)]


def test_a_name_may_not_be_too_long_for_a_folder():
    assert load(config(methods={"m" * 100: {"uses": "ft"}}))
    assert "at most 100" in complaint(methods={"m" * 101: {"uses": "ft"}})


# Probes, shadow models, support sizes.


def test_whole_numbers_may_be_written_with_an_exponent():
    probe = {"resurface": {"steps": [1e1, 20]}}
    (steps,) = load(config(probe=probe)).benchmarks["b"].probe.requested().values()
    assert steps["steps"] == [10, 20]


def test_probes_may_be_a_list_or_have_parameters():
    def asked(given):
        return load(config(probe=given)).benchmarks["b"].probe.requested()

    defaults = {"count": 100, "std": 0.03}
    assert asked(["residual", "zrf"]) == {"residual": defaults, "zrf": {}}
    assert asked({"residual": None}) == {"residual": defaults}
    assert asked({"residual": {"std": 0.1}}) == {"residual": {"count": 100, "std": 0.1}}
    assert load(config()).benchmarks["b"].probe is None


def test_there_is_no_pool_of_shadow_models_unless_asked_for():
    assert load(config()).benchmarks["b"].shadows is None
    found = load(config(shadows={})).benchmarks["b"].shadows
    assert (found.count, found.share) == (16, 0.5)


def test_support_sizes_are_of_ltd_unless_another_configuration_is_named():
    methods = {"ltd": {}, "mine": {"uses": "ltd"}, "ft": {}}
    found = load(config(methods=methods, support_size={"k": [20, 50]})).benchmarks["b"].support_size
    assert (found.method, found.k, found.cells) == ("ltd", (20, 50), None)
    assert load(config(methods=methods, support_size={"method": "mine", "k": [20, 50]}))


# Weights of the user.


@pytest.mark.parametrize(
    ("file", "sharing"), [("mine.safetensors", "shared"), ("mine-{seed}.pt", "matched")]
)
def test_the_file_name_of_the_users_base_decides_sharing(file, sharing):
    base = load(config(base={"weights": file})).benchmarks["b"].base
    assert base.sharing == sharing


GIVEN = {"weights": "theirs-{seed}.pt"}


def test_weights_may_be_given_where_no_method_is_listed():
    benchmark = load(config(methods={}, given={"theirs": {**GIVEN, "rte": 120}})).benchmarks["b"]
    assert benchmark.given["theirs"].rte == 120


def test_retrain_is_trained_here_by_default():
    assert load(config()).benchmarks["b"].retrain.weights is None
    assert load(config(retrain=GIVEN)).benchmarks["b"].retrain.weights is not None
    assert load(config(retrain="none")).benchmarks["b"].retrain is None
