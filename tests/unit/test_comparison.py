"""Records of finished jobs against the plan: what a run would make again, a line a field."""

from pathlib import Path

import pytest
from small_grid import grid

from collateral.jobs.data import DataJob
from collateral.jobs.expose import ExposeJob
from collateral.jobs.given import GivenJob
from collateral.jobs.neighbours import NeighboursJob
from collateral.jobs.pictures import PicturesJob
from collateral.jobs.probe import ProbeJob
from collateral.jobs.retrain import RetrainJob
from collateral.jobs.shadow import ShadowJob
from collateral.jobs.split import SplitJob
from collateral.jobs.teacher import TeacherJob
from collateral.jobs.tune import TuneJob
from collateral.jobs.unlearn import UnlearnJob
from collateral.plan.diff import SHOWN_LENGTH, Comparison, compare, describe, find_differences
from collateral.plugins.find import prepare_values
from collateral.results.files import write_json
from collateral.results.provenance import content_hash, read_signed, write_record, write_signed

CELL = "digit_3-50"
NOT_TRAINING = {"sharing", "weights", "rename"}  # of `base:`
SMALL = {"classes": ["digit_3"], "fractions": [0.5], "seeds": [3]}
TUNED = {**SMALL, "methods": {"ft": {"lr": [0.01, 0.1], "epochs": 3}}}
INPUTS = ["dataset.npz", f"{CELL}/split.json", "base/seed-3/model.safetensors"]


@pytest.fixture
def finished(tmp_path):
    """Write the records of all jobs of a benchmark with one cell, seed and tuned method."""
    benchmark = grid(**TUNED)
    cell = benchmark.cells[CELL]
    run, data = cell.runs["ft"], DataJob(benchmark)
    retrain, tune = RetrainJob(benchmark, cell, 3), TuneJob(benchmark, cell, "ft")
    training = benchmark.config.base.model_dump(mode="json", exclude=NOT_TRAINING)
    trained = {"model": "resnet8", "seed": 3, "code": retrain.code, "params": training}
    method = {"model": "resnet8", "seed": 3, "method": "ft"}
    values = {**run.params.model_dump(mode="json"), "lr": 0.1}
    trials = {"trials": [[{"lr": 0.01}, {"lr": 0.1}], '{"lr": 0.01}'], "select": "paper"}
    unlearn = UnlearnJob(benchmark, cell, 3, "ft")
    chosen = {"kind": "class_part", "class": "digit_3", "fraction": 0.5, "order": "first"}
    about = {"name": "digits", "options": {}, "code": data.code, "seen": data.name}
    write(tmp_path, "data.json", about)
    split = {"chosen": chosen, "code": SplitJob(benchmark, cell).code}
    write_signed(
        tmp_path / CELL / "split.json", {**split, "num_train": 90, "num_forget": 10}, tmp_path
    )
    about = {"seeds": [3], "code": NeighboursJob(benchmark, cell).code}
    inputs = [*INPUTS[:2], "base/seed-3/embeddings.npz"]
    write(tmp_path, f"{CELL}/neighbours.json", about, inputs)
    about = {"keep": "all", "code": PicturesJob(benchmark, cell).code}
    write(tmp_path, f"{CELL}/pictures.json", about, [*INPUTS[:2], f"{CELL}/neighbours.npz"])
    write(tmp_path, "base/seed-3/record.json", {"run": "base", **trained}, INPUTS[:1])
    place = f"{CELL}/seed-3/retrain/record.json"
    write(tmp_path, place, {"run": "retrain", **trained}, INPUTS[:2])
    about = {**method, **trials, "code": tune.code, "params": {**values, "lr": 0.01}}
    write(tmp_path, f"{CELL}/tune/ft/record.json", about, INPUTS)
    write_json(tmp_path / CELL / "tune/ft/selected.json", {"params": {"lr": 0.1}})
    about = {"run": "ft", **method, "code": unlearn.code, "params": values}
    inputs = [*INPUTS, f"{CELL}/tune/ft/selected.json", f"{CELL}/tune/ft/prepared/x"]
    write(tmp_path, f"{CELL}/seed-3/ft/record.json", about, inputs)
    return tmp_path


def write(root, name, about, inputs=()):
    about = {**about, "inputs": dict.fromkeys(inputs, "a hash")}
    write_record(root / name, about, root=root, files=[])


def changed(root, name, **fields):
    """Write a record again with other fields."""
    path = root / name
    content = {**read_signed(path), **fields}
    write_signed(path, content, root)


def test_what_was_run_as_planned_does_not_differ(finished):
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


def test_of_a_long_value_the_beginning_is_shown():
    short, long = "x" * (SHOWN_LENGTH - 2), "y" * SHOWN_LENGTH  # JSON adds two quotes.
    [(place, one, other)] = find_differences({"path": short}, {"path": long})
    assert (place, one) == ("path", f'"{short}"')
    assert other == f'"{long[:-1]}...'


def test_another_fixed_parameter_is_named_where_it_counts(finished):
    methods = {"ft": {"lr": [0.01, 0.1], "epochs": 4}}
    found = compare(grid(**{**TUNED, "methods": methods}), finished).different
    line = "params.epochs: 3, planned 4"
    assert found == {f"{CELL}/tune/ft/record.json": [line], f"{CELL}/seed-3/ft/record.json": [line]}


def test_a_tuned_value_is_the_one_that_was_chosen(finished):
    write_json(finished / CELL / "tune/ft/selected.json", {"params": {"lr": 0.01}})
    found = compare(grid(**TUNED), finished).different
    assert found == {f"{CELL}/seed-3/ft/record.json": ["params.lr: 0.1, planned 0.01"]}
    (finished / CELL / "tune/ft/selected.json").unlink()
    assert compare(grid(**TUNED), finished).different == {}


def test_other_trials_are_named(finished):
    methods = {"ft": {"lr": [0.01, 0.2], "epochs": 3}}
    found = compare(grid(**{**TUNED, "methods": methods}), finished).different
    [line] = found[f"{CELL}/tune/ft/record.json"]
    assert line.startswith('trials: [[{"lr": 0.01}, {"lr": 0.1}], ')


def test_another_rule_of_selection_is_named(finished):
    found = compare(grid(**TUNED, select="interval"), finished).different
    assert found == {f"{CELL}/tune/ft/record.json": ['select: "paper", planned "interval"']}


def test_a_teacher_that_tuning_now_asks_is_missing_and_one_of_other_values_is_named(finished):
    benchmark, name = grid(**TUNED, select="teacher"), f"{CELL}/local_teacher/record.json"
    assert compare(benchmark, finished).missing == [name]
    job = TeacherJob(benchmark, benchmark.cells[CELL])
    values = prepare_values("ltd", job.spec.params)
    about = {"model": "resnet8", "seed": 3, "code": job.code, "params": {**values, "k": 5}}
    write(finished, name, about, INPUTS)
    found = compare(benchmark, finished).different
    assert found[name] == ["params.k: 5, planned 1000"]
    assert [line.partition(":")[0] for line in found[f"{CELL}/tune/ft/record.json"]] == [
        "inputs",
        "select",
    ]


def test_another_base_is_named(finished):
    inputs = [*INPUTS[:2], "base/seed-0/model.safetensors", f"{CELL}/tune/ft/selected.json"]
    name = f"{CELL}/seed-3/ft/record.json"
    changed(finished, name, inputs=dict.fromkeys(inputs, "a hash"))
    [line] = compare(grid(**TUNED), finished).different[name]
    assert line.startswith('inputs: ["base/seed-0/model.safetensors", ')


def test_another_start_is_named(finished, tmp_path):
    (tmp_path / "mine.pt").write_bytes(b"weights")
    plan = grid(**TUNED, init={"weights": str(tmp_path / "mine.pt")})
    found = compare(plan, finished).different
    assert set(found) == {"base/seed-3/record.json", f"{CELL}/seed-3/retrain/record.json"}
    assert all(line.startswith("init") for lines in found.values() for line in lines)


def test_a_base_of_ones_own_in_place_of_a_trained_one_is_named(finished):
    found = compare(grid(**TUNED, base={"weights": "mine.pt"}), finished).different
    assert set(found) == {"base/seed-3/record.json"}


def test_a_retrained_model_of_ones_own_in_place_of_a_trained_one_is_named(finished):
    found = compare(grid(**TUNED, retrain={"weights": "mine.pt"}), finished).different
    assert set(found) == {f"{CELL}/seed-3/retrain/record.json"}


def test_given_weights_are_compared_by_the_hash_of_their_file(finished):
    (finished / "theirs.pt").write_bytes(b"weights")
    plan = grid(**TUNED, given={"theirs": {"weights": str(finished / "theirs.pt")}})
    name = f"{CELL}/seed-3/theirs/record.json"
    assert compare(plan, finished).missing == [name]
    job = GivenJob(plan, plan.cells[CELL], 3, "theirs")
    own = {"name": "theirs.pt", "hash": content_hash(finished / "theirs.pt"), "rename": {}}
    about = {"run": "theirs", "model": "resnet8", "code": job.code, "seed": 3, "weights": own}
    write(finished, name, about, INPUTS[:2])
    assert compare(plan, finished).different == {}
    (finished / "theirs.pt").write_bytes(b"others")
    [line] = compare(plan, finished).different[name]
    assert line.startswith("weights.hash: ")


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
    assert found[f"{CELL}/split.json"] == ["chosen.fraction: 0.5, planned 0.4"]


@pytest.mark.parametrize(
    "name", ["data.json", *(f"{CELL}/{name}.json" for name in ("split", "neighbours", "pictures"))]
)
def test_other_code_of_what_trains_nothing_is_named(finished, name):
    changed(finished, name, code="0123")
    [(record, [line])] = compare(grid(**TUNED), finished).different.items()
    assert record == name
    assert line.startswith('code: "0123", planned "')


def test_similarities_of_other_seeds_are_named(finished):
    changed(finished, f"{CELL}/neighbours.json", seeds=[4])
    found = compare(grid(**TUNED), finished).different
    assert found == {f"{CELL}/neighbours.json": ["seeds: [4], planned [3]"]}


def test_another_list_of_what_to_forget_is_named(finished):
    file = finished / "withdrawn.txt"
    file.write_text("1\n")
    cells = {CELL: {"forget": {"kind": "index_file", "path": str(file)}}}
    plan = grid(**{**TUNED, "cells": cells, "classes": [], "fractions": []})
    chosen = {"kind": "index_file", "path": str(file), "sha256": content_hash(file)}
    code = SplitJob(plan, plan.cells[CELL]).code
    changed(finished, f"{CELL}/split.json", chosen=chosen, code=code)
    assert compare(plan, finished).different == {}
    file.write_text("2\n")
    [(record, [line])] = compare(plan, finished).different.items()
    assert record == f"{CELL}/split.json"
    assert line.startswith("chosen.sha256: ")
    file.unlink()  # figures come from the cache, without it
    assert compare(plan, finished).different == {}


def test_another_request_is_said_in_one_line_before_the_differences(finished):
    cells = {CELL: {"forget": {"kind": "class_part", "class": "digit_3", "fraction": 0.4}}}
    plan = grid(**{**TUNED, "cells": cells, "classes": [], "fractions": []})
    first, second, *_ = describe(finished, compare(plan, finished))
    assert first == f"{finished}: made for another request: the forget set of 1 cell has changed"
    assert second == f"{finished / CELL / 'split.json'}: chosen.fraction: 0.5, planned 0.4"


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
    content = {key: value for key, value in read_signed(path).items() if key != "params"}
    write_signed(path, content, finished)
    found = compare(grid(**TUNED), finished).different
    assert found == {name: ["it cannot be compared: another version wrote it"]}


def test_what_is_missing_and_what_nobody_planned_is_counted(finished):
    found = compare(grid(**{**TUNED, "seeds": [3, 5]}), finished)
    assert found.missing == [
        "base/seed-5/record.json",
        f"{CELL}/seed-5/retrain/record.json",
        f"{CELL}/seed-5/ft/record.json",
    ]
    write(finished, f"{CELL}/seed-3/rl/record.json", {})
    write(finished, "tables/record.json", {})
    assert compare(grid(**TUNED), finished).unplanned == [f"{CELL}/seed-3/rl/record.json"]


POOL = {**TUNED, "shadows": {"count": 6, "share": 0.5}}


def with_pool(root):
    """Write the records of a pool and of the method on it."""
    benchmark = grid(**POOL)
    training = benchmark.config.base.model_dump(mode="json", exclude=NOT_TRAINING)
    for member in range(6):
        code = ShadowJob(benchmark, member).code
        about = {"model": "resnet8", "seed": member, "code": code, "params": training}
        about |= {"run": "shadow", "pool": POOL["shadows"]}
        write(root, f"shadows/member-{member}/record.json", about, INPUTS[:1])
    job = ExposeJob(benchmark, benchmark.cells[CELL], "ft")
    values = {**job.spec.params.model_dump(mode="json"), "lr": 0.1}
    about = {"run": "ft", "model": "resnet8", "seed": 3, "code": job.code, "params": values}
    files = [
        f"shadows/member-{m}/{n}" for m in range(6) for n in ("model.safetensors", "margins.npz")
    ]
    inputs = [*INPUTS[:2], *files, f"{CELL}/tune/ft/selected.json"]
    write(root, f"{CELL}/exposure/ft/record.json", about, inputs)


def test_a_pool_that_was_run_as_planned_does_not_differ(finished):
    with_pool(finished)
    found = compare(grid(**POOL), finished)
    assert (found.different, found.missing, found.unplanned) == ({}, [], [])


def test_a_pool_of_another_share_and_another_choice_of_tuning_are_named(finished):
    with_pool(finished)
    write_json(finished / CELL / "tune/ft/selected.json", {"params": {"lr": 0.01}})
    changes = {"shadows": {"count": 7, "share": 0.5}}
    found = compare(grid(**{**POOL, **changes}), finished)
    assert found.missing == ["shadows/member-6/record.json"]
    assert found.different["shadows/member-0/record.json"] == ["pool.count: 6, planned 7"]
    lines = found.different[f"{CELL}/exposure/ft/record.json"]
    assert "params.lr: 0.1, planned 0.01" in lines


def test_a_probe_is_held_against_what_is_asked_and_of_whom(finished):
    probed = {**TUNED, "probe": {"zrf": {}}}
    benchmark = grid(**probed)
    job, name = ProbeJob(benchmark, benchmark.cells[CELL], 3), f"{CELL}/probe/seed-3/record.json"
    assert compare(benchmark, finished).missing == [name]
    runs = ["retrain", "ft", "original"]
    folders = (f"{CELL}/seed-3/retrain", f"{CELL}/seed-3/ft", "base/seed-3")
    about = {"model": "resnet8", "seed": 3, "code": job.code, "params": {"zrf": {}}, "runs": runs}
    inputs = [*INPUTS[:2], *(f"{folder}/model.safetensors" for folder in folders)]
    write(finished, name, about, inputs)
    assert compare(benchmark, finished).different == {}
    assert compare(grid(**TUNED), finished).unplanned == [name]
    changed(finished, name, runs=["retrain"], params={"zrf": {}, "residual": {"count": 3}})
    [lines] = compare(benchmark, finished).different.values()
    assert {line.partition(":")[0].partition(".")[0] for line in lines} >= {"runs"}
    assert len(lines) == 2
