"""What ties files to their jobs: seals, places, records, and what they were made from."""

import json
import shutil
from pathlib import Path

import pytest
from sealing import sign_folder

from collateral.results import layout, provenance
from collateral.results.files import InvalidResultError
from collateral.results.provenance import (
    INPUTS,
    check_folder,
    content_hash,
    file_hash,
    hash_files,
    read_cost,
    read_page,
    read_signed,
    sign_page,
    verify,
    write_cost,
    write_record,
    write_signed,
)

SELECTED, SPLIT = "cell/tune/ga/selected.json", "cell/split.json"


@pytest.fixture
def run(tmp_path):
    """Return the outputs of a run that was made from a data set, a split and a choice."""
    inputs = [write_job(tmp_path / name, tmp_path) for name in (layout.DATA, SELECTED)]
    write_signed(tmp_path / SPLIT, {"forget": [1]}, tmp_path)
    folder = tmp_path / "cell" / "seed-0" / "ga"
    return write_job(folder / layout.OUTPUTS, tmp_path, inputs=[*inputs, tmp_path / SPLIT])


def write_job(path, root, content=b"content", inputs=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    about = {INPUTS: hash_files(inputs, root)}
    write_record(layout.record_path(path), about, root=root, files=[path])
    return path


# Sealed JSON files.


def test_a_sealed_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "cell" / "record.json"
    write_signed(path, {"b": [1, None], "a": 0.1}, tmp_path)
    assert read_signed(path) == {"b": [1, None], "a": 0.1}
    assert list(json.loads(path.read_text())) == ["a", "b", "place", "sha256"]


def test_the_order_of_keys_may_be_kept(tmp_path):
    path = tmp_path / "plan.json"
    write_signed(path, {"b": 1, "a": 2}, tmp_path, sort_keys=False)
    assert list(read_signed(path)) == ["b", "a"]


@pytest.mark.parametrize("change", [{"status": "diverged"}, {"more": 1}, {"place": "cell/x"}])
def test_a_changed_seal_is_refused(tmp_path, change):
    path = tmp_path / "record.json"
    write_signed(path, {"status": "ok"}, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InvalidResultError, match=r"record\.json: does not fit its own hash"):
        read_signed(path)


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
def test_a_file_without_a_seal_is_named(tmp_path, content, reason):
    path = tmp_path / "record.json"
    path.write_bytes(content)
    with pytest.raises(InvalidResultError, match=rf"record\.json: .*{reason}"):
        read_signed(path)


@pytest.mark.parametrize(
    ("own", "other"),
    [("cell/seed-0/cost.json", "cell/seed-1/cost.json"), ("costs.json", "metrics.json")],
)
def test_a_file_in_the_place_of_another_is_refused(tmp_path, own, other):
    for name in (own, other):
        write_signed(tmp_path / name, {"x": name}, tmp_path)
    shutil.copy(tmp_path / other, tmp_path / own)
    with pytest.raises(InvalidResultError, match=rf"{own}: its place is {other}"):
        read_signed(tmp_path / own)


def test_a_benchmarks_file_in_a_cell_is_refused_where_the_benchmark_is_known(tmp_path):
    write_signed(tmp_path / "metrics.json", {"x": 1}, tmp_path)
    (tmp_path / "cell").mkdir()
    moved = shutil.copy(tmp_path / "metrics.json", tmp_path / "cell")
    with pytest.raises(InvalidResultError, match=rf"its place is {tmp_path}/metrics\.json;"):
        read_signed(Path(moved), tmp_path)


def test_a_place_may_be_behind_a_link(run, tmp_path):
    elsewhere = shutil.move(run.parents[1], tmp_path.parent / f"{tmp_path.name}-disk")
    run.parents[1].symlink_to(elsewhere)
    assert verify(run, tmp_path)


def test_an_input_may_be_behind_a_link_to_a_folder_of_another_name(run, tmp_path):
    folder, elsewhere = tmp_path / "cell/tune", tmp_path.parent / f"{tmp_path.name}-disk"
    shutil.move(folder, elsewhere)
    folder.symlink_to(elsewhere)
    assert verify(run, tmp_path)


def test_keys_that_are_numbers_are_sealed_as_text(tmp_path):
    write_signed(tmp_path / "record.json", {"by_size": {9: "a", 10: "b"}}, tmp_path)
    assert read_signed(tmp_path / "record.json") == {"by_size": {"9": "a", "10": "b"}}


def test_a_benchmark_may_be_moved_as_a_whole(run, tmp_path):
    other = tmp_path.parent / f"{tmp_path.name}-moved"
    shutil.move(tmp_path, other)
    assert verify(other / run.relative_to(tmp_path), other).exists()


# Files and their records.


def test_a_sound_file_is_returned(run, tmp_path):
    assert verify(run, tmp_path) == run


DAMAGES = {
    "other content": (
        lambda run, root: run.write_bytes(b"Content"),
        r"outputs\.npz: its content is not the one that record\.json names",
    ),
    "no record": (
        lambda run, root: layout.record_path(run).unlink(),
        r"outputs\.npz: no record\.json lists it",
    ),
    "missing": (lambda run, root: run.unlink(), r"outputs\.npz: is missing; run again$"),
    "another data set": (
        lambda run, root: write_job(root / layout.DATA, root, b"rolled"),
        r"record\.json: its job used another version of .*dataset\.npz",
    ),
    "another choice": (  # known by its record
        lambda run, root: write_job(root / SELECTED, root, b"another"),
        r"record\.json: its job used another version of .*selected",
    ),
    "a broken split, which is to blame itself": (
        lambda run, root: (root / SPLIT).write_text((root / SPLIT).read_text().replace("1", "2")),
        r"split\.json: does not fit its own hash",
    ),
    "the folder of another seed": (
        lambda run, root: shutil.copytree(other_run(run, root), run.parent, dirs_exist_ok=True),
        r"its place is .*/cell/seed-1/ga/record\.json",
    ),
}


def other_run(run, root):
    return write_job(root / "cell" / "seed-1" / "ga" / run.name, root).parent


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_refused_in_one_line(run, tmp_path, name):
    damage, reason = DAMAGES[name]
    damage(run, tmp_path)
    with pytest.raises(InvalidResultError, match=reason) as error:
        verify(run, tmp_path)
    assert str(error.value).startswith(f"{error.value.path}: ")
    assert "\n" not in str(error.value)
    remedy = f"; delete and run again: rm -r {error.value.path}"
    assert str(error.value).endswith(remedy if name != "missing" else "; run again")


def test_a_cost_is_refused_beside_another_record(run, tmp_path):
    write_cost(run.parent, {"seconds": 1}, root=tmp_path)
    assert read_cost(run.parent, tmp_path)["seconds"] == 1
    write_job(run, tmp_path, b"another run of the same job")
    with pytest.raises(InvalidResultError, match=r"cost\.json: its job used another version of"):
        read_cost(run.parent, tmp_path)


def test_an_input_that_is_not_here_is_known_by_its_record(run, tmp_path):
    (tmp_path / layout.DATA).unlink()
    assert verify(run, tmp_path)
    layout.record_path(tmp_path / layout.DATA).unlink()
    assert verify(run, tmp_path)


# What to delete.


def test_a_file_that_a_rule_makes_is_made_again_without_it(run):
    assert layout.paths_to_delete(run) == [run]
    assert layout.paths_to_delete(layout.record_path(run)) == [layout.record_path(run)]


def test_the_folder_of_all_tables_is_made_as_a_whole(tmp_path):
    table = tmp_path / "tables" / "cell" / "main.csv"
    assert layout.paths_to_delete(table) == [tmp_path / "tables"]


def test_for_a_broken_prepared_file_its_whole_folder_is_deleted(tmp_path):
    folder = tmp_path / "ltd" / "prepared" / "ltd-0123"
    assert layout.paths_to_delete(folder / layout.PREPARED_TENSORS) == [folder]
    assert layout.paths_to_delete(folder.parent / "ltd-4567" / layout.COST) != [folder]


# Pages.


def test_a_page_ends_with_what_it_was_made_from(run, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(sign_page("<p>a -- b</p>\n", [layout.record_path(run)], tmp_path))
    inputs = hash_files([layout.record_path(run)], tmp_path)
    assert read_page(page) == {INPUTS: inputs}
    assert page.read_text().startswith("<p>a -- b</p>\n<!-- ")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda page: page.replace("9", "8", 1), "does not fit its own hash"),
        (lambda page: page.replace("inputs", "Inputs"), "does not fit its own hash"),
        (lambda page: page.replace('"inputs"', "inputs"), "does not fit its own hash"),
        (lambda page: page[:10], "has no hash of itself"),
        (lambda page: page[:-1], "has no hash of itself"),
        (lambda page: "", "has no hash of itself"),
    ],
)
def test_a_changed_page_is_refused(tmp_path, damage, reason):
    page = tmp_path / "report.html"
    page.write_text(damage(sign_page("<p>GA: 9 points</p>\n", [], tmp_path)))
    with pytest.raises(InvalidResultError, match=rf"report\.html: {reason}"):
        read_page(page)


# Folders.


def test_a_folder_is_sound_until_one_of_its_files_is_not(tmp_path):
    folder = tmp_path / "figures"
    (folder / "cell").mkdir(parents=True)
    (folder / "cell" / "a.png").write_bytes(b"picture")
    sign_folder(folder)
    check_folder(folder)
    (folder / "cell" / "a.png").write_bytes(b"another")
    with pytest.raises(
        InvalidResultError, match=r"a\.png: its content is not the one that record\.json"
    ):
        check_folder(folder)
    (folder / "cell" / "a.png").unlink()
    with pytest.raises(InvalidResultError, match=r"a\.png: is missing"):
        check_folder(folder)


def test_a_file_that_a_killed_job_left_is_no_part_of_a_record(tmp_path):
    folder = tmp_path / "theory"
    for name in ("checks.csv", "cell/a.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1")
    sign_folder(folder)
    clean = (folder / layout.RECORD).read_bytes()
    left = [folder / ".theory.4711.csv", folder / "cell/.a.12.png", folder / ".cache/b.csv"]
    left[2].parent.mkdir()
    for path in left:
        path.write_text("half")
    sign_folder(folder)
    assert (folder / layout.RECORD).read_bytes() == clean
    for path in left:
        path.unlink()
    check_folder(folder)


# Hashes.


def test_a_process_hashes_a_file_once_for_each_size_time_and_inode(tmp_path, monkeypatch):
    hashed = []
    monkeypatch.setattr(provenance, "content_hash", lambda p: hashed.append(p) or content_hash(p))
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"weights")
    assert file_hash(path) == file_hash(path) == content_hash(path)
    assert len(hashed) == 1
    path.write_bytes(b"WEIGHTS and more")
    assert file_hash(path) == content_hash(path)
    assert len(hashed) == 2
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
