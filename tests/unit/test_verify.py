"""`collateral verify`: what it says of results, deletes of them, and ends with."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from drive import run_stage
from fake_benchmark import FakeBenchmark
from fake_cell import FakeCell, FakeRun
from sealing import seal, sign_folder

from collateral.cli import main
from collateral.jobs.gather import GatherJob
from collateral.jobs.metrics import MetricsJob
from collateral.jobs.tables import TablesJob
from collateral.results import layout, provenance
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import (
    InvalidResultError,
    csv_text,
    read_json,
    read_rows,
    write_json,
)
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.provenance import (
    FILES,
    INPUTS,
    SEAL,
    content_hash,
    hash_files,
    sign_page,
    write_record,
)
from collateral.results.split import Split
from collateral.results.table import read_tables
from collateral.results.verification import Verification, files_below, verify_results

TRAIN, TEST = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1])
GA = "digits/cell/seed-0/ga"


def outputs(prediction):
    logits = np.eye(2)[prediction].astype(np.float16)
    return Outputs(logits, np.full(len(prediction), 0.5, np.float32), np.array(prediction))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return a folder of results with a benchmark, its tables, the theory and the index."""
    results = tmp_path_factory.mktemp("finished")
    folder = results / "digits"
    right, wrong = (
        FakeRun(outputs(TRAIN), outputs(TEST)),
        FakeRun(outputs(1 - TRAIN), outputs(TEST)),
    )
    FakeCell(
        labels=Labels(TRAIN, TEST, ("three", "eight")),
        split=Split(np.array([0]), 6, (0,), {"kind": "class_part", "class": "three"}),
        neighbours=Neighbours(
            seeds=np.array([0]),
            train_similarity=np.linspace(0, 1, 6, dtype=np.float32)[None],
            test_similarity=np.linspace(0, 1, 2, dtype=np.float32)[None],
            class_similarity=np.ones((1, 2), np.float32),
            shown_set=np.array(["train"]),
            shown_index=np.array([1]),
        ),
        runs={("retrain", 0): right, ("ga", 0): wrong},
    ).write(folder)
    for place in (folder / "cell" / "seed-0" / "retrain", results / GA):
        (place / layout.MODEL).write_bytes(b"weights")
    seal(folder)
    (folder / layout.PROBLEMS).unlink()
    present(folder)
    (results / "theory").mkdir()
    (results / "theory" / "checks.csv").write_text("holds\nTrue\n")
    sign_folder(results / "theory")
    publish(results)
    return results


def publish(results):
    """Write something for a page, and for the index."""
    folder = results / "digits"
    page = folder / layout.REPORT
    page.write_text("<p>GA</p>")
    inputs = hash_files([folder / layout.TABLES / layout.RECORD], folder)
    write_record(folder / layout.GLANCE, {INPUTS: inputs}, root=folder, files=[page])
    inputs = [folder / layout.GLANCE, results / "theory" / layout.RECORD]
    (results / layout.REPORT).write_text(sign_page("<p>Pages</p>\n", inputs, results))


def present(folder):
    """Make numbers and tables of the cell, as the rules do."""
    BenchmarkPlan({"ga": "GA"}, "matched", {"cell": CellPlan()}).save(folder / layout.PLAN)
    numbers = {"seeds": [0], "base_seeds": [0], "methods": ["ga"], "attacks": ["mia"]}
    run_stage(MetricsJob, folder, cell="cell", numbers=numbers)
    gather(folder)


def gather(folder):
    """Make the benchmark's numbers and tables of its cell's numbers."""
    run_stage(GatherJob, folder, cells=["cell"])
    run_stage(TablesJob, folder)


@pytest.fixture
def results(finished, tmp_path, monkeypatch) -> Path:
    """Return a copy of the results that a test may change; messages name it `results`."""
    shutil.copytree(finished, tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    return Path("results")


@pytest.fixture
def verify(results, capsys):
    """Return a function: options in, the exit code and the lines that are printed out."""

    def run(*options):
        capsys.readouterr()
        code = 0
        try:
            main(["verify", *options])
        except SystemExit as stop:
            code = stop.code
        return code, capsys.readouterr().out.splitlines()

    return run


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def forge(path, content):
    """Change a file, and make its record agree."""
    path.write_text(content)
    record = layout.record_path(path)
    known = read_json(record)
    known[FILES][path.name] = content_hash(path)
    known.pop(SEAL)
    write_json(record, {**known, SEAL: provenance._seal(known)})


def names(results):
    return {str(path) for path in results.rglob("*") if path.is_file()}


# Plain.


def test_sound_results_end_with_0(verify, results):
    code, (line,) = verify()
    assert code == 0
    num_files = len([name for name in names(results) if ".numbers" not in name])
    assert line == f"{num_files} files: all sound"


def test_a_benchmark_and_the_theory_may_be_walked_alone(verify):
    assert verify("results/digits")[0] == 0
    assert verify("results/theory") == (0, ["2 files: all sound"])


def test_each_fault_is_one_line_and_the_exit_code_is_1(verify, results):
    flip(results / GA / layout.OUTPUTS)
    flip(results / "theory" / "checks.csv")
    code, lines = verify()
    assert code == 1
    content = "its content is not the one that record.json names"
    assert lines[:2] == [
        f"results/{GA}/outputs.npz: {content}",
        f"results/theory/checks.csv: {content}",
    ]
    assert lines[2].endswith(" files: 2 not sound")
    assert len(lines) == 3


def close(results):
    """Write a red gate among the others, as a sound file."""
    path = results / "digits" / layout.GATES
    content = read_json(path)
    content["gates"][0]["colour"] = "red"
    repaint(path, json.dumps(content))


def repaint(gates, text):
    """Write other gates as a sound file, without the tables and pages of the gates as they were."""
    forge(gates, text)
    shutil.rmtree(gates.with_name(layout.TABLES))
    for name in (layout.GLANCE, layout.REPORT, f"../{layout.REPORT}"):
        (gates.parent / name).unlink()


def test_a_red_gate_is_named_last_and_the_code_is_1(verify, results):
    close(results)
    code, (first, last) = verify()
    assert code == 1
    assert first.endswith("files: all sound")
    assert last.startswith("results/digits/gates.json: red: cell: disjoint sets: ")


def test_a_red_gate_is_nothing_that_can_be_deleted(verify, results):
    close(results)
    before = names(results)
    assert verify("--fix")[0] == 1
    assert names(results) == before


def test_gates_that_are_not_sound_are_not_believed(verify, results):
    close(results)
    flip(results / "digits" / layout.GATES)
    code, (first, last) = verify()
    assert code == 1
    assert first.startswith("results/digits/gates.json: its content is not")
    assert last.endswith("1 not sound")


def test_gates_whose_record_is_broken_are_left_to_it(verify, results):
    close(results)
    flip(results / "digits" / layout.METRICS_RECORD)
    code, lines = verify()
    assert code == 1
    assert not any(": red: " in line for line in lines)


def test_results_without_gates_are_older_and_sound(verify, results):
    record = results / "digits" / layout.METRICS_RECORD
    (results / "digits" / layout.GATES).unlink()
    known = read_json(record)
    del known[FILES][layout.GATES], known[SEAL]
    write_json(record, {**known, SEAL: provenance._seal(known)})
    assert verify("results/digits")[0] == 0


def test_a_broken_file_is_blamed_alone_and_not_what_was_made_from_it(verify, results):
    for broken in ("digits/labels.npz", "digits/cell/split.json", f"{GA}/record.json"):
        before = (results / broken).read_bytes()
        flip(results / broken)
        code, (line, _) = verify()
        assert code == 1
        assert line.startswith(f"results/{broken}: ")
        (results / broken).write_bytes(before)


def test_only_the_broken_record_of_a_folder_is_named(verify, results):
    for damage in (flip, Path.unlink):
        damage(results / "digits" / layout.TABLES / layout.RECORD)
        code, (line, _) = verify()
        assert code == 1
        assert line.startswith("results/digits/tables/record.json: ")


def test_a_cost_that_is_missing_is_missed(verify, results):
    record = results / GA / layout.RECORD
    made = {"made": {"status": "ok", "versions": {}}}
    write_record(record, made, root=results / "digits", files=[])
    (results / GA / layout.COST).unlink()
    assert f"results/{GA}/cost.json: is missing, and every job has one" in verify()[1]


def test_models_may_have_stayed_where_they_were_made(verify, results):
    for path in results.rglob(layout.MODEL):
        path.unlink()
    code, (line,) = verify()
    assert code == 0
    assert line.endswith("all sound; 2 that figures do not need are not here")


def test_outputs_may_not(verify, results):
    (results / GA / layout.OUTPUTS).unlink()
    code, lines = verify()
    assert code == 1
    assert lines[0] == f"results/{GA}/outputs.npz: is missing, and record.json names it"


def test_results_behind_a_link_are_checked(verify, results, tmp_path):
    shutil.move(results / "digits", tmp_path / "disk")
    (results / "digits").symlink_to(tmp_path / "disk")
    assert verify()[0] == 0
    flip(results / GA / layout.OUTPUTS)
    assert verify()[0] == 1


def test_links_that_lead_back_are_not_followed(verify, results, tmp_path):
    """To a folder above, to itself, and round in a circle: each file is counted once."""
    results = results.absolute()
    count = len([*files_below(results)])
    (tmp_path / "disk").mkdir()
    (results / "digits/up").symlink_to(results.parent)
    (results / "digits/self").symlink_to(results / "digits")
    (results / "digits/there").symlink_to(tmp_path / "disk")
    (tmp_path / "disk/back").symlink_to(results / "digits")
    assert len([*files_below(results)]) == count


def test_brackets_without_end_are_a_fault_and_no_crash(results, capsys):
    (results / GA / layout.RECORD).write_text("[" * 100_000)
    with pytest.raises(SystemExit):
        main(["verify", str(results)])
    assert f"{results / GA / layout.RECORD}: broken: " in capsys.readouterr().out


def test_fix_deletes_nothing_of_base_models_behind_a_link(tmp_path):
    root = FakeBenchmark().write(tmp_path)
    shutil.move(root / "base", tmp_path / "disk-of-base-models")
    (root / "base").symlink_to(tmp_path / "disk-of-base-models")
    found = verify_results(root)
    assert (found.faults, found.to_delete) == ([], [])


def test_an_index_of_other_pages_is_noticed(verify, results):
    folder = results / "digits"
    page = folder / layout.REPORT
    write_record(folder / layout.GLANCE, {"cells": ["another"]}, root=folder, files=[page])
    line = "results/report.html: its job used another version of results/digits/glance.json"
    assert verify()[1][0] == line


@pytest.mark.parametrize("place", ["nowhere", "empty", "results/digits/report.html"])
def test_a_folder_without_a_record_is_none_of_results(verify, place):
    Path("empty").mkdir()
    said = f"collateral verify: {place}: no folder of results: there is no record in it"
    assert verify(place) == (said, [])


# Deep.


def test_numbers_that_come_out_the_same_are_sound_in_depth(verify):
    assert verify("--deep")[0] == 0


def is_blamed(text, path, line):
    """Tell whether a line of the report names a file and the line in which it differs."""
    return text.startswith(f"{path}: ") and re.search(rf"\bline {line}\b", text)


def edit_number(path):
    """Change GA's TA in a long table, and its record; return the line."""
    rows = read_rows(path)
    place = next(i for i, row in enumerate(rows) if (row["run"], row["metric"]) == ("ga", "ta"))
    rows[place]["value"] = "0.58"
    forge(path, csv_text(list(rows[0]), rows))
    return place + 2


def test_a_wrong_number_with_a_right_hash_is_found_in_depth(verify, results):
    path = results / "digits" / "cell" / layout.METRICS
    line = edit_number(path)
    gather(results / "digits")  # which has no reason to doubt it
    publish(results)
    assert verify()[0] == 0
    code, lines = verify("--deep")
    assert code == 1
    assert is_blamed(lines[0], path, line)


def test_a_gate_painted_over_is_found_in_depth(verify, results):
    path = results / "digits" / layout.GATES
    repaint(path, path.read_text().replace("amber", "green"))
    code, lines = verify("--deep")
    assert code == 1
    assert lines[0].startswith("results/digits/gates.json: ")


def test_a_wrong_number_of_all_cells_is_found_in_depth(verify, results):
    path = results / "digits" / layout.METRICS
    line = edit_number(path)
    run_stage(TablesJob, path.parent)
    publish(results)
    assert verify()[0] == 0
    assert is_blamed(verify("--deep")[1][0], path, line)


def test_a_wrong_table_with_a_right_hash_is_found_in_depth(verify, results):
    folder = results / "digits"
    path = folder / layout.TABLES / "cell" / "main.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], f"{lines[1]}0", *lines[2:], ""]))
    made_from = (layout.PLAN, layout.METRICS, layout.COSTS)
    sign_folder(folder / layout.TABLES, [folder / name for name in made_from])
    publish(results)
    assert verify()[0] == 0
    assert is_blamed(verify("--deep")[1][0], path, 2)


def test_verify_deep_does_not_recompute_numbers_from_damaged_outputs(verify, results):
    flip(results / GA / layout.OUTPUTS)
    code, lines = verify("--deep")
    assert code == 1
    assert lines[-1].startswith("Numbers were not made again")


# Fix.


def test_fix_lists_and_deletes_exactly_what_is_not_sound(verify, results):
    before = names(results)
    broken = [f"results/{GA}/record.json", "results/theory/checks.csv"]
    for path in broken:
        flip(Path(path))
    code, lines = verify("--fix")
    assert code == 0
    assert before - names(results) == {*broken}
    deleted = [f"deleted: {path}" for path in broken]
    assert lines[-3:] == [*deleted, "Run again: what is needed is made anew."]


def test_fix_of_sound_results_deletes_nothing(verify, results):
    before = names(results)
    assert verify("--fix")[0] == 0
    assert names(results) == before


def test_fix_takes_all_tables_along(verify, results):
    flip(results / "digits" / layout.TABLES / "cell" / "main.md")
    assert verify("--fix")[1][-2] == "deleted: results/digits/tables"
    assert not (results / "digits" / layout.TABLES).exists()


# Damage that hashes do not show: what was written was broken.


def test_every_bit_of_arrays_that_may_break_is_named(tmp_path):
    path = tmp_path / layout.LABELS
    Labels(np.array([0, 1]), np.array([0]), ("one", "two")).save(path)
    sound = path.read_bytes()
    refused = 0
    for place in range(len(sound)):
        for bit in (1, 128):
            content = bytearray(sound)
            content[place] ^= bit
            path.write_bytes(content)
            try:
                Labels.load(path)
            except InvalidResultError as error:
                assert str(error).startswith(f"{path}: ")
                assert "\n" not in str(error)
                refused += 1
    assert refused > len(sound)  # of twice as many; some bits mean nothing to a reader


def test_arrays_cut_anywhere_are_named(tmp_path):
    path = tmp_path / layout.LABELS
    Labels(np.array([0, 1]), np.array([0]), ("one", "two")).save(path)
    sound = path.read_bytes()
    for length in range(0, len(sound) - 1, 7):
        path.write_bytes(sound[:length])
        with pytest.raises(InvalidResultError, match=r"labels\.npz: broken: "):
            Labels.load(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "broken: No columns"),
        (b"\xff\xfe\x00", "broken: .*utf-8"),
        (b"cell,run\n", "broken: it has no column class, fraction, seed"),
        (b'cell,run\n"a', "broken: "),
    ],
)
def test_a_broken_long_table_is_named(tmp_path, content, reason):
    path = tmp_path / layout.METRICS
    path.write_bytes(content)
    with pytest.raises(InvalidResultError, match=rf"metrics\.csv: {reason}"):
        read_tables(BenchmarkPlan({}), path)


def test_a_number_that_stands_twice_is_named(results):
    path = results / "digits" / layout.METRICS
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[1], ""]))
    with pytest.raises(
        InvalidResultError, match=r"metrics\.csv: broken: cell ga .* stands there twice"
    ):
        read_tables(BenchmarkPlan({"ga": "GA"}), path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"trial\n" + b"1" * 200_000])
def test_broken_rows_are_named(tmp_path, content):
    path = tmp_path / layout.TRIALS
    path.write_bytes(content)
    with pytest.raises(InvalidResultError, match=r"trials\.csv: broken: "):
        read_rows(path)


def test_what_the_system_refuses_is_named(tmp_path):
    (tmp_path / layout.PLAN).mkdir()
    text = TablesJob(benchmark=tmp_path.name).text()
    with pytest.raises(SystemExit, match=r"collateral tables: .*/plan\.json: Is a directory$"):
        main(["run", text, "--results", str(tmp_path.parent)])


def test_a_walk_of_nothing_finds_nothing(tmp_path):
    assert verify_results(tmp_path / "nowhere") == Verification([], 0, [])


def faults(folder):
    return [fault.path.relative_to(folder).as_posix() for fault in verify_results(folder).faults]


def test_a_second_walk_sees_that_a_table_called_as_numbers_are_has_changed(tmp_path):
    """The costs of a cell are a table, too; the record of all tables names it."""
    root = FakeBenchmark().write(tmp_path)
    assert faults(root) == []
    (root / "tables/cell/costs.csv").write_text("other costs")
    assert faults(root) == ["tables/cell/costs.csv"]


def test_the_record_of_an_input_is_not_read_again_for_every_job(tmp_path, monkeypatch):
    root, num_read = FakeBenchmark(seeds=(0, 1, 2), methods=("ga", "rl")).write(tmp_path), Counter()

    def read(path):
        num_read[path] += 1
        return read_json(path)

    monkeypatch.setattr(provenance, "read_json", read)
    assert faults(root) == []
    # Once as a result, and once as an input.
    assert num_read[root / "cell/split.json"] == num_read[root / layout.DATA_RECORD] == 2


@pytest.mark.parametrize(
    "name", [layout.EPOCHS, layout.PROBE_RESULT, layout.MARGINS, layout.EXPOSURE_MARGINS]
)
def test_a_file_that_no_record_lists_is_named(tmp_path, name):
    """As the epochs of a run that is no longer tracked."""
    root = FakeBenchmark().write(tmp_path)
    (root / "cell/seed-0/ga" / name).write_text("content")
    assert faults(root) == [f"cell/seed-0/ga/{name}"]
