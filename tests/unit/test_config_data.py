"""Data sets, classes and cells in a config: what is said when they are wrong."""

import pytest
from small_config import EIGHTS, complaint, complaints, config, sweep

from collateral.config.load import load

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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"split": "letters"}, "`split` is of EMNIST alone, not of CIFAR10; leave it out"),
        ({"split": "balanced"}, "`split` is of EMNIST alone, not of CIFAR10; leave it out"),
        ({"test_share": 0.2}, "`test_share`: CIFAR10 has a test part; leave it out"),
        ({"test_seed": 3}, "`test_seed`: CIFAR10 has a test part; leave it out"),
    ],
)
def test_an_option_of_another_set_of_torchvision_is_named(given, said):
    data = {"name": "torchvision", "dataset": "CIFAR10"}
    assert complaint(data={**data, **given}) == f"data: {said}"


def test_false_is_no_class():
    # Python takes it for the number 0.
    said = complaint(classes=[False])
    assert said == (
        "classes[0]: False: should be a name or an index; true and false are not text: "
        "put such a name in quotes"
    )


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"cells": {True: {"forget": {"kind": "random_part", "fraction": 0.1}}}}, "cells.True"),
        ({"methods": {"ft": {}, True: {"uses": "ft"}}}, "methods.True"),
        ({"model": True}, "model"),
        (
            {"cells": {"a": {"forget": {"kind": "classes_part", "classes": {True: 1, "x": 1}}}}},
            "cells.a.forget.classes.True",
        ),
    ],
)
def test_true_is_no_name(given, key):
    hint = "true and false are not text: put such a name in quotes"
    assert complaint(**given) == f"{key}: True: should be a valid string; {hint}"


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
