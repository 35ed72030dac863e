"""The stages that train, from data set to unlearned model, called as their command lines."""

import csv
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workshop import Workshop, main

from collateral.contract.conventions import Skipped
from collateral.jobs.tune import TuneJob
from collateral.methods.ft import method as ft
from collateral.methods.ltd.params import Prepare
from collateral.plugins.find import (
    METHOD,
    params_class,
    prepare_class,
    prepared_name,
)
from collateral.results.dataset import Labels
from collateral.results.outputs import Epoch, Epochs, ModelOutputs, Outputs, StoredOutputs
from collateral.results.provenance import file_hash, hash_files, merge
from collateral.results.split import Split, ids_hash
from collateral.stages import train, tune, unlearn
from collateral.training import fit as engine
from collateral.training import run_method
from collateral.training.examples import Examples
from collateral.training.job_io import find_status
from collateral.training.run import Run
from collateral.training.run_method import Method

FT = {"epochs": 2, "batch_size": 16, "lr": 0.003}
GRID = [{"lr": 0.001}, {"lr": 0.02}]
DEFAULT = {"lr": 0.01}
RUN_FILES = {"model.safetensors", "outputs.npz", "history.csv", "record.json"}
FILES = {
    "base": RUN_FILES | {"embeddings.npz"},
    "retrain": RUN_FILES,
    "ft": RUN_FILES,
    "tune": {"trials.csv", "selected.json", "record.json"},
    "ft-tuned": RUN_FILES,
}
REFERENCES = [("base", {"dataset.npz"}), ("retrain", {"dataset.npz", "cell/split.json"})]
TWO_PHASES = [name for name in METHOD.names() if prepare_class(name)]


def run_all(folder) -> Workshop:
    """Run every stage once."""
    workshop = Workshop(folder)
    main(workshop.train("base", epochs=4))
    main(workshop.train("retrain", epochs=4, split=workshop.split))
    main(workshop.method("unlearn", "ft", "ft", FT, run="ft"))
    main(workshop.method("tune", "tune", "ft", FT, trials=GRID, default=DEFAULT))
    selected = folder / "tune" / "selected.json"
    main(workshop.method("unlearn", "ft-tuned", "ft", FT, run="ft", selected=selected))
    return workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return run_all(tmp_path_factory.mktemp("first") / "bench")


def read(workshop: Workshop, name: str, file: str):
    content = json.loads((workshop.folder / name / file).read_text())
    return merge(content) if file == "record.json" else content


def trials(workshop: Workshop, name: str) -> list[dict[str, str]]:
    with (workshop.folder / name / "trials.csv").open() as file:
        return list(csv.DictReader(file))


# Files


def test_a_second_run_of_everything_gives_the_same_bits(workshop, tmp_path):
    again = run_all(tmp_path / "bench")
    assert again.data.read_bytes() == workshop.data.read_bytes()
    assert again.split.read_bytes() == workshop.split.read_bytes()
    for name, files in FILES.items():
        one, other = workshop.results(name), again.results(name)
        assert one.keys() == other.keys() == files
        assert [file for file in files if one[file] != other[file]] == []


def test_the_record_of_a_training_names_what_was_trained_on(workshop):
    split = Split.load(workshop.split, workshop.folder)
    assert read(workshop, "retrain", "record.json")["trained_on"] == split.retain_hash
    everyone = ids_hash(np.arange(split.num_train))
    assert read(workshop, "base", "record.json")["trained_on"] == everyone != split.retain_hash


def cannot_work(*_) -> None:
    raise Skipped("no convolutions")


def test_a_skipped_method_leaves_the_bases_outputs_and_its_reason(workshop, monkeypatch):
    monkeypatch.setattr(ft, "unlearn", cannot_work)
    main(workshop.method("unlearn", "skipped", "ft", FT, run="ft", track=True))
    record = read(workshop, "skipped", "record.json")
    assert (record["status"], record["reason"]) == ("skipped", "no convolutions")
    skipped, base = workshop.results("skipped"), workshop.results("base")
    assert skipped["outputs.npz"] == base["outputs.npz"]
    assert len(Epochs.load(workshop.folder / "skipped" / "epochs.npz").models) == 2


def test_trials_of_a_skipped_method_have_no_numbers(workshop, monkeypatch):
    monkeypatch.setattr(ft, "unlearn", cannot_work)
    main(workshop.method("tune", "skipped-tune", "ft", FT, trials=GRID, default=DEFAULT))
    rows = trials(workshop, "skipped-tune")
    assert {(row["ua"], row["ra"], row["mia"]) for row in rows} == {("", "", "")}


def test_finished_jobs_leave_no_checkpoints(workshop):
    assert not any(workshop.checkpoints("ft").parent.glob("*"))


def test_the_record_says_what_the_run_is(workshop):
    record = read(workshop, "ft", "record.json")
    versions, numerics = record.pop("versions"), record.pop("numerics")
    inputs = [workshop.data, workshop.split, workshop.base]
    files = [workshop.folder / "ft" / name for name in RUN_FILES - {"record.json"}]
    assert len(record.pop("sha256")) == 64
    assert record["files"] == {path.name: file_hash(path) for path in files}
    assert record["inputs"] == hash_files(inputs, workshop.folder)
    about = {"run": "ft", "kind": "unlearn", "method": "ft", "model": "small_cnn", "seed": 0}
    assert about.items() <= record.items()
    assert record["params"] == params_class("ft").model_validate(FT).model_dump()
    assert (record["code"], record["status"], record["extra"]) == ("", "ok", {})
    assert {"python", "torch", "numpy"} <= versions.keys()
    assert (numerics["deterministic"], numerics["tf32"]) == (True, False)


@pytest.mark.parametrize(("name", "inputs"), REFERENCES)
def test_the_record_of_a_reference_names_its_inputs(workshop, name, inputs):
    record = read(workshop, name, "record.json")
    assert record["kind"] == name
    assert record["inputs"].keys() == inputs


def test_the_record_says_that_the_test_set_chose_the_epoch(workshop):
    params = {"epochs": 1, "checkpoint": "best_test"}
    main(workshop.train("best-test", 1, params=params))
    assert read(workshop, "best-test", "record.json")["params"]["checkpoint"] == "best_test"


def test_the_cost_has_seconds_by_phase(workshop):
    cost = read(workshop, "ft", "cost.json")
    assert cost["seconds"].keys() == {"unlearn"}
    assert cost["total_seconds"] == sum(cost["seconds"].values()) > 0
    assert cost["threads"] == 1


def test_the_cost_of_a_training_has_its_speed(workshop):
    """Of 64 images 8 are forgotten, for 4 epochs; CPU time is at most wall-clock time."""
    cost = read(workshop, "retrain", "cost.json")
    assert cost["speed"]["model"] == ["small_cnn", [8, 8, 3], "float32"]
    assert cost["speed"]["images_per_second"] > 0.99 * 4 * 56 / cost["total_seconds"]
    assert "speed" not in read(workshop, "ft", "cost.json")


def test_retrain_is_trained_on_exactly_what_is_retained(workshop, monkeypatch):
    seen, batches = [], Examples.batches

    def spy(self, *args, **options):
        seen.extend(self.rows.tolist())
        return batches(self, *args, **options)

    monkeypatch.setattr(Examples, "batches", spy)
    main(workshop.train("spied", epochs=1, split=workshop.split))
    split = Split.load(workshop.split, workshop.folder)
    assert (len(split.forget), split.num_train) == (8, 64)
    assert seen == split.retain.tolist()


def test_a_job_that_fails_while_it_writes_does_not_train_again(workshop, monkeypatch):
    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(train, "write_results", fail)
    with pytest.raises(OSError, match="no space"):
        main(workshop.train("interrupted", epochs=4))
    monkeypatch.undo()
    monkeypatch.setattr(engine, "_epoch", fail)
    main(workshop.train("interrupted", epochs=4))
    assert workshop.results("interrupted") == workshop.results("base")


# Tuning


def test_a_tuning_is_described_without_anything_of_retrain(workshop):
    place = workshop.method("tune", "x", "ft", FT, trials=GRID)
    assert not any("retrain" in name for name in TuneJob.model_fields)
    with pytest.raises(ValueError, match="retrained"):
        TuneJob(**{**dict(place.job), "retrained": "outputs.npz"})


def test_trials_are_the_grid_and_then_the_defaults(workshop):
    rows = trials(workshop, "tune")
    assert [row["lr"] for row in rows] == ["0.001", "0.02", "0.01"]
    assert [row["is_candidate"] for row in rows] == ["True", "True", "False"]
    assert sum(row["is_chosen"] == "True" for row in rows) == 1
    assert all(0 <= float(row[name]) <= 1 for row in rows for name in ("ra", "ua", "ta", "mia"))
    assert all(row["teacher_ua"] == "" for row in rows)


def test_without_defaults_only_the_grid_is_tried(workshop):
    main(workshop.method("tune", "plain", "ft", FT, trials=GRID[:1]))
    assert [row["is_default"] for row in trials(workshop, "plain")] == ["False"]


@pytest.fixture(scope="module")
def wild(workshop) -> list[dict[str, str]]:
    """Return the trials of a rate that diverges and of the default."""
    rates = [{"lr": 1e38}, DEFAULT]
    main(workshop.method("tune", "wild", "ft", FT, trials=rates, default=DEFAULT))
    return trials(workshop, "wild")


def test_defaults_among_the_candidates_are_not_tried_twice(wild):
    assert [(row["is_candidate"], row["is_default"]) for row in wild] == [
        ("True", "False"),
        ("True", "True"),
    ]


def test_a_trial_that_diverges_is_a_row_and_not_chosen(workshop, wild):
    assert wild[0]["ra"] == wild[0]["mia"] == ""
    assert [row["is_chosen"] for row in wild] == ["False", "True"]
    assert read(workshop, "wild", "selected.json")["params"] == {"lr": 0.01}


def test_a_trial_measures_what_the_run_of_the_same_values_has(workshop):
    split, labels = Split.load(workshop.split, workshop.folder), Labels.load(workshop.labels)
    prediction = StoredOutputs(workshop.folder / "ft-tuned" / "outputs.npz", "train").prediction
    (chosen,) = (row for row in trials(workshop, "tune") if row["is_chosen"] == "True")
    for name, rows in (("ra", split.retain), ("ua", split.forget)):
        is_right = prediction[rows] == labels.train[rows]
        assert float(chosen[name]) == is_right.mean()


TRIALS = [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.3}]
GOOD = dict.fromkeys(tune.MEASURED, 0.95) | {"num_affected": 25, "seconds": 1.0}
# The lowest UA, the one nearest to its own teacher's, neither, and the default, both at once.
UAS = [(0.1, 0.6), (0.5, 0.55), (0.4, 0.8), (0.0, 0.0)]


@pytest.mark.parametrize("has_teacher", [True, False])
def test_the_choice_and_its_alternative_are_written(workshop, monkeypatch, has_teacher):
    teacher = 1.0 if has_teacher else np.nan
    rows = iter({**GOOD, "ua": ua, "teacher_ua": teacher * other} for ua, other in UAS)
    monkeypatch.setattr(tune, "measure", lambda *_: next(rows))
    name = f"chosen-{has_teacher}"
    main(workshop.method("tune", name, "ft", FT, trials=TRIALS, default=DEFAULT))
    assert read(workshop, name, "selected.json") == {
        "params": TRIALS[0],
        "rule": "paper",
        "by_rule": {
            "paper": TRIALS[0],
            "interval": TRIALS[0],
            "teacher": TRIALS[1] if has_teacher else None,
        },
        "num_candidates": 3,
    }
    assert read(workshop, name, "record.json")["select"] == "paper"


@pytest.fixture(scope="module")
def teacher(workshop) -> dict:
    """Train a teacher by its stage; return what it is trained with."""
    values = Prepare(k=20, teacher_epochs=2).model_dump(mode="json")
    main(workshop.method("teacher", "teacher", "ltd", values))
    return values


def test_the_ua_of_a_teacher_is_the_one_that_ltd_reports(workshop, teacher):
    main(workshop.method("unlearn", "ltd-itself", "ltd", {**teacher, "epochs": 0}, run="x"))
    said = read(workshop, "teacher", "teacher.json")
    assert said == {
        "teacher_ua": read(workshop, "ltd-itself", "record.json")["extra"]["teacher_ua"]
    }
    record = read(workshop, "teacher", "record.json")
    assert record["inputs"].keys() == {"dataset.npz", "cell/split.json", "base/model.safetensors"}
    assert read(workshop, "teacher", "cost.json")["seconds"]["teacher"] > 0


def test_a_run_uses_the_prepared_files_of_the_teachers_job(workshop, teacher, no_preparing):
    values, kept = {**teacher, "epochs": 1}, workshop.folder / "teacher" / "prepared"
    main(workshop.method("unlearn", "ltd-first", "ltd", values, run="x"))
    no_preparing()
    main(workshop.method("unlearn", "ltd-second", "ltd", values, run="x", prepared=kept))
    assert workshop.results("ltd-first") == workshop.results("ltd-second")


def test_with_select_teacher_trials_of_any_method_are_compared_with_the_teacher(
    workshop, teacher, monkeypatch
):
    ua = read(workshop, "teacher", "teacher.json")["teacher_ua"]
    rows = iter({**GOOD, "ua": ua + off, "teacher_ua": np.nan} for off in (-0.3, 0.1, -0.2))
    monkeypatch.setattr(tune, "measure", lambda *_: next(rows))
    says = workshop.folder / "teacher" / "teacher.json"
    given = {"trials": TRIALS, "teacher": says, "select": "teacher"}
    main(workshop.method("tune", "by-teacher", "ft", FT, **given))
    selected = read(workshop, "by-teacher", "selected.json")
    assert (selected["params"], selected["rule"]) == (TRIALS[1], "teacher")
    assert selected["by_rule"]["paper"] == TRIALS[0]
    assert {row["teacher_ua"] for row in trials(workshop, "by-teacher")} == {str(ua)}
    record = read(workshop, "by-teacher", "record.json")
    assert record["select"] == "teacher"
    assert "teacher/teacher.json" in record["inputs"]


def test_a_trial_says_how_many_examples_of_the_affected_classes_are_kept(workshop):
    assert {row["num_affected"] for row in trials(workshop, "tune")} == {"8"}


def test_the_attack_on_a_trial_is_drawn_for_its_split_and_seed(workshop, monkeypatch):
    """As in the metrics of the run."""
    drawn, draw = [], tune.draw

    def spy(retain, num_test, seed):
        drawn.append((retain.tolist(), num_test, seed))
        return draw(retain, num_test, seed)

    monkeypatch.setattr(tune, "draw", spy)
    main(workshop.method("tune", "seed-3", "ft", FT, trials=GRID[:1], seed=3))
    split, labels = Split.load(workshop.split, workshop.folder), Labels.load(workshop.labels)
    assert drawn == [(split.retain.tolist(), len(labels.test), split.attack_seed(3))]


# Seeds


@pytest.fixture
def seeds(monkeypatch) -> list[int]:
    """Collect the seeds of all runs."""
    seen = []

    class Seeded(Run):
        def __init__(self, device, seed, **options):
            seen.append(seed)
            super().__init__(device, seed, **options)

    for module in (run_method, train):
        monkeypatch.setattr(module, "Run", Seeded)
    return seen


def test_base_and_retrain_of_every_seed_have_seeds_of_their_own(workshop, seeds):
    for seed in (0, 1):
        main(workshop.train("seeded", 1, seed=seed))
        main(workshop.train("seeded", 1, seed=seed, split=workshop.split))
    assert len(set(seeds)) == len(seeds) == 4


def test_a_method_has_a_seed_of_its_own_by_phase_name_seed_and_split(workshop, seeds):
    other = workshop.choose("other", {"class": "family_1_class_0", "fraction": 0.5})
    quick = {"epochs": 0, "k": 20}
    for changes in ({}, {"seed": 1}, {"split": other}):
        main(workshop.method("unlearn", "seeded", "neighbor", quick, run="x", **changes))
    main(workshop.method("unlearn", "seeded", "salun", {"epochs": 0}, run="x"))
    # Two phases each.
    assert len(set(seeds)) == len(seeds) == 8
    again, seeds[:] = list(seeds), []
    main(workshop.method("unlearn", "seeded", "neighbor", quick, run="x"))
    assert seeds == again[:2]


# Unlearning


def test_a_run_uses_the_parameters_that_tuning_selected(workshop):
    chosen = read(workshop, "tune", "selected.json")["params"]["lr"]
    assert chosen != FT["lr"]
    assert read(workshop, "ft-tuned", "record.json")["params"]["lr"] == chosen


def test_the_value_of_a_sweep_replaces_the_tuned_one(workshop):
    selected, vary = workshop.folder / "tune" / "selected.json", {"lr": 0.5}
    command = workshop.method("unlearn", "swept", "ft", FT, selected=selected, run="x", vary=vary)
    main(command)
    assert read(workshop, "swept", "record.json")["params"]["lr"] == 0.5


def test_a_run_that_diverges_is_a_result(workshop):
    main(workshop.method("unlearn", "diverged", "ft", {**FT, "lr": 1e38}, run="ft"))
    assert read(workshop, "diverged", "record.json")["status"] == "diverged"


COUNTS = {"epochs": 1, "batch_size": 16, "k": 20, "teacher_epochs": 2, "samples": 9, "steps": 5}


@pytest.fixture
def no_preparing(monkeypatch):
    def fail(*_):
        raise AssertionError("it was prepared already")

    return lambda: monkeypatch.setattr(Method, "prepare", fail)


@pytest.mark.parametrize("method", TWO_PHASES)
def test_it_does_not_matter_which_job_prepared(workshop, method, no_preparing):
    fields = params_class(method).model_fields
    params = params_class(method).model_validate({k: v for k, v in COUNTS.items() if k in fields})
    values = params.model_dump(mode="json")
    main(workshop.method("tune", f"{method}-tuned", method, values, trials=[{}]))
    main(workshop.method("unlearn", f"{method}-alone", method, values, run="x"))
    seconds = read(workshop, f"{method}-alone", "cost.json")["seconds"]
    no_preparing()
    for source in ("tuned", "alone"):
        kept = workshop.folder / f"{method}-{source}" / "prepared"
        assert [path.name for path in kept.iterdir()] == [prepared_name(method, params)]
        taker = f"{method}-as-{source}"
        main(workshop.method("unlearn", taker, method, values, run="x", prepared=kept))
        assert workshop.results(taker) == workshop.results(f"{method}-alone")
        assert not (workshop.folder / taker / "prepared").exists()
        assert read(workshop, taker, "cost.json")["seconds"].keys() == seconds.keys()


def test_prepared_files_with_other_parameters_are_not_used(workshop):
    given = {key: value for key, value in COUNTS.items() if key not in ("samples", "steps")}
    main(workshop.method("unlearn", "ltd-20", "ltd", given, run="x"))
    kept, other = workshop.folder / "ltd-20" / "prepared", {**given, "k": 30}
    main(workshop.method("unlearn", "ltd-30", "ltd", other, run="x", prepared=kept))
    assert read(workshop, "ltd-30", "record.json")["extra"]["support_size"] == 30


# Tracking


class Killed(Exception):
    """Ends a job as a kill does."""


LTD = {key: value for key, value in COUNTS.items() if key not in ("samples", "steps")}
METHODS = {
    "ltd": {**LTD, "epochs": 3},
    "ga": {"steps": 3, "batch_size": 4, "lr": 0.001},  # two steps a pass over 8 forget examples
    "iu": {"samples": 9},  # no epochs at all
}
POINTS = {"ltd": 4, "ga": 3, "iu": 2}  # the base and every epoch, or the end


def read_epochs(workshop: Workshop, name: str) -> list[Epoch]:
    return Epochs.load(workshop.folder / name / "epochs.npz").models


@pytest.fixture(scope="module", params=list(METHODS))
def tracked(workshop, request) -> str:
    """Run a method with and without tracking; return its name."""
    method = request.param
    for folder, track in (("plain", False), ("tracked", True)):
        params = METHODS[method]
        main(workshop.method("unlearn", f"{method}-{folder}", method, params, track=track))
    return method


def test_tracking_changes_nothing_and_adds_the_epochs(workshop, tracked):
    plain, seen = (workshop.results(f"{tracked}-{name}") for name in ("plain", "tracked"))
    assert seen.pop("epochs.npz")
    assert seen["record.json"]["files"].pop("epochs.npz")
    assert plain.keys() == seen.keys()
    assert plain == seen


def test_tracking_stores_outputs_of_the_base_and_of_every_epoch(workshop, tracked):
    epochs = read_epochs(workshop, f"{tracked}-tracked")
    assert len(epochs) == POINTS[tracked]
    for epoch, name in ((epochs[0], "base"), (epochs[-1], f"{tracked}-tracked")):
        for part in ("train", "test"):
            kept = getattr(epoch, part)
            stored = StoredOutputs(workshop.folder / name / "outputs.npz", part)
            assert np.array_equal(kept.confidence, stored.confidence)
            assert np.array_equal(kept.prediction, stored.prediction)


def test_tracking_stores_seconds_that_include_the_preparation(workshop, tracked):
    cost = read(workshop, f"{tracked}-tracked", "cost.json")
    seconds = cost["epoch_seconds"]
    assert len(seconds) == POINTS[tracked]
    assert seconds == sorted(seconds)
    prepared = sum(s for phase, s in cost["seconds"].items() if phase != "unlearn")
    assert prepared <= seconds[0] < seconds[-1] <= cost["total_seconds"]
    assert "epoch_seconds" not in read(workshop, f"{tracked}-plain", "cost.json")


def test_a_run_that_is_no_longer_tracked_leaves_no_epochs_behind(workshop):
    for track in (True, False):
        main(workshop.method("unlearn", "once", "ga", METHODS["ga"], track=track))
    assert "epochs.npz" not in workshop.results("once")


def test_a_tracked_run_that_was_killed_ends_in_the_same_bits(workshop, tracked, monkeypatch):
    make_tracker = unlearn.make_tracker

    def dying(killed_at):
        """Return a tracker that is killed when it is asked once more than `killed_at` times."""
        calls = []

        def measured(session):
            def measure(model):
                calls.append(model)
                if len(calls) > killed_at:
                    raise Killed
                return make_tracker(session)(model)

            return measure

        return measured

    for killed_at in range(1, POINTS[tracked]):
        name = f"{tracked}-killed-{killed_at}"
        command = workshop.method("unlearn", name, tracked, METHODS[tracked], track=True)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(unlearn, "make_tracker", dying(killed_at))
            main(command)
        main(command)
        assert workshop.results(name) == workshop.results(f"{tracked}-tracked")


def test_a_tracked_run_does_not_go_on_from_one_that_was_not(workshop, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(unlearn, "write_results", fail)
    with pytest.raises(OSError, match="no space"):
        main(workshop.method("unlearn", "late", "ltd", METHODS["ltd"]))
    monkeypatch.undo()
    main(workshop.method("unlearn", "late", "ltd", METHODS["ltd"], track=True))
    assert len(read_epochs(workshop, "late")) == POINTS["ltd"]


def test_a_model_that_diverges_is_measured_as_undefined(workshop):
    wild = {**FT, "lr": 1e38}
    main(workshop.method("unlearn", "tracked-wild", "ft", wild, run="x", track=True))
    first, *others = read_epochs(workshop, "tracked-wild")
    assert not first.is_diverged
    assert len(others) == FT["epochs"] and all(epoch.is_diverged for epoch in others)


def test_a_control_is_given_retrains_outputs(workshop):
    retrained = workshop.folder / "retrain" / "outputs.npz"
    params = {"epochs": 1, "batch_size": 16}
    main(workshop.method("unlearn", "ideal", "ideal", params, run="ideal", retrained=retrained))
    record = read(workshop, "ideal", "record.json")
    assert record["inputs"]["retrain/outputs.npz"] == file_hash(retrained)


def test_a_stage_names_the_fault_of_its_input(workshop):
    with pytest.raises(SystemExit, match=r"fraction: 0\.01 of the 16 train examples"):
        workshop.choose("bad", {"class": 0, "fraction": 0.01})
    assert not (workshop.folder / "bad").exists()


def test_an_input_of_another_content_than_its_record_names_is_refused(workshop, tmp_path):
    before = workshop.base.read_bytes()
    try:
        workshop.base.write_bytes(before[:-1] + b"x")
        with pytest.raises(SystemExit, match="its content is not the one that record"):
            main(workshop.method("unlearn", "refused", "ft", FT))
    finally:
        workshop.base.write_bytes(before)
    assert not (workshop.folder / "refused").exists()


# Status


@pytest.mark.parametrize(
    ("prediction", "confidence", "status"),
    [
        ([0, 1, 0, 1], [0.9] * 4, "ok"),
        ([0, 0, 0, 0], [0.9] * 4, "collapsed"),
        ([0, 1, 0, 1], [0.9, np.nan, 0.9, 0.9], "diverged"),
    ],
)
def test_the_status_tells_a_model_that_is_lost(prediction, confidence, status):
    labels = Labels(np.array([0, 1, 0, 1]), np.array([0]), ("a", "b"))
    logits = np.zeros((4, 2), dtype=np.float16)
    seen = Outputs(logits, np.array(confidence, dtype=np.float32), np.array(prediction))
    assert find_status(ModelOutputs(seen, seen), labels) == status
