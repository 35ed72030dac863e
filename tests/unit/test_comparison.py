"""Records of finished jobs against the plan: what a run would make again, a line a field."""

from functools import partial
from pathlib import Path

import pytest
from small_grid import grid

from collateral.jobs import list_jobs
from collateral.plan.diff import SHOWN_LENGTH, Comparison, compare, describe, find_differences
from collateral.results.provenance import content_hash, read_signed, write_record, write_signed

CELL = "digit_3-50"
SMALL = {"classes": ["digit_3"], "fractions": [0.5], "seeds": [3]}
TUNED = {**SMALL, "methods": {"ft": {"lr": [0.01, 0.1], "epochs": 3}}}
RUN = f"{CELL}/seed-3/ft/record.json"


@pytest.fixture
def finished(tmp_path):
    """Write the records of all jobs of a benchmark with one cell, seed and tuned method."""
    write_records(tmp_path, grid(**TUNED))
    return tmp_path


def write_records(root, benchmark, name=""):
    """Write the record of each job of a benchmark, or only that of one path."""
    # Forget sets first, because other records have their hashes.
    for job in sorted(list_jobs(benchmark), key=lambda job: job.kind_name != "split"):
        for record in job.record_names:
            if name in ("", record):
                files = [*job.job.input_files, f"{CELL}/tune/x/prepared/y"]
                inputs = {file: hash_of(root / file) for file in files}
                identity = {"job": job.job.content(), "code": job.code, "inputs": inputs}
                write_record(root / record, {**identity, "made": {}}, root=root, files=[])


def hash_of(path):
    return content_hash(path) if path.exists() else "a hash"


def changed(root, name, **fields):
    """Write a record again with other fields; those of the description, or others."""
    path = root / name
    content = read_signed(path)
    own = {key: value for key, value in fields.items() if key in ("code", "inputs", "made")}
    other = {key: value for key, value in fields.items() if key not in own}
    write_signed(path, {**content, **own, "job": {**content["job"], **other}}, root)


def test_results_as_planned_do_not_differ(finished):
    found = compare(grid(**TUNED), finished)
    assert (found.different, found.missing, found.unplanned) == ({}, [], [])


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("code", "0123", 'code: "0123", planned "'),
        ("seed", 4, "seed: 4, planned 3"),
        ("model", "vit_tiny", 'model: "vit_tiny", planned "resnet8"'),
        ("run", "rl", 'run: "rl", planned "ft"'),
    ],
)
def test_another_field_of_a_run_is_named(finished, field, value, said):
    name = f"{CELL}/seed-3/ft/record.json"
    changed(finished, name, **{field: value})
    [(record, [line])] = compare(grid(**TUNED), finished).different.items()
    assert record == name
    assert line.startswith(said)


def test_long_values_are_shortened():
    short, long = "x" * (SHOWN_LENGTH - 2), "y" * SHOWN_LENGTH  # JSON adds two quotes.
    [(place, one, other)] = find_differences({"path": short}, {"path": long})
    assert (place, one) == ("path", f'"{short}"')
    assert other == f'"{long[:-1]}...'


def test_another_fixed_parameter_is_named_where_it_counts(finished):
    methods = {"ft": {"lr": [0.01, 0.1], "epochs": 4}}
    found = compare(grid(**{**TUNED, "methods": methods}), finished).different
    line = "params.epochs: 3, planned 4"
    assert found == {f"{CELL}/tune/ft/record.json": [line], f"{CELL}/seed-3/ft/record.json": [line]}


def test_other_trials_are_named(finished):
    methods = {"ft": {"lr": [0.01, 0.2], "epochs": 3}}
    found = compare(grid(**{**TUNED, "methods": methods}), finished).different
    [line] = found[f"{CELL}/tune/ft/record.json"]
    assert line == 'trials: [{"lr": 0.01}, {"lr": 0.1}], planned [{"lr": 0.01}, {"lr": 0.2}]'


def test_another_rule_of_selection_is_named(finished):
    found = compare(grid(**TUNED, select="interval"), finished).different
    assert found == {f"{CELL}/tune/ft/record.json": ['select: "paper", planned "interval"']}


def test_a_teacher_that_tuning_now_asks_is_missing_and_one_of_other_values_is_named(finished):
    benchmark, name = grid(**TUNED, select="teacher"), f"{CELL}/local_teacher/record.json"
    assert compare(benchmark, finished).missing == [name]
    write_records(finished, benchmark, name)
    params = read_signed(finished / name)["job"]["params"]
    changed(finished, name, params={**params, "k": 5})
    found = compare(benchmark, finished).different
    assert found[name] == ["params.k: 5, planned 1000"]
    places = [line.partition(":")[0] for line in found[f"{CELL}/tune/ft/record.json"]]
    assert places == ["select", "has_teacher", "inputs"]


def test_another_base_is_named(finished):
    inputs = {"base/seed-0/model.safetensors": "a hash"}
    changed(finished, RUN, inputs=inputs, base_seed=0)
    first, second = compare(grid(**TUNED), finished).different[RUN]
    assert first == "base_seed: 0, planned 3"
    assert second.startswith('inputs: ["base/seed-0/model.safetensors"], ')


def test_an_input_that_was_made_again_with_another_content_is_named(finished):
    """As after another tuning, whose metadata Snakemake does not have."""
    tuned = finished / CELL / "tune/ft"
    (tuned / "selected.json").write_text("{}")
    content = {**read_signed(tuned / "record.json")}
    write_record(tuned / "record.json", content, root=finished, files=[tuned / "selected.json"])
    found = compare(grid(**TUNED), finished).different
    assert found == {RUN: [f"inputs: another version of {CELL}/tune/ft/selected.json"]}
    inputs = read_signed(finished / RUN)["inputs"]
    now = {f"{CELL}/tune/ft/selected.json": content_hash(tuned / "selected.json")}
    changed(finished, RUN, inputs={**inputs, **now})
    assert compare(grid(**TUNED), finished).different == {}


def test_another_start_is_named(finished, tmp_path):
    (tmp_path / "mine.pt").write_bytes(b"weights")
    plan = grid(**TUNED, init={"weights": str(tmp_path / "mine.pt")})
    found = compare(plan, finished).different
    assert set(found) == {"base/seed-3/record.json", f"{CELL}/seed-3/retrain/record.json"}
    places = {line.partition(":")[0] for lines in found.values() for line in lines}
    assert places == {"own"}


def test_a_base_of_ones_own_in_place_of_a_trained_one_is_named(finished):
    found = compare(grid(**TUNED, base={"weights": "mine.pt"}), finished).different
    assert set(found) == {"base/seed-3/record.json"}


def test_a_retrained_model_of_ones_own_in_place_of_a_trained_one_is_named(finished):
    found = compare(grid(**TUNED, retrain={"weights": "mine.pt"}), finished).different
    assert set(found) == {f"{CELL}/seed-3/retrain/record.json"}


def test_given_weights_are_compared_by_the_hash_of_their_file(finished):
    (finished / "theirs.pt").write_bytes(b"weights")
    # A plan reads the user's files once, so that each comparison has a plan of its own.
    plan = partial(grid, **TUNED, given={"theirs": {"weights": str(finished / "theirs.pt")}})
    name = f"{CELL}/seed-3/theirs/record.json"
    assert compare(plan(), finished).missing == [name]
    write_records(finished, plan(), name)
    first = content_hash(finished / "theirs.pt")
    changed(finished, name, made={"weights": {"name": "theirs.pt", "hash": first, "rename": {}}})
    assert compare(plan(), finished).different == {}
    (finished / "theirs.pt").rename(finished / "moved.pt")
    moved = grid(**TUNED, given={"theirs": {"weights": str(finished / "moved.pt")}})
    assert compare(moved, finished).different == {}
    (finished / "theirs.pt").write_bytes(b"others")
    [line] = compare(plan(), finished).different[name]
    other = content_hash(finished / "theirs.pt")
    assert line == f'own.sha256: "{first[:59]}..., planned "{other[:59]}...'
    (finished / "theirs.pt").unlink()  # figures come from the cache, without it
    assert compare(plan(), finished).different == {}


def test_without_retrain_none_is_planned(finished):
    found = compare(grid(**TUNED, retrain="none"), finished)
    assert found.unplanned == [f"{CELL}/seed-3/retrain/record.json"]


def test_other_training_is_named(finished):
    found = compare(grid(**TUNED, base={"epochs": 7}), finished).different
    assert set(found) == {"base/seed-3/record.json", f"{CELL}/seed-3/retrain/record.json"}
    assert all(lines == ["params.epochs: 200, planned 7"] for lines in found.values())


def test_other_data_and_another_forget_set_are_named(finished):
    options = {"name": "digits", "per_class": 50}
    cells = {CELL: {"forget": {"kind": "class_part", "class": "digit_3", "fraction": 0.4}}}
    changes = {"data": options, "cells": cells, "classes": [], "fractions": []}
    found = compare(grid(**{**TUNED, **changes}), finished).different
    assert found["data.json"] == ["options.per_class: nothing, planned 50"]
    assert found[f"{CELL}/split.json"][0] == "params.fraction: 0.5, planned 0.4"


@pytest.mark.parametrize(
    "name", ["data.json", *(f"{CELL}/{name}.json" for name in ("split", "neighbours", "pictures"))]
)
def test_other_code_of_what_trains_nothing_is_named(finished, name):
    changed(finished, name, code="0123")
    [line] = compare(grid(**TUNED), finished).different[name]
    assert line.startswith('code: "0123", planned "')


def test_similarities_of_other_seeds_are_named(finished):
    changed(finished, f"{CELL}/neighbours.json", seeds=[4])
    found = compare(grid(**TUNED), finished).different
    assert found == {f"{CELL}/neighbours.json": ["seeds: [4], planned [3]"]}


def test_pictures_of_results_that_were_joined_may_lack_a_methods_most_hurt(finished):
    name = f"{CELL}/pictures.json"
    inputs = read_signed(finished / name)["inputs"]
    fewer = {path: inputs[path] for path in inputs if not path.endswith("outputs.npz")}
    assert len(fewer) < len(inputs)
    changed(finished, name, methods=[], inputs=fewer)
    assert compare(grid(**TUNED), finished).different == {}
    changed(finished, name, keep="retained")
    found = compare(grid(**TUNED), finished).different
    assert found == {name: ['keep: "retained", planned "all"']}


def test_another_list_of_what_to_forget_is_named(finished):
    file = finished / "withdrawn.txt"
    file.write_text("1\n")
    cells = {CELL: {"forget": {"kind": "index_file", "path": str(file)}}}
    plan = grid(**{**TUNED, "cells": cells, "classes": [], "fractions": []})
    name, chosen = f"{CELL}/split.json", {"sha256": content_hash(file)}
    write_records(finished, plan, name)
    content = read_signed(finished / name)
    write_signed(finished / name, {**content, "chosen": chosen}, finished)
    assert name not in compare(plan, finished).different
    file.write_text("2\n")
    [line] = compare(plan, finished).different[name]
    assert line.startswith("chosen.sha256: ")
    file.unlink()  # figures come from the cache, without it
    assert name not in compare(plan, finished).different


def test_another_request_is_said_in_one_line_before_the_differences(finished):
    cells = {CELL: {"forget": {"kind": "class_part", "class": "digit_3", "fraction": 0.4}}}
    plan = grid(**{**TUNED, "cells": cells, "classes": [], "fractions": []})
    first, second, *_ = describe(finished, compare(plan, finished))
    assert first == f"{finished}: made for another request: the forget set of 1 cell has changed"
    assert second == f"{finished / CELL / 'split.json'}: params.fraction: 0.5, planned 0.4"


def test_differences_are_listed_and_their_records_counted():
    different = {f"{n}/record.json": ["code: 1, planned 2", "seed: 0, planned 1"] for n in range(2)}
    lines = [*describe(Path("r"), Comparison(different, ["a"], ["b", "c"]))]
    assert len(lines) == 4 + 3
    assert lines[0] == "r/0/record.json: code: 1, planned 2"
    assert lines[-3:] == [
        "r: not as planned: 2; a run makes these again",
        "r: planned and not there: 1, as a",
        "r: there and not planned: 2, as b",
    ]


def test_a_record_without_values_is_of_another_version(finished):
    name = f"{CELL}/seed-3/ft/record.json"
    path = finished / name
    content = {key: value for key, value in read_signed(path).items() if key != "job"}
    write_signed(path, content, finished)
    found = compare(grid(**TUNED), finished).different
    assert found == {name: ["it cannot be compared: another version wrote it"]}


def test_a_record_of_a_kind_of_job_that_is_no_more_is_named(finished):
    changed(finished, RUN, kind="older")
    first, *_ = compare(grid(**TUNED), finished).different[RUN]
    assert first == 'kind: "older", planned "unlearn"'


def test_missing_and_unplanned_results_are_counted(finished):
    found = compare(grid(**{**TUNED, "seeds": [3, 5]}), finished)
    assert found.missing == [
        "base/seed-5/record.json",
        f"{CELL}/seed-5/retrain/record.json",
        f"{CELL}/seed-5/ft/record.json",
    ]
    for folder in (f"{CELL}/seed-3/rl", "tables"):
        write_record(finished / folder / "record.json", {}, root=finished, files=[])
    assert compare(grid(**TUNED), finished).unplanned == [f"{CELL}/seed-3/rl/record.json"]


POOL = {**TUNED, "shadows": {"count": 6, "share": 0.5}}


def test_a_pool_that_was_run_as_planned_does_not_differ(finished):
    write_records(finished, grid(**POOL))
    found = compare(grid(**POOL), finished)
    assert (found.different, found.missing, found.unplanned) == ({}, [], [])


def test_a_pool_of_another_size_is_named(finished):
    write_records(finished, grid(**POOL))
    changes = {"shadows": {"count": 7, "share": 0.5}}
    found = compare(grid(**{**POOL, **changes}), finished)
    assert found.missing == ["shadows/member-6/record.json"]
    assert found.different["shadows/member-0/record.json"] == ["count: 6, planned 7"]
    lines = found.different[f"{CELL}/exposure/ft/record.json"]
    assert [line.partition(":")[0] for line in lines] == ["count", "inputs"]


def test_a_probe_is_compared_with_the_planned_probes_and_runs(finished):
    benchmark, name = grid(**TUNED, probe={"zrf": {}}), f"{CELL}/probe/seed-3/record.json"
    assert compare(benchmark, finished).missing == [name]
    write_records(finished, benchmark, name)
    assert compare(benchmark, finished).different == {}
    assert compare(grid(**TUNED), finished).unplanned == [name]
    changed(finished, name, runs=["retrain"], params={"zrf": {}, "residual": {"count": 3}})
    [lines] = compare(benchmark, finished).different.values()
    assert {line.partition(":")[0].partition(".")[0] for line in lines} == {"params", "runs"}
