import json
from argparse import ArgumentParser

import numpy as np
import pytest

from collateral.core.dataset import Labels
from collateral.core.split import Split
from collateral.data.forget.class_part import Params, select
from collateral.data.lookup import FORGET, module_of
from collateral.stages import split

# 101 cats, at the even places below 200 and at 201, and 101 dogs.
TRAIN = np.array([0, 1] * 100 + [1, 0])
LABELS = Labels(TRAIN, np.array([0, 1]), ("cat", "dog"))

# Parameters of every kind that fit LABELS.
SETTINGS = {
    "class_part": [
        {"class": "cat", "fraction": 0.5},
        {"class": 1, "fraction": 0.01},
        {"class": "dog", "fraction": 1},
        {"class": "cat", "fraction": 0.9, "order": "random", "split_seed": 3},
    ],
}
CASES = [(kind, params) for kind in FORGET.names() for params in SETTINGS[kind]]


def part(**values):
    return select(LABELS, Params.model_validate(values)).tolist()


def run_stage(folder, kind, params, labels=LABELS):
    labels.save(folder / "labels.npz")
    parser = ArgumentParser()
    split.add_arguments(parser)
    paths = ["--labels", str(folder / "labels.npz"), "--out", str(folder / "split.json")]
    split.run(parser.parse_args([*paths, "--kind", kind, "--params", json.dumps(params)]))
    return Split.load(folder / "split.json")


def test_every_kind_on_disk_has_settings_here():
    assert set(FORGET.names()) == set(SETTINGS) == {"class_part"}


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_indices_exist_ascend_and_are_the_same_again(kind, params):
    module = module_of(FORGET, kind)
    chosen = module.select(LABELS, module.Params.model_validate(params))
    again = module.select(LABELS, module.Params.model_validate(params))
    assert chosen.dtype == np.int64
    assert 0 < len(chosen) < len(TRAIN)
    assert (np.diff(chosen) > 0).all()
    assert chosen[0] >= 0
    assert chosen[-1] < len(TRAIN)
    assert chosen.tolist() == again.tolist()


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_the_split_file_says_what_was_chosen(tmp_path, kind, params):
    written = run_stage(tmp_path, kind, params)
    module = module_of(FORGET, kind)
    given = module.Params.model_validate(params)
    assert written.forget.tolist() == module.select(LABELS, given).tolist()
    assert written.num_train == len(TRAIN)
    assert set(written.affected) == set(TRAIN[written.forget])
    assert written.chosen == {"kind": kind, **module.chosen(LABELS, given)}


def test_a_part_of_a_class_is_its_first_examples_in_data_set_order():
    assert part(**{"class": "cat"}, fraction=0.05) == [0, 2, 4, 6, 8]


def test_the_share_is_rounded_down():
    assert len(part(**{"class": "dog"}, fraction=0.999)) == 100  # of 101: 100.899


def test_the_share_is_that_of_the_decimal_which_the_user_wrote():
    labels = Labels(np.array([0] * 100 + [1]), np.array([0]), ("cat", "dog"))
    assert int(100 * 0.29) == 28  # what binary fractions make of it
    assert len(select(labels, Params.model_validate({"class": 0, "fraction": 0.29}))) == 29


def test_the_papers_sizes_come_out():
    labels = Labels(np.repeat([0, 1], [500, 4659]), np.array([0]), ("couch", "digit_9"))
    sizes = [
        len(select(labels, Params.model_validate({"class": name, "fraction": fraction})))
        for name in labels.class_names
        for fraction in (0.5, 0.9)
    ]
    assert sizes == [250, 450, 2329, 4193]


def test_random_parts_depend_on_the_split_seed_only():
    first, second, third = (
        part(**{"class": "cat"}, fraction=0.5, order="random", split_seed=seed)
        for seed in (0, 1, 0)
    )
    assert first == third
    assert first != second
    assert first != part(**{"class": "cat"}, fraction=0.5)
    assert set(TRAIN[first]) == {0}


def test_a_smaller_random_part_lies_in_a_larger_one():
    small, large = (part(**{"class": "cat"}, fraction=f, order="random") for f in (0.2, 0.6))
    assert set(small) < set(large)


def test_a_class_given_by_index_is_recorded_by_name(tmp_path):
    written = run_stage(tmp_path, "class_part", {"class": 1, "fraction": 0.5})
    assert written.chosen == {
        "kind": "class_part",
        "class": "dog",
        "fraction": 0.5,
        "order": "first",
    }


def test_the_split_seed_is_recorded_where_it_was_used(tmp_path):
    params = {"class": "dog", "fraction": 0.5, "order": "random", "split_seed": 7}
    assert run_stage(tmp_path, "class_part", params).chosen == {"kind": "class_part", **params}


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("class_prat", {}, r"no kind of forget set 'class_prat'; .*did you mean class_part\?"),
        ("class_part", {"class": "cta", "fraction": 0.5}, r"class: no class 'cta'.*mean cat\?"),
        ("class_part", {"class": 2, "fraction": 0.5}, r"class: no class 2; there are 2, 0 to 1"),
        ("class_part", {"class": True, "fraction": 0.5}, "class"),
        ("class_part", {"class": "cat", "fraction": 0}, "fraction"),
        ("class_part", {"class": "cat", "fraction": 1.1}, "fraction"),
        ("class_part", {"class": "cat", "fraction": float("nan")}, "fraction"),
        ("class_part", {"class": "cat", "fraction": 0.009}, r"fraction: 0.009 of the 101 .*'cat'"),
        ("class_part", {"class": "cat", "fraction": 0.5, "order": "last"}, "order"),
        ("class_part", {"class": "cat", "fractoin": 0.5}, "fractoin"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(tmp_path, kind, params, message):
    with pytest.raises(ValueError, match=message):
        run_stage(tmp_path, kind, params)
    assert [path.name for path in tmp_path.iterdir()] == ["labels.npz"]


def test_a_forget_set_that_leaves_nothing_is_refused(tmp_path):
    only_cats = Labels(np.zeros(4, dtype=np.int64), np.array([0]), ("cat", "dog"))
    with pytest.raises(ValueError, match="all 4 train examples, none is retained"):
        run_stage(tmp_path, "class_part", {"class": "cat", "fraction": 1}, only_cats)
    assert not (tmp_path / "split.json").exists()
