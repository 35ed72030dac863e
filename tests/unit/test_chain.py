"""What ties files to their jobs: seals, places, records, and what they were made from."""

import json
import shutil

import pytest

from collateral.results import chain, layout
from collateral.results.chain import (
    INPUTS,
    check_folder,
    checked,
    content_hash,
    file_hash,
    hashes,
    read_sealed,
    seal_folder,
    write_record,
    write_sealed,
)
from collateral.results.files import Unsound


@pytest.fixture
def run(tmp_path):
    """Return the outputs of a run that was made from a data set."""
    data = write_job(tmp_path / layout.DATA, tmp_path)
    folder = tmp_path / "cell" / "seed-0" / "ga"
    return write_job(folder / layout.OUTPUTS, tmp_path, inputs=[data])


def write_job(path, root, content=b"content", inputs=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    about = {INPUTS: hashes(inputs, root)}
    write_record(layout.record_of(path), about, root=root, files=[path])
    return path


def refused(path, root, reason):
    with pytest.raises(Unsound, match=reason) as error:
        checked(path, root)
    assert str(error.value).startswith(str(error.value.path))
    assert "delete and run again: rm -r " in str(error.value)
    assert "\n" not in str(error.value)


# Sealed JSON files.


def test_what_is_sealed_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "cell" / "record.json"
    write_sealed(path, {"b": [1, None], "a": 0.1}, tmp_path)
    assert read_sealed(path) == {"b": [1, None], "a": 0.1}
    assert list(json.loads(path.read_text())) == ["a", "b", "place", "sha256"]


def test_the_order_of_keys_may_be_kept(tmp_path):
    path = tmp_path / "plan.json"
    write_sealed(path, {"b": 1, "a": 2}, tmp_path, sort_keys=False)
    assert list(read_sealed(path)) == ["b", "a"]


@pytest.mark.parametrize("change", [{"status": "diverged"}, {"more": 1}, {"place": "cell/x"}])
def test_a_changed_seal_is_refused(tmp_path, change):
    path = tmp_path / "record.json"
    write_sealed(path, {"status": "ok"}, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(Unsound, match=r"record\.json: does not fit its own hash"):
        read_sealed(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "broken"),
        (b'{"a": 1', "broken"),
        (b"\xff\xfe", "broken"),
        (b"[]", "no hash of itself"),
        (b'{"a": 1}', "no hash of itself"),
    ],
)
def test_what_is_no_sealed_file_is_named(tmp_path, content, reason):
    path = tmp_path / "record.json"
    path.write_bytes(content)
    with pytest.raises(Unsound, match=rf"record\.json: .*{reason}"):
        read_sealed(path)


def test_a_file_in_another_jobs_place_is_refused(tmp_path):
    for seed in (0, 1):
        write_sealed(tmp_path / "cell" / f"seed-{seed}" / "cost.json", {"x": seed}, tmp_path)
    shutil.copy(tmp_path / "cell/seed-1/cost.json", tmp_path / "cell/seed-0/cost.json")
    with pytest.raises(Unsound, match="belongs into cell/seed-1"):
        read_sealed(tmp_path / "cell" / "seed-0" / "cost.json")


def test_a_benchmark_may_be_moved_as_a_whole(run, tmp_path):
    other = tmp_path.parent / f"{tmp_path.name}-moved"
    shutil.move(tmp_path, other)
    assert checked(other / run.relative_to(tmp_path), other).exists()


# Files and their records.


def test_a_sound_file_is_returned(run, tmp_path):
    assert checked(run, tmp_path) == run


def test_other_content_is_refused(run, tmp_path):
    run.write_bytes(b"Content")
    refused(run, tmp_path, r"outputs\.npz: its content is not the one that record\.json names")


def test_a_file_without_a_record_is_refused(run, tmp_path):
    layout.record_of(run).unlink()
    refused(run, tmp_path, r"outputs\.npz: no record\.json beside it says what it is")


def test_a_missing_file_is_named(run, tmp_path):
    run.unlink()
    refused(run, tmp_path, r"outputs\.npz: is missing")


def test_what_was_made_from_another_input_is_refused(run, tmp_path):
    write_job(tmp_path / layout.DATA, tmp_path, b"rolled")
    refused(run, tmp_path, r"record\.json: what it describes was made from another .*dataset\.npz")


def test_an_input_that_is_not_here_is_known_by_its_record(run, tmp_path):
    (tmp_path / layout.DATA).unlink()
    assert checked(run, tmp_path)
    layout.record_of(tmp_path / layout.DATA).unlink()
    assert checked(run, tmp_path)


def test_a_whole_folder_of_another_seed_is_refused(run, tmp_path):
    shutil.copytree(run.parent, tmp_path / "cell" / "seed-1" / "ga")
    moved = tmp_path / "cell" / "seed-1" / "ga" / layout.OUTPUTS
    refused(moved, tmp_path, "belongs into cell/seed-0/ga")


# What to delete.


def test_what_snakemake_does_not_know_goes_with_what_it_does(tmp_path):
    prepared = tmp_path / "ltd" / "prepared"
    inside = prepared / "ltd-0123" / layout.PREPARED_TENSORS
    assert layout.remade_without(inside) == [prepared, tmp_path / "ltd" / layout.COST]
    table = tmp_path / "tables" / "cell" / "main.csv"
    assert layout.remade_without(table) == [tmp_path / "tables"]
    assert layout.remade_without(tmp_path / "labels.npz") == [tmp_path / "labels.npz"]


# Folders.


def test_a_folder_is_sound_until_one_of_its_files_is_not(tmp_path):
    folder = tmp_path / "figures"
    (folder / "cell").mkdir(parents=True)
    (folder / "cell" / "a.png").write_bytes(b"picture")
    seal_folder(folder)
    check_folder(folder)
    (folder / "cell" / "a.png").write_bytes(b"another")
    with pytest.raises(Unsound, match=r"a\.png: is not what was written"):
        check_folder(folder)
    (folder / "cell" / "a.png").unlink()
    with pytest.raises(Unsound, match=r"a\.png: is missing"):
        check_folder(folder)


# Hashes of large files.


def test_a_large_file_is_hashed_once_for_each_size_time_and_inode(tmp_path, monkeypatch):
    monkeypatch.setattr(chain, "LARGE", 4)
    hashed = []
    monkeypatch.setattr(chain, "content_hash", lambda p: hashed.append(p) or content_hash(p))
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"weights")
    first = file_hash(path)
    chain._hash_of.cache_clear()  # as another process would be
    assert file_hash(path) == first == content_hash(path)
    assert len(hashed) == 1
    path.write_bytes(b"WEIGHTS and more")
    assert file_hash(path) == content_hash(path) != first
    assert len(hashed) == 2


def test_where_nothing_may_be_written_a_hash_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(chain, "LARGE", 4)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"weights")

    def refuse(path):
        raise PermissionError(path)

    monkeypatch.setattr(chain, "atomic", refuse)
    assert file_hash(path) == content_hash(path)
