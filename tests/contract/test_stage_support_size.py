"""Teachers on supports of every size: they are the runs' own, and none is trained twice."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from workshop import Workshop, main

from collateral.jobs.support_size import SupportSizeJob
from collateral.methods.ltd import method as ltd
from collateral.methods.ltd.params import Prepare
from collateral.metrics.similarity import assign_bins
from collateral.results import layout
from collateral.results.files import write_json
from collateral.results.outputs import SupportSizes
from collateral.results.provenance import read_record, write_record
from collateral.stages._workspace import Workspace

SIZES = [8, 16, 40]
TEACHER = {"teacher_epochs": 3, "teacher_batch_size": 16, "threshold": 1.0}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    workshop = Workshop(tmp_path_factory.mktemp("support_size"))
    main(workshop.train("base", epochs=4))
    return workshop


def command(workshop: Workshop, name: str, sizes=SIZES, **options) -> Workspace:
    return workshop.method("support_size", name, "ltd", TEACHER, sizes=sizes, **options)


def read(workshop: Workshop, name: str) -> SupportSizes:
    return SupportSizes.load(workshop.folder / name / "support_sizes.npz")


@pytest.fixture(scope="module")
def done(workshop) -> SupportSizes:
    main(command(workshop, "plain"))
    return read(workshop, "plain")


def prepared(workshop: Workshop, k):
    """Return what a run of LTD prepares with this k."""
    name = f"prepared-{k}"
    params = {**TEACHER, "k": k, "epochs": 0, "batch_size": 16}
    main(workshop.method("unlearn", name, "ltd", params, run="ltd"))
    (tensors,) = (workshop.folder / name).rglob("prepared.safetensors")
    return load_file(tensors), read_record(workshop.folder / name / "record.json")


def test_each_teacher_is_the_one_that_a_run_with_this_k_has(workshop, done):
    tensors, record = prepared(workshop, 16)
    assert done.sizes.tolist() == [8, 16, 40]
    assert np.array_equal(done.soft_labels[1], tensors["soft_labels"].numpy())
    reported = record["extra"]
    assert done.epochs[1] == reported["teacher_epochs"]
    assert done.support_accuracy[1] == reported["teacher_support_accuracy"]
    assert done.least_similarity[1] == reported["support_similarity_min"]
    assert done.num_classes[1] == reported["support_classes"]


def test_the_step_is_that_of_auto(workshop, done):
    tensors, record = prepared(workshop, "auto")
    assert done.auto_size == len(tensors["support"])
    assert done.step_rate == record["extra"]["auto_rate"]
    assert np.array_equal(done.step_drop, tensors["auto_drop"].numpy(), equal_nan=True)
    assert np.array_equal(done.step_edges, tensors["auto_edges"].double().numpy())
    bins = assign_bins(tensors["similarity"].numpy(), done.step_edges)
    assert done.step_counts.tolist() == np.bincount(bins, minlength=10).tolist()
    assert np.array_equal(np.isnan(done.step_drop), done.step_counts == 0)
    # What auto takes is a whole number of bins from the top.
    assert done.auto_size in done.step_counts[::-1].cumsum()


def test_larger_supports_reach_further(done):
    assert (np.diff(done.least_similarity) < 0).all()
    assert (np.diff(done.num_classes) >= 0).all()


def test_a_second_run_gives_the_same_bits(workshop, done):
    main(command(workshop, "again"))
    assert workshop.results("plain").keys() == {"support_sizes.npz", "record.json"}
    assert workshop.results("again") == workshop.results("plain")
    assert not workshop.checkpoints("again").exists()


def test_a_killed_job_does_not_train_the_finished_teachers_again(workshop, done, monkeypatch):
    trained, train = [], ltd.train_teacher

    def spy(teacher, support, *rest):
        if len(support) == 40 and not trained[2:]:
            trained.append("killed")
            raise KeyboardInterrupt
        trained.append(len(support))
        return train(teacher, support, *rest)

    monkeypatch.setattr(ltd, "train_teacher", spy)
    with pytest.raises(KeyboardInterrupt):
        main(command(workshop, "killed"))
    main(command(workshop, "killed"))
    assert trained == [8, 16, "killed", 40]
    assert workshop.results("killed") == workshop.results("plain")


def test_it_is_described_without_anything_of_retrain(workshop):
    assert not any("retrain" in name for name in SupportSizeJob.model_fields)
    assert "retrained" not in command(workshop, "x").job.inputs


def test_a_size_beyond_the_retained_examples_is_left_out(workshop, done, caplog):
    main(command(workshop, "large", [*SIZES, 57, 99]))
    assert read(workshop, "large").sizes.tolist() == [8, 16, 40]
    assert "only 56 examples are retained" in caplog.text


def test_two_sizes_are_the_least(workshop):
    with pytest.raises(SystemExit, match=r"support_size\.k: \[8, 57\]: two at least must"):
        main(command(workshop, "x", [8, 57]))


def test_the_tunings_choice_decides_on_the_teacher_but_not_on_k(workshop):
    folder = workshop.folder / "tuning"
    selected, trials = folder / "selected.json", folder / "trials.csv"
    write_json(selected, {"params": {"teacher_epochs": 2, "k": 30, "lr": 0.1}})
    trials.write_text("teacher_epochs,k,lr,is_chosen\n2,30,0.1,True\n")
    write_record(layout.record_path(trials), {}, root=workshop.folder, files=[selected, trials])
    main(command(workshop, "tuned", [8, 16], selected=selected))
    chosen = read(workshop, "tuned")
    assert chosen.sizes.tolist() == [8, 16]
    assert chosen.epochs.tolist() == [2, 2]


def test_the_record_contains_all_support_sizes(workshop, done):
    record = read_record(workshop.folder / "plain" / "record.json")
    assert record["params"] == {**Prepare(**TEACHER).model_dump(), "k": [8, 16, 40], "top": 3}
    assert record["inputs"].keys() == {"dataset.npz", "cell/split.json", "base/model.safetensors"}


def test_all_classes_may_be_kept(workshop, done):
    main(command(workshop, "all", [8, 16], top="all"))
    assert read(workshop, "all").top == 4
