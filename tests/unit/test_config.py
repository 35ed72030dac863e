"""What a config may say, and what is said when it is wrong: key, value, what is allowed."""

import pytest
import yaml
from pydantic import ValidationError
from small_config import BENCHMARK, EIGHTS, complaint, complaints, config

from collateral.config.errors import explain
from collateral.config.load import load, read
from collateral.config.methods import resolve
from collateral.contract.params import Strict
from collateral.plan.grid import build_grid

# What is right.


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


def test_an_index_counts_among_the_classes_that_are_kept():
    data = {"name": "digits", "classes": ["digit_7", "digit_1"]}
    assert list(build_grid(load(config(data=data, classes=[1])))["b"].cells) == ["digit_1-50"]


def test_where_only_the_data_know_the_classes_any_is_taken():
    data = {"name": "arrays", "path": "mine.npz"}
    cells = build_grid(load(config(data=data, classes=["Any one", 7])))["b"].cells
    assert list(cells) == ["any-one-50", "7-50"]
    assert cells["any-one-50"].forget.params["class"] == "Any one"


# What the shape of the config tells.


def test_an_unknown_key_is_named_with_its_nearest_spelling():
    said = complaint(seedz=[1])
    assert said.startswith(
        "seedz: unknown key (value [1]); allowed: data, model, init, base, seeds,"
    )
    assert said.endswith("; did you mean seeds?")


def test_an_unknown_key_at_the_top_is_named():
    (line,) = complaints({**config(), "plugin": []})
    assert line == (
        "plugin: unknown key (value []); allowed: benchmarks, plugins; did you mean plugins?"
    )


def test_an_unknown_key_further_down_is_named():
    said = complaint(base={"epoch": 3})
    assert said.startswith("base.epoch: unknown key (value 3); allowed: epochs, batch_size,")
    assert said.endswith("; did you mean epochs?")


@pytest.mark.parametrize("key", ["int", "lr[0]"])
def test_an_unknown_key_that_looks_like_a_type_is_named_too(key):
    said = complaint(methods={"ft": {key: 3}})
    assert said.startswith(f"methods.ft.{key}: unknown key (value 3); allowed: lr,")


@pytest.mark.parametrize("key", ["data", "model", "seeds"])
def test_a_missing_key_is_named(key):
    assert complaint(**{key: None}) == f"{key}: missing; it has no default"


def test_a_config_without_benchmarks_says_so():
    assert complaints({}) == ["benchmarks: missing; it has no default"]
    assert complaints({"benchmarks": {}}) == ["benchmarks: {}: too few entries; at least 1"]


def test_a_config_that_is_no_mapping_says_so():
    assert complaints(["benchmarks"]) == ["config: ['benchmarks']: should be a mapping"]


def test_a_model_of_timm_is_known_by_name():
    assert load(config(model="timm/resnet18")).benchmarks["b"].model == "timm/resnet18"


def test_an_unknown_model_of_timm_is_named_with_the_nearest_ones():
    said = complaint(model="timm/resnt18")
    assert said.startswith("model: no model 'timm/resnt18' among the ")
    assert "; nearest: timm/resnet18, timm/" in said


def test_a_model_of_timm_whose_head_will_not_do_is_told_so():
    said = complaint(model="timm/levit_128")
    assert said == "model: 'timm/levit_128': its head is not one linear layer; choose another"


def test_an_unknown_model_is_named_with_its_nearest_spelling():
    said = complaint(model="resnet21")
    assert said.startswith("model: no model 'resnet21'; known: mlp, mnist_cnn,")
    assert said.endswith("; did you mean resnet20?")


@pytest.mark.parametrize(
    ("fraction", "allowed"),
    [
        (0, "greater than 0"),
        (-0.5, "greater than 0"),
        (1.5, "less than or equal to 1"),
        (float("nan"), "a finite number"),
    ],
)
def test_a_fraction_outside_0_to_1_is_named(fraction, allowed):
    assert complaint(fractions=[0.5, fraction]) == f"fractions[1]: {fraction}: should be {allowed}"


def test_a_fraction_of_1_is_right():
    assert load(config(fractions=[1])).benchmarks["b"].fractions == (1.0,)


def test_empty_seeds_are_refused():
    assert complaint(seeds=[]) == "seeds: []: too few entries; at least 1"


def test_a_seed_is_a_whole_number_from_0():
    assert complaint(seeds=[-1]) == "seeds[0]: -1: should be greater than or equal to 0"
    assert complaint(seeds=[1.5]).startswith("seeds[0]: 1.5: should be a valid integer")
    assert complaint(seeds=3) == "seeds: 3: should be a list"


def test_a_seed_is_one_that_all_who_draw_from_it_take():
    assert load(config(seeds=[2**32 - 1])).benchmarks["b"].seeds == (2**32 - 1,)
    for seed in (2**32, 10**29):
        assert complaint(seeds=[seed]) == f"seeds[0]: {seed}: should be less than 4294967296"
    assert complaint(seeds=["1e29"]).startswith("seeds[0]: '1e29': should be a valid integer")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seeds": [True]}, "seeds[0]"),
        ({"fractions": [True]}, "fractions[0]"),
        ({"base": {"epochs": True}}, "base.epochs"),
        ({"base": {"lr": True}}, "base.lr"),
        ({"data": {"name": "digits", "per_class": True}}, "data.per_class"),
        ({"methods": {"ft": {"epochs": [True, 2]}}}, "methods.ft.epochs"),
        ({"methods": {"ga": {"steps": True}}}, "methods.ga.steps"),
        ({"cells": {"c": {"forget": {**EIGHTS, "fraction": True}}}}, "cells.c.forget.fraction"),
    ],
)
def test_true_is_no_number(change, key):
    assert complaint(**change) == f"{key}: True: should be a number, not true or false"


@pytest.mark.parametrize("value", ["yes", "no", "on", "true", 1])
@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda value: {"base": {"augment": value}}, "base.augment"),
        (lambda value: {"methods": {"rl": {"retain": [True, value]}}}, "methods.rl.retain"),
        (lambda value: {"data": {"name": "torchvision", "dataset": "CIFAR10", "flip": value}},
         "data.flip"),
    ],
)  # fmt: skip
def test_a_boolean_is_true_or_false(change, key, value):
    assert complaint(**change(value)) == f"{key}: {value!r}: should be true or false"


@pytest.mark.parametrize(
    ("change", "key", "most"),
    [
        ({"base": {"epochs": 10**12}}, "base.epochs", 10**6),
        ({"base": {"epochs": str(10**12)}}, "base.epochs", 10**6),
        ({"base": {"batch_size": 10**400}}, "base.batch_size", 10**9),
        ({"base": {"batch_size": 16**5000}}, "base.batch_size", 10**9),
        ({"methods": {"ft": {"epochs": 10**12}}}, "methods.ft.epochs", 10**6),
        ({"methods": {"ltd": {"k_each": 10**12}}}, "methods.ltd.k_each", 10**9),
        ({"data": {"name": "synthetic", "families": 10**6}, "classes": [0]}, "data.families", 1000),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_number_that_nobody_can_mean_is_told_the_largest(change, key, most):
    said = complaint(**change)
    assert said.startswith(f"{key}: ")
    assert said.endswith(f"should be less than or equal to {most}")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("seeds", [4, 4]),
        ("classes", ["digit_3", "digit_3"]),
        ("fractions", [0.5, 0.5]),
        ("controls", ["original", "original"]),
    ],
)
def test_a_value_that_stands_there_twice_is_refused(key, values):
    assert complaint(**{key: values}) == f"{key}: {values}: a value stands there twice"


def test_classes_and_fractions_go_together():
    assert complaint(fractions=None) == ": `classes` and `fractions` go together: both, or neither"


def test_something_must_be_forgotten():
    said = complaint(fractions=None, classes=None)
    assert said == ": nothing to forget: give `classes` and `fractions`, or `cells`"


# All together.


def test_everything_wrong_is_said_at_once():
    said = complaints(
        {
            "benchmarks": {
                "a": {**BENCHMARK, "classes": ["digit3"], "methods": {"rll": {}, "ft": {"lrr": 1}}},
                "b": {**BENCHMARK, "controls": ["orginal"]},
            }
        }
    )
    assert [line.split(":")[0] for line in said] == [
        "benchmarks.a.classes[0]",
        "benchmarks.a.methods.rll",
        "benchmarks.a.methods.ft.lrr",
        "benchmarks.b.controls[0]",
    ]


def test_everything_wrong_with_the_shape_is_said_at_once():
    said = complaints(config(seeds=[], fractions=[2], model=8, base={"lr": "fast"}))
    assert [line.split(":")[0] for line in said] == [
        "benchmarks.b.model",
        "benchmarks.b.base.lr",
        "benchmarks.b.seeds",
        "benchmarks.b.fractions[0]",
    ]


# What a message says beside the key.


@pytest.mark.parametrize("name", ["resnet18", "ResNet18"])
def test_a_model_of_timm_is_suggested_with_its_prefix(name):
    assert complaint(model=name) == (
        f"model: no model '{name}'; known: mlp, mnist_cnn, resnet8, resnet14, resnet20, resnet56, "
        "small_cnn, vit_tiny, timm/<name>; did you mean timm/resnet18?"
    )


def test_where_nothing_is_allowed_or_known_it_says_none():
    given = {"mine": {"weights": "{cell}-{seed}.pt"}}
    assert (
        complaint(methods={}, given=given, track=["ft"]) == "track[0]: no method 'ft'; known: none"
    )
    with pytest.raises(ValidationError) as error:
        Strict.model_validate({"a": 1})
    assert explain(error.value, Strict, ()) == ["a: unknown key (value 1); allowed: none"]


def test_a_value_that_may_be_of_several_types_is_named_by_its_place_alone():
    forget = {"kind": "where", "column": "subject", "is": [17, 1.5]}
    assert complaint(cells={"c": {"forget": forget}}) == (
        "cells.c.forget.is[1]: 1.5: should be a valid boolean, or should be a valid integer, or "
        "should be a valid string"
    )


def test_a_path_that_is_none_is_named_without_words_of_python():
    assert complaint(base={"weights": 3}) == "base.weights: 3: should be a path"


# Keys that would change nothing.


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"base": {"optimizer": "adam", "nesterov": True}},
            "base.nesterov: without effect: it goes",
        ),
        (
            {"base": {"optimizer": "adamw", "momentum": 0.9}},
            "base.momentum: without effect: it goes",
        ),
        (
            {"base": {"validation_share": 0.2}},
            "base.validation_share: without effect: it goes with",
        ),
        (
            {"select": "teacher"},
            "select: 'teacher': without effect: no method has a list of values",
        ),
        ({"select": "interval", "methods": {"ft": {"lr": [0.1]}}}, "select: 'interval': without"),
    ],
)
def test_a_key_without_effect_is_refused(changes, said):
    assert complaint(**changes).startswith(said)


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
    ],
)
def test_a_key_with_effect_is_right(changes):
    load(config(**changes))
