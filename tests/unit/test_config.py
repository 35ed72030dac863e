"""What a config may say, and what is said when it is wrong: key, value, what is allowed."""

import copy
import json

import pytest
import yaml
from plug_ins import ONE_PHASE, forgotten_after, write_files, write_method

from collateral.config.errors import ConfigError
from collateral.config.load import load, read
from collateral.config.methods import resolve
from collateral.contract.plugins import CONTROL, METHOD, add_plugins
from collateral.plan.grid import build_grid

BENCHMARK = {
    "data": {"name": "digits"},
    "model": "resnet8",
    "seeds": [0, 1],
    "classes": ["digit_3"],
    "fractions": [0.5],
    "methods": {"ft": {}, "rl": {}},
}
EIGHTS = {"kind": "class_part", "class": "digit_8", "fraction": 0.2}
PACKAGE_METHODS = ", ".join(METHOD.names())


def config(**changes):
    """Return the raw config of one benchmark `b`; a key changed to None is left out."""
    benchmark = {**copy.deepcopy(BENCHMARK), **changes}
    return {"benchmarks": {"b": {k: v for k, v in benchmark.items() if v is not None}}}


def complaints(raw) -> list[str]:
    """Return the lines of the error that `raw` must raise."""
    with pytest.raises(ConfigError) as error:
        load(raw)
    return str(error.value).splitlines()


def complaint(**changes) -> str:
    """Return the one thing that is said against a changed config, without the benchmark's name."""
    (line,) = complaints(config(**changes))
    assert line.startswith("benchmarks.b")
    return line.removeprefix("benchmarks.b").removeprefix(".")


def sweep(method="ft", **vary):
    return {"s": {"method": method, "vary": vary}}


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
    # YAML 1.1, which PyYAML reads, takes 1e-3 for text: it wants 1.0e-3.
    raw = yaml.safe_load("{lr: [1e-3, 1e-2], epochs: '7'}")
    assert raw["lr"] == ["1e-3", "1e-2"]
    spec = resolve("ft", raw, ("methods", "ft"))
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


# Weights of one's own.


@pytest.mark.parametrize(
    ("file", "sharing"), [("mine.safetensors", "shared"), ("mine-{seed}.pt", "matched")]
)
def test_the_name_of_a_base_of_ones_own_tells_who_shares_it(file, sharing):
    base = load(config(base={"weights": file})).benchmarks["b"].base
    assert base.sharing == sharing


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"base": {"weights": "a.pt", "sharing": "matched"}},
            "sharing: 'matched': weights without {seed} in their name are shared",
        ),
        (
            {"base": {"weights": "a-{seed}.pt", "sharing": "shared"}},
            "sharing: 'shared': weights with {seed} in their name are matched",
        ),
        (
            {"base": {"weights": "a.ckpt"}},
            "base.weights: 'a.ckpt': should end with one of .safetensors, .pt, .pth",
        ),
        (
            {"init": {"weights": "a.npz"}},
            "init.weights: 'a.npz': should end with one of .safetensors, .pt, .pth",
        ),
        (
            {"init": {"weights": "a-{seed}.pt"}},
            "init.weights: 'a-{seed}.pt': one file for all seeds, so without {seed}",
        ),
        ({"base": {"rename": {"a.": ""}}}, "base.rename: goes with `weights`, which is not given"),
        ({"init": {"weights": "a.pt", "renam": {}}}, "did you mean rename?"),
        ({"data": {"name": "digits", "mean": [0.5]}}, "`mean` and `std` go together"),
        ({"data": {"name": "digits", "mean": [0.5], "std": [0]}}, "greater than 0"),
    ],
)
def test_what_is_wrong_with_weights_of_ones_own_is_named(changes, said):
    assert said in complaint(**changes)


GIVEN = {"weights": "theirs-{seed}.pt"}


def test_weights_may_be_given_where_no_method_is_listed():
    benchmark = load(config(methods={}, given={"theirs": {**GIVEN, "rte": 120}})).benchmarks["b"]
    assert benchmark.given["theirs"].rte == 120
    said = complaint(methods={})
    assert said == ": nothing to judge: list `methods`, or weights under `given`"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"theirs": {"weights": "a-{seed}.npz"}}, "theirs.weights: 'a-{seed}.npz': should end"),
        (
            {"theirs": {"weights": "a.pt"}},
            "theirs.weights: 'a.pt': one file for 2 seeds, whose spread would be none; put "
            "{seed} into its name, or give one seed",
        ),
        ({"ft": GIVEN}, "ft: a method or control has this name; choose another"),
        ({"ideal": GIVEN}, "ideal: a method or control has this name; choose another"),
        ({"retrain": GIVEN}, "retrain: not usable as a folder's name"),
        ({"Their s": GIVEN}, "Their s: not usable as a folder's name"),
        ({"theirs": {**GIVEN, "rte": -1}}, "theirs.rte: -1: should be greater than or equal to 0"),
        ({"theirs": {**GIVEN, "rte": True}}, "theirs.rte: True: should be a number"),
        ({"theirs": {**GIVEN, "seconds": 3}}, "theirs.seconds: unknown key"),
        ({"theirs": {"rename": {}}}, "theirs.weights: missing"),
    ],
)
def test_what_is_wrong_with_given_weights_is_named(given, said):
    assert complaint(given=given).startswith(f"given.{said}")


def test_from_one_base_one_file_is_held_against_every_retrain():
    shared = {"base": {"sharing": "shared"}}
    assert load(config(given={"theirs": {"weights": "a.pt"}}, **shared))
    assert "one file for 2 seeds" in complaint(retrain={"weights": "a.pt"}, **shared)


@pytest.mark.parametrize("key", ["given", "retrain"])
def test_one_file_for_two_forget_sets_is_refused(key):
    def of(file):
        return {"theirs": {"weights": file}} if key == "given" else {"weights": file}

    assert load(config(fractions=[0.5, 0.9], **{key: of("a-{cell}-{seed}.pt")}))
    said = complaint(fractions=[0.5, 0.9], **{key: of("a-{seed}.pt")})
    assert said.endswith("'a-{seed}.pt': one file for 2 forget sets; put {cell} into its name")


def test_retrain_is_trained_here_unless_the_config_says_otherwise():
    assert load(config()).benchmarks["b"].retrain.weights is None
    assert load(config(retrain=GIVEN)).benchmarks["b"].retrain.weights is not None
    assert load(config(retrain="none")).benchmarks["b"].retrain is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"retrain": "nnone"}, "retrain: 'nnone': should be none, or a mapping with `weights`"),
        ({"retrain": False}, "retrain: False: should be none, or a mapping with `weights`"),
        ({"retrain": {"weight": "a.pt"}}, "did you mean weights?"),
        ({"retrain": {"rte": 3}}, "retrain: rte: goes with `weights`, which is not given"),
        ({"retrain": {"weights": "a-{seed}.npz"}}, "retrain.weights: 'a-{seed}.npz': should end"),
        ({"retrain": {"weights": "a.pt"}}, "retrain.weights: 'a.pt': one file for 2 seeds"),
        (
            {"retrain": "none", "controls": ["original", "ideal"], "methods": {"ltd": {}}},
            "controls[1]: 'ideal' needs Retrain, and the config says `retrain: none`",
        ),
    ],
)
def test_what_is_wrong_with_retrain_is_named(changes, said):
    assert said in complaint(**changes)


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
    # PyYAML reads 1e29 as text.
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
def test_a_yes_is_no_number(change, key):
    said = complaint(**change)
    assert said == f"{key}: True: should be a number; yes, no, true and false are none"


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


def test_a_number_of_a_plug_in_that_bounds_it_not_is_bounded(plugins):
    add_plugins(
        [write_method(plugins, "free", ONE_PHASE.replace("float = Field(1.0", "int = Field(1"))]
    )
    with pytest.raises(ConfigError, match=r"strength: 1000.*: should be at most 1000000000"):
        resolve("free", {"strength": 10**400}, ("methods", "free"))


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


# Data sets and classes.


def test_an_unknown_data_set_is_named_with_its_nearest_spelling():
    assert complaint(data={"name": "cifar10"}) == (
        "data.name: no data set 'cifar10'; "
        "known: arrays, cifar100, digits, folder, mnist, parquet, svhn, synthetic, "
        "torchvision; did you mean cifar100?"
    )


def test_a_data_set_without_a_name_is_told_those_there_are():
    assert complaint(data={}) == (
        "data.name: missing; known: arrays, cifar100, digits, folder, mnist, parquet, svhn, "
        "synthetic, torchvision"
    )


def test_an_unknown_option_of_a_data_set_is_named():
    assert complaint(data={"name": "digits", "per_clas": 3}) == (
        "data.per_clas: unknown key (value 3); allowed: classes, per_class, test_per_class, mean, "
        "std; did you mean per_class?"
    )


def test_an_unknown_class_is_named_with_its_nearest_spelling():
    said = complaint(classes=["digit_3", "digit3"])
    assert said.startswith("classes[1]: no class 'digit3'; known: digit_0, digit_1,")
    assert said.endswith("; did you mean digit_3?")


def test_an_index_beyond_the_classes_is_named():
    said = complaint(classes=[12])
    assert said == "classes[0]: 12: should be a name, or an index below 10"


def test_a_class_that_the_data_set_does_not_keep_is_unknown():
    said = complaint(data={"name": "digits", "classes": ["digit_1", "digit_2"]})
    assert said.startswith("classes[0]: no class 'digit_3'; known: digit_1, digit_2")


def test_a_yes_is_no_class():
    # YAML 1.1 reads `no` as false, which Python takes for the number 0.
    said = complaint(classes=[False])
    assert said == "classes[0]: False: should be a valid string, or should be a valid integer"


@pytest.mark.parametrize("index", [-1, 10**12])
def test_an_index_that_no_data_set_has_is_named_also_where_only_the_data_know(index):
    data = {"name": "arrays", "path": "mine.npz"}
    said = complaint(data=data, classes=["cat", index])
    assert said.startswith(f"classes[1]: {index}: should be a valid string, or should be ")


def test_a_wrong_class_to_keep_is_named_under_data():
    said = complaint(data={"name": "digits", "classes": ["digit_3", "digt_4"]})
    assert said.startswith("data.classes: no class 'digt_4'; known: ")
    assert said.endswith("; did you mean digit_4?")


def test_wrong_options_are_named_also_where_a_class_is_an_index():
    # The names of the cells, which the sweep asks for, then depend on the options.
    data = {"name": "digits", "per_clas": 3}
    said = complaint(data=data, classes=[3], sweeps=sweep(lr=[0.5]))
    assert said.startswith("data.per_clas: unknown key")


def test_a_class_may_not_be_there_by_name_and_by_index():
    said = complaint(classes=[3, "digit_3"])
    assert said == "classes: two of them, or two fractions, make one cell's name"


def test_a_key_is_text():
    (line,) = complaints({**config(), 1: []})
    assert line == "1: 1: a key should be text"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("~nobody-of-this-name/x.npz", "there is no home folder ~nobody-of-this-name"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_cannot_be_looked_for_is_named(path, said):
    assert complaint(data={"name": "arrays", "path": path}, classes=[1]).endswith(said)
    assert complaints({**config(), "plugins": [path]})[0].endswith(said)


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


def test_a_value_without_a_default_has_no_default_trial(plugins):
    required = ONE_PHASE.replace("Field(1.0,", "Field(")
    add_plugins([write_method(plugins, "required", required)])
    spec = resolve("required", {"strength": [1, 2]}, ("methods", "required"))
    assert spec.default_trial() is None


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


# Cells.


def test_a_cell_may_not_have_the_name_of_a_class_and_fraction():
    said = complaint(cells={"digit_3-50": {"forget": EIGHTS}})
    assert said == "cells.digit_3-50: `classes` and `fractions` make a cell of this name already"


def test_an_unknown_kind_of_forget_set_is_named():
    assert complaint(cells={"c": {"forget": {"kind": "class_par"}}}) == (
        "cells.c.forget.kind: no kind of forget set 'class_par'; known: class_part, "
        "classes_part, files, index_file, random_part, where; "
        "did you mean class_part?"
    )
    assert complaint(cells={"c": {"forget": {}}}).startswith("cells.c.forget.kind: missing; known:")


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ({"digit_1": 0.5, "digit_x": 0.5}, "cells.c.forget.classes: no class 'digit_x'; known:"),
        ({"digit_1": 0.5, 10: 0.5}, "cells.c.forget.classes: no class 10; there are 10, 0 to 9"),
        ({"digit_1": 0.5, 1: 0.5}, "cells.c.forget.classes: class 'digit_1' is listed twice"),
        ({"digit_1": 0.5}, "cells.c.forget.classes: {'digit_1': 0.5}: too few entries"),
        ({"digit_1": 0.5, 2: 1.5}, "cells.c.forget.classes.2: 1.5: should be less than or equal"),
        (["digit_1"], "cells.c.forget.classes: ['digit_1']: should be a mapping"),
    ],
)
def test_classes_of_a_forget_set_are_checked(classes, said):
    forget = {"kind": "classes_part", "classes": classes}
    assert complaint(cells={"c": {"forget": forget}}).startswith(said)


def test_classes_that_only_the_data_knows_are_left_to_the_split():
    forget = {"kind": "classes_part", "classes": {"any": 0.5, "other": 0.1}}
    data = {"name": "arrays", "path": "mine.npz"}
    loaded = load(config(data=data, classes=["any"], cells={"c": {"forget": forget}}))
    (benchmark,) = loaded.benchmarks.values()
    assert benchmark.classes == ("any",)
    assert {*benchmark.cells} == {"c"}


def test_a_list_of_indices_ends_in_a_known_way():
    forget = {"kind": "index_file", "path": "places.csv"}
    assert complaint(cells={"c": {"forget": forget}}).endswith("should end in .txt, .json, .npy")


def test_parameters_of_a_forget_set_are_checked():
    forget = {"kind": "class_part", "clas": "digit_8", "fraction": 2}
    said = complaints(config(cells={"c": {"forget": forget}}))
    assert said == [
        "benchmarks.b.cells.c.forget.class: missing; it has no default",
        "benchmarks.b.cells.c.forget.fraction: 2: should be less than or equal to 1",
        "benchmarks.b.cells.c.forget.clas: unknown key (value 'digit_8'); "
        "allowed: class, fraction, order, split_seed; did you mean class?",
    ]


def test_an_unknown_class_of_a_cell_is_named():
    said = complaint(cells={"c": {"forget": {**EIGHTS, "class": "digit_x"}}})
    assert said.startswith("cells.c.forget.class: no class 'digit_x'; known: digit_0,")


def test_a_cell_sets_parameters_of_the_benchmarks_methods_only():
    cell = {"forget": EIGHTS, "methods": {"rll": {"lr": 1}}}
    assert (
        complaint(cells={"c": cell})
        == "cells.c.methods.rll: not under `methods:`; did you mean rl?"
    )


def test_parameters_for_one_cell_are_checked():
    cell = {"forget": EIGHTS, "methods": {"rl": {"label": "any"}}}
    said = complaint(cells={"c": cell})
    assert said.startswith("cells.c.methods.rl.label: unknown key (value 'any'); allowed: lr,")
    assert said.endswith("; did you mean labels?")


# Sweeps.


def test_a_sweep_of_an_unknown_method_is_named():
    said = complaint(sweeps=sweep("rll", lr=[0.1]))
    assert said == "sweeps.s.method: no method 'rll'; known: ft, rl; did you mean rl?"


def test_a_sweep_of_an_unknown_parameter_is_named():
    said = complaint(sweeps=sweep(epoch=[1, 2]))
    assert said.startswith("sweeps.s.vary.epoch: unknown key (value 1); allowed: lr,")
    assert said.endswith("; did you mean epochs?")


def test_a_wrong_value_of_a_sweep_is_named():
    said = complaint(sweeps=sweep(optimizer=["adam", "adamx"]))
    assert said == (
        "sweeps.s.vary.optimizer: 'adamx' is not allowed; allowed: sgd, adam, adamw; "
        "did you mean adam?"
    )


def test_a_value_of_a_sweep_that_a_cells_own_parameters_do_not_allow_is_named_once():
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.5}
    cells = {f"ones-{i}": {"forget": forget, "methods": {"ft": {"lr": 0.5}}} for i in (1, 2)}
    said = complaint(cells=cells, sweeps=sweep(lr=[0.1, -1]))
    assert said == "sweeps.s.vary.lr: -1: should be greater than or equal to 0"


def test_a_value_of_a_sweep_must_go_with_all_that_tuning_may_choose():
    methods = {"ltd": {"support_by": "example", "k": "auto", "k_each": [5, None]}}
    said = complaint(methods=methods, sweeps=sweep("ltd", search=["exact", "approximate"]))
    assert said == "sweeps.s.vary: search: approximate needs a number, k or k_each"


def test_what_goes_along_with_a_sweep_is_checked_under_its_own_key():
    vary = {"optimizer": ["sgd", "adamw"]}

    def said(**along):
        return complaint(sweeps={"s": {"method": "ft", "vary": vary, "along": along}})

    assert said(lr=[0.1, -1]) == "sweeps.s.along.lr: -1: should be greater than or equal to 0"
    assert said(rate=[0.1, 1]).startswith("sweeps.s.along.rate: unknown key (value 0.1); allowed:")
    assert said(lr=[0.1, 1e6]) == (
        "sweeps.s.along.lr: 1000000.0: not usable in a file's name as '1e+06'"
    )
    assert said(lr=[0.1]) == (
        "sweeps.s: along.lr: [0.1]: should be another parameter with a value for each of the 2 of "
        "optimizer"
    )


def test_a_sweeps_name_must_do_in_a_files_name():
    said = complaint(sweeps={"My Sweep": {"method": "ft", "vary": {"lr": [0.1]}}})
    assert said.startswith("sweeps.My Sweep: not usable as a folder's name; use a-z")


def test_a_tracked_method_must_be_there():
    said = complaint(track=["ft", "rll"])
    assert said == "track[1]: no method 'rll'; known: ft, rl; did you mean rl?"
    assert complaint(track=["ft", "ft"]) == "track: ['ft', 'ft']: a value stands there twice"


def test_all_methods_may_be_tracked_by_one_word():
    said = "track: 'every': should be a list of methods, or all"
    assert complaint(track="every") == said
    assert complaint(track=["ft", 1]).startswith("track[1]: 1: should be a valid string")


def test_a_sweep_over_an_unknown_cell_is_named():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.1]}, "cells": ["digit_3-5"]}}
    assert complaint(sweeps=sweeps) == (
        "sweeps.s.cells[0]: no cell 'digit_3-5'; known: digit_3-50; did you mean digit_3-50?"
    )


def test_a_sweep_varies_one_parameter_over_some_values():
    assert complaint(sweeps=sweep(lr=[])) == "sweeps.s.vary.lr: []: too few entries; at least 1"
    assert complaint(sweeps=sweep(lr=0.1)) == "sweeps.s.vary.lr: 0.1: should be a list"
    assert complaint(sweeps=sweep()) == "sweeps.s.vary: {}: too few entries; at least 1"
    said = complaint(sweeps=sweep(lr=[1], epochs=[1]))
    assert said == "sweeps.s.vary: {'lr': [1], 'epochs': [1]}: too many entries; at most 1"


def test_two_values_of_a_sweep_may_not_make_one_name():
    said = complaint(sweeps=sweep(lr=[0.12345671, 0.12345672]))
    assert said == "sweeps.s.vary.lr: 0.12345671 and 0.12345672 make one run's name"


def test_a_value_of_a_sweep_must_do_in_a_files_name():
    said = complaint(sweeps=sweep(lr=[1e6]))
    assert said == "sweeps.s.vary.lr: 1000000.0: not usable in a file's name as '1e+06'"


# Probes.


def test_what_is_probed_may_be_listed_or_given_values():
    def asked(given):
        return load(config(probe=given)).benchmarks["b"].probe.asked()

    defaults = {"count": 100, "std": 0.03}
    assert asked(["residual", "zrf"]) == {"residual": defaults, "zrf": {}}
    assert asked({"residual": None}) == {"residual": defaults}
    assert asked({"residual": {"std": 0.1}}) == {"residual": {"count": 100, "std": 0.1}}
    assert load(config()).benchmarks["b"].probe is None


def test_what_is_wrong_with_a_probe_is_named():
    assert complaint(probe=["relern"]).startswith("probe.relern: unknown key")
    assert complaint(probe=["zrf", "zrf"]) == "probe: ['zrf', 'zrf']: a value stands there twice"
    assert complaint(probe={"relearn": {"steps": 0}}).startswith("probe.relearn.steps: 0: ")
    for nothing in ([], {}):
        assert complaint(probe=nothing).endswith(
            "nothing is asked: give some of relearn, residual, zrf, or leave it out"
        )
    for strange in ([["zrf"]], [1], 3, "zrf"):
        assert complaint(probe=strange).startswith("probe: ")


# Shadow models.


def test_there_is_no_pool_of_shadow_models_unless_asked_for():
    assert load(config()).benchmarks["b"].shadows is None
    found = load(config(shadows={})).benchmarks["b"].shadows
    assert (found.count, found.share) == (16, 0.5)


def test_shadow_models_are_refused_where_they_would_not_be_as_the_base_or_not_be_used():
    assert complaint(shadows={}, base={"checkpoint": "best_validation"}) == (
        "shadows: `base.checkpoint: best_validation` holds out examples that would count as seen; "
        "leave one of them out"
    )
    weights = {"weights": "base.pt"}
    assert complaint(shadows={}, base=weights) == (
        "shadows: trained as the base is, and beside `base.weights` is no recipe; give "
        "`base.epochs` at least"
    )
    assert load(config(shadows={}, base={**weights, "epochs": 3}))
    given = {"theirs": {"weights": "{cell}-{seed}.pt"}}
    assert complaint(shadows={}, methods={}, given=given) == (
        "shadows: no method would unlearn from them; list `methods`, or leave it out"
    )


def test_a_probe_is_refused_without_retrain():
    assert complaint(probe=["zrf"], retrain="none") == (
        "probe: held against Retrain, and the config says `retrain: none`; leave one of them out"
    )


def test_some_shadow_models_see_an_example_and_some_do_not():
    assert complaint(shadows={"share": 0.1}) == (
        "shadows: share: 0.1: 1 of 16 models would see an example and 15 would not; 3 at least "
        "should do either"
    )
    assert "13 of 14" in complaint(shadows={"count": 14, "share": 0.95})
    assert load(config(shadows={"count": 6}))
    assert complaint(shadows={"count": 5}).startswith("shadows.count: 5: ")
    assert complaint(shadows={"share": 1}).startswith("shadows.share: 1: ")


# Support sizes.

LTD = {"ltd": {}, "mine": {"uses": "ltd"}, "ft": {}}


def sizes_complaint(**given) -> str:
    return complaint(methods=LTD, support_size={"k": [20, 50], **given})


def test_support_sizes_are_of_ltd_unless_another_configuration_is_named():
    found = load(config(methods=LTD, support_size={"k": [20, 50]})).benchmarks["b"].support_size
    assert (found.method, found.k, found.cells) == ("ltd", (20, 50), None)
    assert load(config(methods=LTD, support_size={"method": "mine", "k": [20, 50]}))


def test_support_sizes_increase():
    assert sizes_complaint(k=[20, 50, 50]) == (
        "support_size.k: [20, 50, 50]: should increase, but 50 follows 50"
    )
    assert sizes_complaint(k=[50, 20]) == (
        "support_size.k: [50, 20]: should increase, but 20 follows 50"
    )


def test_support_sizes_are_two_whole_numbers_at_least():
    assert sizes_complaint(k=[20]) == "support_size.k: [20]: too few entries; at least 2"
    assert sizes_complaint(k=20) == "support_size.k: 20: should be a list"
    for wrong in (0, True, "auto", 2.5):
        assert sizes_complaint(k=[wrong, 20]).startswith(f"support_size.k[0]: {wrong!r}: should be")


def test_an_unknown_key_beside_support_sizes_is_named():
    said = sizes_complaint(cell=["digit_3-50"])
    assert said.startswith("support_size.cell: unknown key")
    assert said.endswith("allowed: method, k, cells; did you mean cells?")


def test_support_sizes_of_an_unknown_method_are_named():
    assert sizes_complaint(method="ldt") == (
        "support_size.method: no method 'ldt'; known: ltd, mine, ft; did you mean ltd?"
    )


def test_support_sizes_of_a_method_without_a_teacher_are_named():
    assert sizes_complaint(method="ft") == (
        "support_size.method: 'ft' is ft, which has no teacher; only ltd has"
    )


def test_support_sizes_in_an_unknown_cell_are_named():
    assert sizes_complaint(cells=["digit_3-5"]) == (
        "support_size.cells[0]: no cell 'digit_3-5'; known: digit_3-50; did you mean digit_3-50?"
    )


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


# Plug-ins.


@pytest.fixture
def plugins(tmp_path):
    with forgotten_after():
        yield write_method(tmp_path / "plugins", "mine")


def with_plugins(folder, **changes):
    return {**config(**changes), "plugins": [str(folder)]}


def test_a_folder_of_plug_ins_is_named_in_one_line():
    assert complaints(with_plugins("a\x00\n")) == ["plugins: 'a\\x00\\n': there is no such folder"]


def test_a_folder_of_plug_ins_that_is_not_there_is_named(tmp_path):
    folder = tmp_path / "nowhere"
    assert complaints(with_plugins(folder)) == [f"plugins: '{folder}': there is no such folder"]


def test_a_plug_in_is_found_and_runs_in_every_cell(plugins):
    methods = {"mine": {"strength": [1, 2]}, "other": {"uses": "mine", "kind": "hard"}}
    cell = build_grid(load(with_plugins(plugins, methods=methods)))["b"].cells["digit_3-50"]
    assert list(cell.runs) == ["mine", "other", "original"]
    assert [run.label for run in cell.runs.values()] == ["Mine", "Mine (other)", "Original"]
    assert list(cell.tuned) == ["mine"]
    assert cell.runs["other"].params.kind == "hard"


def test_parameters_of_a_plug_in_are_checked(plugins):
    (line,) = complaints(with_plugins(plugins, methods={"mine": {"strenght": 1}}))
    assert line == (
        "benchmarks.b.methods.mine.strenght: unknown key (value 1); allowed: strength, kind; "
        "did you mean strength?"
    )


def test_all_plug_ins_with_a_name_that_is_taken_are_named(plugins):
    write_method(plugins, "ft")
    write_method(plugins, "original")
    assert complaints(with_plugins(plugins)) == [
        f"plugins: '{plugins / 'ft'}': a method of the package has this name",
        f"plugins: '{plugins / 'original'}': a control of the package has this name",
    ]


def test_an_empty_folder_of_plug_ins_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "hollow/methods/mine").mkdir(parents=True)
    expected = "methods/, data/, forget/, models/, findings/ or folders with a params.py"
    for folder in (tmp_path / "empty", tmp_path / "hollow"):
        (line,) = complaints(with_plugins(folder))
        assert line == f"plugins: '{folder}': no plug-in in it; expected {expected}"


def test_a_folder_that_lacks_what_makes_it_a_method_is_named(plugins):
    (plugins / "hollow").mkdir()
    (line,) = complaints(with_plugins(plugins, methods={"hollow": {}}))
    assert line.startswith("benchmarks.b.methods.hollow: no method 'hollow'; known: ")
    assert line.endswith(f"; '{plugins / 'hollow'}' has no params.py")


BROKEN = {
    "a syntax error": (ONE_PHASE + "class ???", "line 11: SyntaxError: invalid syntax"),
    "an error": ("\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
    "an import": ("import nothing_of_this_name", "line 1: ModuleNotFoundError: No module named"),
    "a null byte": ("\x00", "null bytes"),
    "a bad field": (ONE_PHASE.replace("ge=0", "ge='x'"), "Error: "),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_parameters_of_a_plug_in_that_cannot_be_imported_are_named_in_one_line(tmp_path, broken):
    params, said = BROKEN[broken]
    with forgotten_after():
        folder = write_method(tmp_path, "broken", params)
        (line,) = complaints(with_plugins(folder, methods={"ft": {}, "mine": {"uses": "broken"}}))
    assert line.startswith("plugins: ")
    assert said in line


def test_parameters_of_a_plug_in_that_no_benchmark_uses_may_be_broken(plugins):
    write_method(plugins, "draft", "class ???")
    assert load(with_plugins(plugins, methods={"mine": {}}))


@pytest.mark.parametrize(
    ("params", "lacking"),
    [
        ("", "Params"),
        (ONE_PHASE.replace("class Params", "class Parms"), "Params"),
        (ONE_PHASE.replace("label: ", "name: "), "Params.label"),
        (ONE_PHASE.replace("touches: ", "reads: "), "Params.touches"),
    ],
)
def test_a_plug_in_without_what_every_method_has_is_named(tmp_path, params, lacking):
    with forgotten_after():
        folder = write_method(tmp_path, "bare", params)
        (line,) = complaints(with_plugins(folder, methods={"bare": {}}))
    place = folder / "bare/params.py"
    assert line == f"plugins: '{place}': has no {lacking}, which every method has"


@pytest.mark.parametrize(
    ("file", "key", "value", "said"),
    [
        ("data/own.py", "data", {"name": "own"}, "has no INFO, which every data set has"),
        (
            "forget/own.py",
            "cells",
            {"c": {"forget": {"kind": "own"}}},
            "has no Params, which every",
        ),
        ("findings/own/__init__.py", "track", [], None),
    ],
)
def test_plug_ins_of_other_kinds_are_looked_at_too(tmp_path, file, key, value, said):
    with forgotten_after():
        folder = write_files(tmp_path / "a", {file: ""})
        raw = with_plugins(folder, **{key: value})
        if said is None:
            assert load(raw)
        else:
            assert said in complaints(raw)[0]
    with forgotten_after():
        folder = write_files(tmp_path / "b", {file.replace("own", "other"): "1 / 0"})
        raw = json.loads(
            json.dumps(with_plugins(folder, **{key: value})).replace('"own"', '"other"')
        )
        assert complaints(raw)[0].endswith("line 1: ZeroDivisionError: division by zero")


def test_a_plug_in_is_unknown_where_its_folder_is_not_named(plugins):
    assert complaint(methods={"mine": {}}).startswith("methods.mine: no method 'mine'; known: ")


def test_plug_ins_of_one_test_are_unknown_in_the_next():
    assert "mine" not in METHOD.names()
