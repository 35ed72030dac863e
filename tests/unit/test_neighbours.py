"""The stage that finds out how near every example is, and what it keeps to be shown."""

from dataclasses import fields, replace
from pathlib import Path

import drive
import numpy as np
import pytest
from sealing import seal

from collateral.jobs.neighbours import NeighboursJob
from collateral.metrics.copies import EXACT
from collateral.results.dataset import Dataset, Labels, Neighbours
from collateral.results.outputs import Embeddings
from collateral.results.split import Split
from collateral.stages import neighbours as stage

# Angles of the training features to the axis, in degrees; the second and third are forgotten,
# one on each side of the axis, so that the axis is the direction of the forget set.
TRAIN = [90.0, 10.0, -10.0, 60.0, 0.0]
TEST = [60.0, 90.0, 0.0]
LABELS = Labels(np.array([0, 1, 1, 0, 1]), np.array([0, 0, 1]), ("a", "b"))
SPLIT = Split(np.array([1, 2]), 5, (1,), {})


def features(angles: list[float]) -> np.ndarray:
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def write_inputs(folder: Path, train: list[list[float]], split: Split = SPLIT) -> Path:
    """Write a data set whose images are their own index, a split, and features by seed."""
    images = np.arange(8, dtype=np.uint8).reshape(8, 1, 1, 1)
    Dataset(images[:5], images[5:], LABELS, (0.5,), (0.5,)).save(folder / "dataset.npz")
    LABELS.save(folder / "labels.npz")
    split.save(folder / "cell/split.json", LABELS, folder / "labels.npz")
    paths = [folder / f"base/seed-{seed}" / "embeddings.npz" for seed in range(len(train))]
    for path, angles in zip(paths, train, strict=True):
        Embeddings(features(angles), features(TEST)).save(path)
    seal(folder)
    return folder


def run_stage(folder: Path, *seeds: int) -> None:
    """Run the stage; the base model of a seed is called by the seed's place."""
    bases = range(len([*folder.glob("base/*")]))
    drive.run_stage(NeighboursJob, folder, cell="cell", seeds=seeds, base_seeds=bases)


def test_similarities_are_the_cosines_to_the_forget_set_by_seed(tmp_path):
    run_stage(write_inputs(tmp_path, [TRAIN, [0.0, 20.0, -20.0, 90.0, 60.0]]), 3, 7)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    near, far = np.cos(np.radians([10, 20]))
    assert found.seeds.tolist() == [3, 7]
    # cos 60 is a half; float32.
    expected = np.array([[0, near, near, 0.5, 1], [1, far, far, 0, 0.5]])
    assert found.train_similarity == pytest.approx(expected, abs=1e-6)
    assert found.test_similarity == pytest.approx(np.array([[0.5, 0, 1]] * 2), abs=1e-6)


def test_the_similarity_of_a_class_is_that_of_its_mean_features(tmp_path):
    run_stage(write_inputs(tmp_path, [TRAIN]), 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    # The first class lies at 90 and 60 degrees, its mean at 75; the other around the axis.
    expected = np.array([[np.cos(np.radians(75)), 1]])
    assert found.class_similarity == pytest.approx(expected, abs=1e-6)  # float32


def test_the_nearest_are_listed_first(tmp_path):
    run_stage(write_inputs(tmp_path, [TRAIN]), 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    sets, indices = found.shown_set.tolist(), found.shown_index.tolist()
    assert sets == ["train"] * 3 + ["test"] * 3 + ["forget"] * 2
    assert indices[:6] == [4, 3, 0, 2, 0, 1]
    assert sorted(indices[6:]) == [1, 2]
    assert found.image_size.tolist() == [1, 1]


def test_each_shown_example_has_the_forgotten_one_that_is_nearest_to_it(tmp_path):
    run_stage(write_inputs(tmp_path, [TRAIN]), 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    nearest = dict(
        zip(found.shown_index[:6], found.shown_index[found.shown_nearest[:6]], strict=True)
    )
    # At 60 and 90 degrees it is the one at 10, not at -10.
    assert [nearest[index] for index in (3, 0)] == [1, 1]
    assert found.shown_nearest[6:].tolist() == [6, 7]


def test_copies_of_forgotten_images_are_named(tmp_path):
    words = write_inputs(tmp_path, [TRAIN])
    images = np.array([4, 1, 2, 1, 1], np.uint8).reshape(5, 1, 1, 1)
    Dataset(images, images[:3], LABELS, (0.5,), (0.5,)).save(tmp_path / "dataset.npz")
    seal(tmp_path)
    run_stage(words, 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz").copies
    assert found.tolist() == [[1, 3, EXACT], [1, 4, EXACT]]


def test_neighbours_of_which_nobody_looked_for_copies_are_read(tmp_path):
    run_stage(write_inputs(tmp_path, [TRAIN]), 0)
    path = tmp_path / "cell/neighbours.npz"
    replace(Neighbours.load(path), copies=None).save(path)
    assert Neighbours.load(path).copies is None


def test_with_several_classes_the_nearest_one_counts(tmp_path):
    # One example of each class is forgotten, at 90 and at 10 degrees.
    both = Split(np.array([0, 1]), 5, (0, 1), {})
    run_stage(write_inputs(tmp_path, [TRAIN], both), 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    cosines = np.cos(np.radians([0, 0, 20, 30, 10]))
    assert found.train_similarity == pytest.approx(cosines[None], abs=1e-6)  # float32
    # The mean of the first class is at 75 degrees, that of the second at 0.
    classes = np.cos(np.radians([15, 10]))
    assert found.class_similarity == pytest.approx(classes[None], abs=1e-6)


def test_several_classes_take_turns_in_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "NUM_SHOWN", {"train": 2, "test": 3, "forget": 2})
    both = Split(np.array([0, 1]), 5, (0, 1), {})
    run_stage(write_inputs(tmp_path, [TRAIN], both), 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    # The nearest to 90 degrees is at 60, the nearest to 10 at 0; each is shown once.
    assert found.shown_index[found.shown_set == "train"].tolist() == [3, 4]
    assert found.shown_index[found.shown_set == "forget"].tolist() == [0, 1]
    assert sorted(found.shown_index[found.shown_set == "test"].tolist()) == [0, 1, 2]


def test_only_so_many_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "NUM_SHOWN", {"train": 2, "test": 1, "forget": 1})
    run_stage(write_inputs(tmp_path, [TRAIN]), 0)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    assert found.shown_set.tolist() == ["train", "train", "test", "forget"]


def test_what_is_shown_is_nearest_in_the_mean_over_seeds(tmp_path):
    # The last is nearest of all in the first seed, the fourth in the mean.
    run_stage(write_inputs(tmp_path, [TRAIN, [90.0, 10.0, -10.0, 0.0, 90.0]]), 0, 1)
    found = Neighbours.load(tmp_path / "cell/neighbours.npz")
    assert found.shown_index[0] == 3


def test_neighbours_are_read_as_they_were_written(tmp_path):
    run_stage(write_inputs(tmp_path, [TRAIN]), 0)
    first = Neighbours.load(tmp_path / "cell/neighbours.npz")
    first.save(tmp_path / "again.npz")
    again = Neighbours.load(tmp_path / "again.npz")
    for field in fields(Neighbours):
        assert np.array_equal(getattr(first, field.name), getattr(again, field.name))
    assert (tmp_path / "cell/neighbours.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_a_seed_without_embeddings_is_refused(tmp_path):
    words = write_inputs(tmp_path, [TRAIN])
    with pytest.raises(ValueError, match="zip"):
        run_stage(words, 0, 1)
    assert not (tmp_path / "cell/neighbours.npz").exists()


def test_features_of_a_diverged_base_are_refused(tmp_path):
    words = write_inputs(tmp_path, [[*TRAIN[:4], float("nan")]])
    with pytest.raises(ValueError, match=r"base/seed-0/embeddings\.npz: features are not finite"):
        run_stage(words, 0)
