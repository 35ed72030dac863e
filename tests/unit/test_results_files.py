"""The files on disk: written whole or not at all, and read as they were written."""

import json

import numpy as np
import pytest
from scipy.special import softmax
from sealing import seal

from collateral.plan import work
from collateral.results.dataset import Dataset, Labels
from collateral.results.files import InvalidResultError, atomic, read_json, write_json, write_rows
from collateral.results.outputs import (
    MANY_CLASSES,
    Embeddings,
    ModelOutputs,
    Outputs,
    StoredOutputs,
)
from collateral.results.provenance import file_hash
from collateral.results.record import measure_cost, versions
from collateral.results.split import Split

LABELS = Labels(np.array([0, 1, 2, 0, 1]), np.array([2, 0]), ("cat", "dog", "Löwe"))
DATASET = Dataset(
    train_images=np.arange(60, dtype=np.uint8).reshape(5, 2, 2, 3),
    test_images=np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3),
    labels=LABELS,
    mean=(0.1, 0.2, 0.3),
    std=(0.4, 0.5, 0.6),
    padding=4,
    flip=True,
)
SPLIT = Split(np.array([0, 3]), 5, (0,), {"kind": "class_part", "class": "cat", "fraction": 1.0})


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# Atomic writes.


def test_a_file_is_there_after_the_block_and_nothing_else(tmp_path):
    path = tmp_path / "new/folder/table.csv"
    with atomic(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert names_in(path.parent) == ["table.csv"]


def test_a_block_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), atomic(tmp_path / "table.csv") as temporary:
        temporary.write_text("half")
        raise KeyError
    assert names_in(tmp_path) == []


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    (tmp_path / "table.csv").write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic(tmp_path / "table.csv") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert names_in(tmp_path) == ["table.csv"]
    assert (tmp_path / "table.csv").read_text() == "old"


def test_the_temporary_file_is_hidden_beside_it_and_has_its_suffix(tmp_path):
    with atomic(tmp_path / "outputs.npz") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".")
        assert temporary.suffix == ".npz"
        temporary.touch()


def test_json_has_sorted_keys_and_a_newline_at_its_end(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, 2.5], "a": {"d": None, "c": "x"}})
    assert (tmp_path / "a.json").read_text() == (
        '{\n  "a": {\n    "c": "x",\n    "d": null\n  },\n  "b": [\n    1,\n    2.5\n  ]\n}\n'
    )


def test_equal_contents_are_equal_files(tmp_path):
    write_json(tmp_path / "a.json", {"a": 1, "b": 0.1})
    write_json(tmp_path / "b.json", {"b": 0.1, "a": 1})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert read_json(tmp_path / "a.json") == {"a": 1, "b": 0.1}


def test_values_that_json_cannot_store_leave_no_file(tmp_path):
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {"a": {1, 2}})
    assert names_in(tmp_path) == []


def test_rows_have_a_header_and_empty_fields_for_what_is_missing(tmp_path):
    write_rows(tmp_path / "t.csv", ["a", "b"], [{"a": 1, "b": "x, y"}, {"b": 0.5}])
    assert (tmp_path / "t.csv").read_bytes() == b'a,b\n1,"x, y"\n,0.5\n'


def test_a_row_with_an_unknown_column_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="'c'"):
        write_rows(tmp_path / "t.csv", ["a", "b"], [{"a": 1}, {"c": 2}])
    assert names_in(tmp_path) == []


# Splits.


def save_split(path):
    LABELS.save(path.parent / "labels.npz")
    SPLIT.save(path, LABELS, path.parent / "labels.npz")


def test_retained_is_what_is_not_forgotten():
    assert SPLIT.retain.tolist() == [1, 2, 4]


def test_a_split_is_read_as_it_was_written(tmp_path):
    save_split(tmp_path / "split.json")
    found = Split.load(tmp_path / "split.json", tmp_path)
    assert found.forget.tolist() == [0, 3]
    assert found.forget.dtype == np.int64
    assert (found.num_train, found.affected, found.chosen) == (5, (0,), SPLIT.chosen)
    assert found.hash == SPLIT.hash


def test_a_split_says_what_was_chosen_with_true_names(tmp_path):
    save_split(tmp_path / "split.json")
    content = read_json(tmp_path / "split.json")
    assert content["num_forget"] == 2
    assert content["affected_names"] == ["cat"]
    assert content["chosen"] == {"kind": "class_part", "class": "cat", "fraction": 1.0}


@pytest.mark.parametrize(("key", "value"), [("forget", [0, 4]), ("num_train", 6)])
def test_a_split_that_was_tampered_with_is_refused(tmp_path, key, value):
    path = tmp_path / "split.json"
    save_split(path)
    path.write_text(json.dumps({**read_json(path), key: value}))
    with pytest.raises(ValueError, match=r"split\.json: does not fit its own hash"):
        Split.load(path, tmp_path)


def test_a_split_of_other_labels_is_refused(tmp_path):
    save_split(tmp_path / "split.json")
    Labels(LABELS.train[::-1], LABELS.test, LABELS.class_names).save(tmp_path / "labels.npz")
    seal(tmp_path)
    with pytest.raises(
        InvalidResultError, match=r"split\.json: .* another version of .*labels\.npz"
    ):
        Split.load(tmp_path / "split.json", tmp_path)


# Arrays.


def equal(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other)


def test_labels_are_read_as_they_were_written(tmp_path):
    LABELS.save(tmp_path / "labels.npz")
    found = Labels.load(tmp_path / "labels.npz")
    assert equal(found.train, LABELS.train)
    assert equal(found.test, LABELS.test)
    assert found.class_names == ("cat", "dog", "Löwe")


def test_a_data_set_is_read_as_it_was_written(tmp_path):
    DATASET.save(tmp_path / "dataset.npz")
    found = Dataset.load(tmp_path / "dataset.npz")
    assert equal(found.train_images, DATASET.train_images)
    assert equal(found.test_images, DATASET.test_images)
    assert equal(found.labels.train, LABELS.train)
    assert equal(found.labels.test, LABELS.test)
    assert found.labels.class_names == LABELS.class_names
    assert (found.mean, found.std) == (DATASET.mean, DATASET.std)
    assert (found.padding, found.flip) == (4, True)
    assert found.info == DATASET.info


def test_a_data_set_tells_models_what_they_must_know():
    info = DATASET.info
    assert (info.num_classes, info.shape) == (3, (2, 2, 3))
    assert (info.mean, info.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def outputs(n):
    return Outputs(
        logits=np.linspace(-2, 2, 3 * n).reshape(n, 3).astype(np.float16),
        confidence=np.linspace(0, 1, n).astype(np.float32),
        prediction=np.arange(n) % 3,
    )


def test_outputs_are_read_as_they_were_written(tmp_path):
    written = ModelOutputs(outputs(5), outputs(2))
    written.save(tmp_path / "outputs.npz")
    for name, other in (("train", written.train), ("test", written.test)):
        one = StoredOutputs(tmp_path / "outputs.npz", name)
        assert equal(one.logits, other.logits)
        assert equal(one.confidence, other.confidence)
        assert equal(one.prediction, other.prediction)


def of_many_classes(count, num_classes):
    rng = np.random.default_rng(0)
    logits = (3 * rng.standard_normal((count, num_classes))).astype(np.float16)
    label = rng.integers(num_classes, size=count)
    return Outputs(logits, np.ones(count, np.float32), logits.argmax(axis=1), label)


def test_of_many_classes_the_true_one_and_the_likeliest_keep_their_probabilities(tmp_path):
    made = of_many_classes(50, 300)
    ModelOutputs(made, made).save(tmp_path / "outputs.npz")
    read = StoredOutputs(tmp_path / "outputs.npz", "test").logits
    assert read.shape == made.logits.shape and read.dtype == np.float16
    before, after = (softmax(x.astype(np.float64), axis=1) for x in (made.logits, read))
    kept = np.hstack(
        [made.label[:, None], np.argsort(made.logits, axis=1)[:, -8:]]
    )  # the ninth may tie
    was, now = (np.take_along_axis(p, kept, axis=1) for p in (before, after))
    np.testing.assert_allclose(now, was, rtol=2e-3)  # float16 of the rest


def test_outputs_of_many_classes_take_a_tenth(tmp_path):
    made = of_many_classes(200, 1000)
    ModelOutputs(made, made).save(tmp_path / "outputs.npz")
    assert (tmp_path / "outputs.npz").stat().st_size < 2 * made.logits.nbytes / 10


def test_the_estimate_knows_what_is_kept_of_many_classes():
    stored = sum(part.nbytes for part in of_many_classes(1000, 300).parts().values())
    assert work.MANY_CLASSES == MANY_CLASSES
    assert stored // 1000 == work.SHORT_BYTES + work.OUTPUT_BYTES


def test_a_broken_file_is_named_once(tmp_path):
    DATASET.save(tmp_path / "dataset.npz")
    with np.load(tmp_path / "dataset.npz") as file:
        np.savez_compressed(tmp_path / "dataset.npz", **file)
    with pytest.raises(InvalidResultError) as error:
        Dataset.load(tmp_path / "dataset.npz")
    assert str(error.value).count("broken: ") == 1


def test_images_of_a_data_set_are_pages_of_its_file(tmp_path):
    DATASET.save(tmp_path / "dataset.npz")
    read = Dataset.load(tmp_path / "dataset.npz")
    assert all(isinstance(one, np.memmap) for one in (read.train_images, read.test_images))
    content = (tmp_path / "dataset.npz").read_bytes()
    read.train_images[:] = 0
    assert (tmp_path / "dataset.npz").read_bytes() == content


def test_embeddings_are_read_as_they_were_written(tmp_path):
    written = Embeddings(np.ones((5, 4), np.float32), np.zeros((2, 4), np.float32))
    written.save(tmp_path / "embeddings.npz")
    found = Embeddings.load(tmp_path / "embeddings.npz")
    assert equal(found.train, written.train)
    assert equal(found.test, written.test)


@pytest.mark.parametrize("content", [LABELS, DATASET, ModelOutputs(outputs(5), outputs(2))])
def test_equal_arrays_are_equal_files(tmp_path, content):
    content.save(tmp_path / "a.npz")
    content.save(tmp_path / "b.npz")
    assert file_hash(tmp_path / "a.npz") == file_hash(tmp_path / "b.npz")


# Records.


def test_a_files_hash_is_its_sha256(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2
    assert file_hash(tmp_path / "abc") == expected


def test_versions_are_those_that_decide_the_numbers():
    found = versions()
    assert found["python"].startswith("3.")
    assert found["numpy"] == np.__version__


def test_a_cost_sums_its_phases_and_names_the_schedulers_job_and_devices(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    found = measure_cost(
        {"prepare": 1.5, "unlearn": 2.0}, device="cpu", threads=1, peak_device_mb=None
    )
    assert found["seconds"] == {"prepare": 1.5, "unlearn": 2.0}
    assert found["total_seconds"] == 3.5
    assert found["job"] == "17"
    assert found["visible_devices"] == "1"
    # An interpreter with numpy: more than 10 MB, and less than what would be bytes or KiB.
    assert 10 < found["peak_rss_mb"] < 100_000
