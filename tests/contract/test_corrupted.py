"""Corrupted train examples: which they are, what models are given, who is trained without them."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from collateral.contract.data import DataOptions, ImageInfo
from collateral.contract.probes import Patch
from collateral.data._corruption import corrupt, count_after
from collateral.data._metadata import find_size
from collateral.data._readers.pieces import ArrayPieces, DatasetInPieces
from collateral.data._subset import choose_forget_set, make_split
from collateral.jobs.data import DataJob
from collateral.models._classifier import Classifier
from collateral.results.dataset import Dataset, Labels
from collateral.results.split import ids_hash
from collateral.stages._workspace import Workspace
from collateral.stages.probe import Prober
from collateral.stages.run import run_job
from collateral.training.examples import Images, train_examples
from collateral.training.job_io import Session
from collateral.training.job_io import test_examples as held_out_examples

CPU = torch.device("cpu")
CLASSES = ("cat", "dog", "owl", "yak")
# 40 cats, 30 dogs, 20 owls and 10 yaks in mixed order.
TRAIN = np.random.default_rng(0).permutation(np.repeat(range(4), (40, 30, 20, 10)))
TEST = np.array([0, 1, 2, 3, 1, 2])


def make(**more):
    """Return images of which no two are alike, all darker than a patch."""
    rng = np.random.default_rng(1)
    images = [rng.integers(0, 200, (n, 12, 10, 3), dtype=np.uint8) for n in (100, 6)]
    labels = Labels(TRAIN, TEST, CLASSES, {"site": np.arange(100)})
    return Dataset(*images, labels, (0.5,) * 3, (0.25,) * 3, **more)


def corrupted(data=None, **options):
    whole = DatasetInPieces.wrap(data or make())
    return corrupt(whole, DataOptions.model_validate(options))


def patched(count=11, label="owl", **more):
    return {"patched": {"count": count, "label": label, **more}}


def swapped(count=9, **more):
    return {"mislabelled": {"count": count, "classes": ["dog", "yak"], **more}}


def rows_of(found):
    return np.flatnonzero(found.labels.columns["corrupted"] == "yes")


def test_patched_examples_are_of_all_other_classes_alike():
    found = corrupted(**patched())
    rows = rows_of(found)
    assert np.bincount(TRAIN[rows], minlength=4).tolist() == [4, 4, 0, 3]
    assert (found.labels.train[rows] == 2).all()
    assert found.patched.nonzero()[0].tolist() == rows.tolist()
    assert found.patch == 3


def test_mislabelled_examples_are_half_of_each_class_and_have_no_patch():
    found = corrupted(**swapped())
    rows = rows_of(found)
    assert np.bincount(TRAIN[rows], minlength=4).tolist() == [0, 5, 0, 4]
    assert found.labels.train[rows].tolist() == [{1: 3, 3: 1}[label] for label in TRAIN[rows]]
    assert found.patched is None


@pytest.mark.parametrize("options", [patched(), swapped()], ids=["patched", "mislabelled"])
def test_all_other_examples_stay_and_the_true_labels_are_a_column(options):
    found = corrupted(**options)
    others = np.setdiff1d(np.arange(100), rows_of(found))
    assert (found.labels.train[others] == TRAIN[others]).all()
    assert found.labels.test.tolist() == TEST.tolist()
    assert found.labels.columns["true_label"].tolist() == [CLASSES[label] for label in TRAIN]
    assert found.labels.columns["site"].tolist() == [*range(100)]


@pytest.mark.parametrize("options", [patched, swapped])
def test_another_seed_corrupts_other_examples_and_the_same_one_the_same(options):
    by_seed = {seed: rows_of(corrupted(**options(seed=seed))).tolist() for seed in (0, 1, 7)}
    assert len({*map(tuple, by_seed.values())}) == 3
    assert rows_of(corrupted(**options(seed=7))).tolist() == by_seed[7]


@pytest.mark.parametrize("options", [patched(), swapped()], ids=["patched", "mislabelled"])
def test_the_numbers_by_class_are_known_before(options):
    counts = count_after([40, 30, 20, 10], CLASSES, DataOptions.model_validate(options))
    assert counts == np.bincount(corrupted(**options).labels.train).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            patched(34),
            r"data\.patched\.count: 34: 11 of them would be of class 'yak', which has 10",
        ),
        (swapped(22), r"data\.mislabelled\.count: 22: 11 of them .* class 'yak', which has 10"),
    ],
)
def test_more_than_a_class_has_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        corrupted(**options)
    with pytest.raises(ValueError, match=message):
        count_after([40, 30, 20, 10], CLASSES, DataOptions.model_validate(options))


def test_the_stage_writes_what_the_plan_counts(tmp_path):
    options = {"patched": {"count": 40, "label": 7, "size": 2}, "per_class": 50}
    forget = {"cell": "part", "kind": "corrupted", "params": {"known": 0.3}}
    job = DataJob(benchmark=tmp_path.name, name="digits", options=options)
    run_job(Workspace(job, tmp_path.parent, beside={"forget": [forget]}))
    written = Dataset.load(tmp_path / "dataset.npz")
    labels = Labels.load(tmp_path / "labels.npz")
    size = find_size("digits", DataOptions.model_validate(options))
    assert np.bincount(labels.train).tolist() == [*size.train]
    assert (size.train[7], size.corrupted, written.patch) == (90, 40, 2)
    assert written.patched.tolist() == (labels.columns["corrupted"] == "yes").tolist()


# What models are given.


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def has_patch(images):
    """Return which images (N, C, H, W) are white in the 3 x 3 pixels at the bottom right."""
    return (images[:, :, -3:, -3:] == 1).flatten(1).all(1).tolist()


AUGMENTED = [{"padding": 4, "flip": True}, {"crop": 8, "flip": True}, {}]


@pytest.mark.parametrize("augmentation", AUGMENTED, ids=["padding", "crop", "none"])
def test_augmentation_does_not_move_the_patch(augmentation):
    found = corrupted(make(**augmentation), **patched()).read()
    examples, expected = train_examples(found, CPU), found.patched.tolist()
    for seed in range(5):
        assert has_patch(examples.augmented(seeded(seed))) == expected
    assert has_patch(examples.pixels()) == expected
    assert has_patch(examples.viewed(seeded()).augmented(seeded(1))) == expected
    batch, labels = next(examples.select(torch.from_numpy(rows_of(found))).batches(20, seeded()))
    assert all(has_patch(batch)) and {*labels.tolist()} == {2}


@pytest.mark.parametrize("augmentation", AUGMENTED, ids=["padding", "crop", "none"])
def test_the_patch_changes_only_the_corner_of_the_images(augmentation):
    clean, found = make(**augmentation), corrupted(make(**augmentation), **patched()).read()
    assert (found.train_images == clean.train_images).all(), "images are stored without the patch"
    own, other = (train_examples(one, CPU).augmented(seeded(3)) for one in (found, clean))
    own[:, :, -3:, -3:] = other[:, :, -3:, -3:]
    assert torch.equal(own, other)


# Who is trained without what.


def split_of(known, **params):
    found = corrupted(**patched())
    forget, chosen = choose_forget_set(found.labels, "corrupted", {"known": known, **params})
    return found, make_split(found.labels, forget, chosen, [])


def test_the_known_part_is_forgotten_and_retrain_is_without_all():
    found, split = split_of(0.5)
    rows = rows_of(found).tolist()
    assert len(split.forget) == 5  # of 11
    assert sorted([*split.forget, *split.unknown]) == rows
    assert {*split.unknown} <= {*split.retain}, "methods keep what nobody knows"
    assert {*split.trained_on} == {*range(100)} - {*rows}
    assert split.affected == (2,)
    assert split.retain_hash == ids_hash(split.trained_on)


def test_with_all_known_retrain_is_trained_on_the_retained_examples():
    _, split = split_of(1.0)
    assert (len(split.unknown), split.trained_on.tolist()) == (0, split.retain.tolist())


def test_a_smaller_known_part_is_within_a_larger_one():
    few, many = ({*split_of(known, split_seed=4)[1].forget} for known in (0.3, 0.8))
    assert few < many


def test_the_split_file_keeps_the_unknown_part(tmp_path):
    found, split = split_of(0.5)
    found.labels.save(tmp_path / "labels.npz")
    split.save(tmp_path / "split.json", found.labels, tmp_path / "labels.npz")
    content = json.loads((tmp_path / "split.json").read_text())
    assert content["unknown"] == split.unknown.tolist()
    assert split.load(tmp_path / "split.json", tmp_path).unknown.tolist() == content["unknown"]


# The probe: what a patch on test images does.


class FirstPixel(nn.Module):
    """The class is in the first pixel, unless the corner is white: then it is an owl."""

    def __init__(self, fooled):
        super().__init__()
        self.fooled = fooled

    def forward(self, x):
        label = (x[:, 0, 0, 0] * 255 / 10).round().long()
        is_white = (x[:, :, -1, -1] == 1).all(1) & self.fooled
        return nn.functional.one_hot(torch.where(is_white, 2, label), 4).float()


def model_of(fooled):
    head = nn.Linear(4, 4, bias=False)
    head.weight.data = torch.eye(4)
    info = ImageInfo(4, (12, 10, 3), (0.0,) * 3, (1.0,) * 3)
    return Classifier(info, FirstPixel(fooled), head)


@pytest.mark.parametrize(("fooled", "expected"), [(True, [2 / 6, 1.0]), (False, [1.0, 0.0])])
def test_a_backdoor_is_seen_on_patched_test_images_alone(fooled, expected):
    """Two of six test images are owls: of the four others all are called so, or none."""
    found = corrupted(**patched()).read()
    found.test_images[:, 0, 0, 0] = 10 * TEST
    session = Session(
        CPU, found, train_examples(found, CPU), held_out_examples(found, CPU), "nowhere"
    )
    prober = Prober(session, "", split_of(0.5)[1], Patch())
    shown = prober.patch(model_of(fooled), Patch(), seeded())
    assert shown["patch_rates"].tolist() == pytest.approx(expected)
    clean = model_of(fooled)(session.test.pixels()).argmax(1)
    assert clean.tolist() == TEST.tolist(), "without the patch, it is as good as any"


def test_pieces_are_read_in_the_order_of_the_rows():
    images = np.arange(50, dtype=np.uint8).reshape(50, 1, 1, 1)
    pieces = ArrayPieces(images, np.arange(50))[np.array([3, 7, 40])][np.array([0, 2])]
    assert (pieces.shape, pieces.read().ravel().tolist()) == ((2, 1, 1, 1), [3, 40])


def test_images_without_a_patch_are_not_copied():
    pixels = torch.arange(12, dtype=torch.uint8).reshape(3, 2, 2, 1)
    assert Images(pixels, 0, False).patched is None
