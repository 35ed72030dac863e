"""CIFAR-20: the superclasses of CIFAR-100, and the forgotten class of one of them."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from tiny_sets import TINY_LABELS, write_cifar100

from collateral.data import cifar100
from collateral.data._metadata import find_class_names, find_size
from collateral.data.forget import where

REAL = os.environ.get("COLLATERAL_DATA")
# Classes that papers forget, with their superclass.
CUSTOMARY = {
    "rocket": "vehicles_2",
    "mushroom": "fruit_and_vegetables",
    "baby": "people",
    "lamp": "household_electrical_devices",
    "sea": "large_natural_outdoor_scenes",
}


def coarse(**more):
    return cifar100.Options(label="coarse", **more)


def test_every_superclass_has_five_classes():
    assert np.bincount(cifar100.COARSE).tolist() == [5] * 20
    assert len({*cifar100.COARSE_NAMES}) == 20


@pytest.mark.parametrize("name", CUSTOMARY)
def test_classes_that_papers_forget_are_in_their_superclass(name):
    index = cifar100.COARSE[cifar100.CLASS_NAMES.index(name)]
    assert cifar100.COARSE_NAMES[index] == CUSTOMARY[name]


def test_superclasses_are_the_classes(tmp_path, monkeypatch):
    given = coarse(**write_cifar100(tmp_path, monkeypatch))
    labels = cifar100.load(given).labels
    assert labels.class_names == find_class_names("cifar100", given) == cifar100.COARSE_NAMES
    names = [cifar100.CLASS_NAMES[label] for label in TINY_LABELS["train"]]
    assert labels.columns["fine"].tolist() == names
    # apple, aquarium_fish, baby, bear, beaver, ... are of the superclasses 4, 1, 14, 8, 0, ...
    assert labels.train.tolist() == [8, 4, 1, 3, 8, 14]
    assert labels.test.tolist() == [3, 8, 4]
    assert labels.test_columns["fine"].tolist() == ["bottle", "bear", "apple"]


def test_with_fine_labels_the_superclass_is_a_column(tmp_path, monkeypatch):
    labels = cifar100.load(cifar100.Options(**write_cifar100(tmp_path, monkeypatch))).labels
    assert labels.train.tolist() == TINY_LABELS["train"].tolist()
    assert labels.columns["coarse"][1] == "fruit_and_vegetables"


@pytest.mark.parametrize("name", CUSTOMARY)
def test_a_class_to_forget_is_counted_before_any_file_is_there(tmp_path, name):
    size = find_size("cifar100", coarse(root=tmp_path))
    assert (size.num_classes, size.num_train, size.num_examples) == (20, 50_000, 60_000)
    params = where.Params.model_validate({"column": "fine", "is": name})
    assert where.count(size, params) == 500
    with pytest.raises(ValueError, match="no value 'rokket' in column fine"):
        where.count(size, where.Params.model_validate({"column": "fine", "is": "rokket"}))


def test_a_class_to_forget_is_counted_among_the_superclasses_that_stay(tmp_path):
    size = find_size("cifar100", coarse(root=tmp_path, classes=("people", "vehicles_2")))
    assert {*size.columns()["fine"]} == {
        *("baby", "boy", "girl", "man", "woman"),
        *("lawn_mower", "rocket", "streetcar", "tank", "tractor"),
    }


@pytest.mark.skipif(REAL is None, reason="COLLATERAL_DATA names no folder with CIFAR-100")
@pytest.mark.parametrize("part", ["train", "test"])
def test_superclasses_are_those_of_the_official_files(part):
    with (Path(REAL) / "cifar-100-python" / part).open("rb") as file:
        content = pickle.load(file, encoding="latin1")
    with (Path(REAL) / "cifar-100-python" / "meta").open("rb") as file:
        names = pickle.load(file, encoding="latin1")["coarse_label_names"]
    labels = cifar100.load(coarse(root=REAL, download=False)).labels
    assert getattr(labels, part).tolist() == content["coarse_labels"]
    assert tuple(names) == cifar100.COARSE_NAMES
