"""`collateral estimate`: images, seconds and bytes by hand, measured speeds, the paper's times."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import yaml
from image_files import write_folder
from plug_ins import HEAD, forgotten_after, write_method

from collateral.cli import main
from collateral.commands import estimate as command
from collateral.config.load import load, read
from collateral.contract.params import MethodParams
from collateral.contract.work import Sizes, training_work
from collateral.jobs import list_jobs
from collateral.jobs.base import PlannedBase
from collateral.jobs.expose import PlannedExpose
from collateral.jobs.pictures import NUM_IMAGES
from collateral.jobs.probe import PlannedProbe
from collateral.jobs.retrain import PlannedRetrain
from collateral.jobs.shadow import PlannedShadow
from collateral.jobs.teacher import PlannedTeacher
from collateral.jobs.tune import PlannedTune
from collateral.jobs.unlearn import PlannedUnlearn
from collateral.models._metadata import find_metadata
from collateral.plan import estimate as estimates
from collateral.plan.estimate import (
    PRESENTING_SECONDS,
    SHARED_SECONDS,
    SHIPPED,
    START_SECONDS,
    WARM_START_SECONDS,
    Speed,
    Speeds,
    TrainedModel,
    checkpoint_bytes,
    data_mb,
    duration,
    estimate,
    finished_speeds,
    list_models,
    memory_mb,
    minutes,
    planned_speeds,
    trained_models,
)
from collateral.plan.grid import build_grid
from collateral.plan.work import SizeUnknownError, WorkError, Workload
from collateral.plugins.find import add_plugins, params_class
from collateral.results.provenance import write_cost, write_record
from collateral.results.record import processor_name
from collateral.stages import neighbours

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "configs/paper.yaml"
IMAGES = (32, 32, 3)
# 4 classes of 60 and 20 images of 8x8; 30 are forgotten.
SYNTHETIC = {"name": "synthetic", "families": 2, "classes_per_family": 2}
BENCHMARK = {
    "data": SYNTHETIC,
    "model": "resnet8",
    "base": {"epochs": 3, "sharing": "shared"},
    "seeds": [0, 1, 2],
    "classes": [0],
    "fractions": [0.5],
    "methods": {"ft": {"epochs": 2, "lr": [0.1, 0.2, 0.3]}, "salun": {"epochs": 1}},
}
TRAIN, TEST, RETAIN, FORGET = 240, 80, 210, 30
ALL = TRAIN + TEST


def workload(**changes):
    config = load({"benchmarks": {"tiny": BENCHMARK | changes}})
    return Workload(build_grid(config)["tiny"])


def cell_of(work):
    return next(iter(work.benchmark.cells.values()))


def job(work, kind, *fields):
    """Return a job of the only cell."""
    return kind(work.benchmark, cell_of(work), *fields)


def jobs_of(work):
    return [*list_jobs(work.benchmark)]


def taken_by(work):
    """Return the disk space by rule."""
    taken = Counter()
    for one in jobs_of(work):
        taken[one.rule] += one.bytes
    return taken


def images_of(job):
    """Return the number of training images of the benchmark's model, the only one of the job."""
    assert job.work.images.keys() <= {"own"}
    return pytest.approx(job.work.images.get("own", 0))


def test_training_from_scratch_is_counted_with_its_evaluation():
    """A forward pass counts a third; weights of one's own are evaluated twice."""
    work = workload()
    assert images_of(PlannedBase(work.benchmark, 0)) == 3 * TRAIN + ALL / 3
    assert images_of(job(work, PlannedRetrain, 0)) == 3 * RETAIN + ALL / 3
    own = workload(base={"weights": "mine.pt", "epochs": 3})
    assert images_of(PlannedBase(own.benchmark, 0)) == 2 * ALL / 3


def test_preparation_is_counted_once():
    """SalUn is prepared once per seed, for which one pass over the data is assumed."""
    work = workload(methods={"salun": {"epochs": 1, "lr": [0.1, 0.2]}})
    trained = Counter()
    for one in jobs_of(work):
        trained[one.rule] += one.work.images.get("own", 0)
    runs, trials, seeds = 3 * (TRAIN + ALL / 3), 3 * (TRAIN + ALL / 3), 3
    assert trained["unlearn"] + trained["tune"] == pytest.approx(runs + trials + seeds * TRAIN)


def test_a_method_of_ones_own_is_taken_to_pass_over_all_that_it_touches():
    class Params(MethodParams):
        touches: ClassVar[frozenset[str]] = frozenset({"retain", "forget labels"})
        epochs: int = 3

    class Both(Params):
        touches: ClassVar[frozenset[str]] = frozenset({"retain", "forget images"})

    sizes = Sizes(retain=70, forget=30, classes=10, pixels=64, weights=1000)
    assert Params().unlearn_work(sizes) == training_work(3 * 70)
    assert Both().unlearn_work(sizes) == training_work(3 * 100)
    assert Both().prepare_work(sizes) == training_work(100)
    assert Both().prepared_numbers(sizes) == 1000


@pytest.mark.parametrize(
    ("method", "values", "images"),
    [
        ("ga", {"epochs": 3}, 3 * 30),
        ("ga", {"steps": 50, "batch_size": 20}, 50 * 20),
        ("ga", {"steps": 50, "batch_size": 256}, 50 * 30),  # a batch has at most the forget set
        ("rl", {"epochs": 3, "retain": False}, 3 * 30),
        ("sfron", {"steps": 50, "batch_size": 20}, 50 * 20),
        ("amun", {"epochs": 3, "steps": 50}, 3 * 100),  # the steps of its attack are no epochs
    ],
)
def test_steps_replace_epochs_and_a_method_may_leave_the_retained_examples_out(
    method, values, images
):
    sizes = Sizes(retain=70, forget=30, classes=10, pixels=64, weights=1000)
    params = params_class(method).model_validate({"lr": 0.1, **values})
    assert params.unlearn_work(sizes) == training_work(images)


def test_jobs_are_counted_rule_by_rule():
    """The base model itself, a control, is no job; what presents is."""
    sizes = {"support_size": {"method": "ltd", "k": [20, 60]}}
    methods = {"ltd": {"lr": [0.1, 0.2]}, "ft": {}}
    work = workload(methods=methods, controls=["original", "ideal"], **sizes)
    jobs = Counter(one.rule for one in jobs_of(work))
    jobs.update([*PRESENTING_SECONDS, *SHARED_SECONDS])
    once = ("data", "split", "base", "neighbours", "pictures", "metrics", "tune")
    present = ("plan", "gather", "tables", "figures", "theory", "report", "index", "check")
    seeds = {"retrain": 3, "support_size": 3, "unlearn": 3 * len(("ltd", "ft", "ideal"))}
    assert jobs == {**dict.fromkeys((*once, *present), 1), **seeds}


@pytest.mark.parametrize(
    ("probe", "trained", "seen"),
    [
        # Four models (Retrain, FT, SalUn, the original), of 30 forgotten: 15 to learn, 15 to see.
        ({"relearn": {"steps": 10, "batch_size": 8}}, 4 * 10 * 8, 4 * 11 * 15),
        ({"residual": {"count": 100}, "zrf": {}}, 0, 4 * 100 * 30 + 30),
        # 100 to fit on; 50 each of three parts, and the forgotten.
        ({"linear": {"examples": 100}, "cka": {"examples": 50}}, 0, 4 * (160 + 180)),
        (
            {"resurface": {"steps": [1, 5], "batch_size": 8, "examples": 20}},
            4 * 5 * 8,
            4 * 3 * (30 + 2 * 20),
        ),
    ],
)
def test_models_that_are_used_once_more_are_counted(probe, trained, seen):
    work = workload(probe=probe)
    assert images_of(job(work, PlannedProbe, 0)) == trained + seen / 3
    assert taken_by(work)["probe"] == 3 * (4 * FORGET * (4 + 4) + 3 * 4096)
    assert taken_by(workload())["probe"] == 0


def test_probes_are_one_job_a_cell_and_seed_and_change_no_other():
    plain, probed = (
        [(one.rule, one.out, one.work) for one in jobs_of(work)]
        for work in (workload(), workload(probe=["relearn", "residual", "zrf"]))
    )
    assert [one for one in probed if one[0] != "probe"] == plain
    assert len([one for one in probed if one[0] == "probe"]) == 3


def test_the_pool_is_one_for_all_cells_and_a_job_is_a_cell_and_method():
    def counted(**changes):
        work = workload(
            classes=[0, 1, 2], controls=["original", "ideal"], methods=methods, **changes
        )
        return Counter(one.rule for one in jobs_of(work))

    methods = {"ltd": {"k": 20}, "ft": {}}
    more = counted(shadows={"count": 8, "share": 0.5})
    more.subtract(counted())
    assert {rule: count for rule, count in more.items() if count} == {"shadow": 8, "expose": 3 * 2}


def test_a_method_unlearns_from_every_shadow_model_with_the_mean_work_of_its_trials():
    """A shadow model has 60 % of 240: 126 of the 210 retained and 18 of the 30 forgotten."""
    methods = {"ft": {"lr": [0.1, 0.2], "epochs": 2}, "salun": {"epochs": 1}}
    work = workload(methods=methods, shadows={"count": 8, "share": 0.6})
    first = PlannedShadow(work.benchmark, 0)
    assert images_of(first) == 3 * 144 + TRAIN / 3
    assert first.bytes == work.facts.bytes(4) + (1 + 4) * TRAIN + 9 * 4096
    assert images_of(job(work, PlannedExpose, "ft")) == 8 * (2 * 126 + TRAIN / 3)
    prepared = job(work, PlannedExpose, "salun")
    assert images_of(prepared) == 8 * (144 + 144 + TRAIN / 3)
    assert prepared.bytes == 8 * (1 + 4 + 4) * TRAIN + 9 * 4096


def test_disk_space_of_every_kind_of_job_is_its_arrays_and_small_files():
    """Of 320 images of 8x8, 4 classes and 64 features; SalUn keeps a number for every weight."""
    work = workload(methods={"ft": {}, "salun": {"epochs": 1}}, seeds=[0, 1])
    run = work.facts.bytes(4) + ALL * (2 * 4 + 4 + 8) + 9 * 4096
    assert work.run_bytes == run
    assert taken_by(work) == {
        "data": ALL * (64 + 8 + 8),
        "split": 0,
        "base": run + 4 * 64 * ALL,
        "neighbours": 4 * 2 * ALL,
        "pictures": (204 + 2 * 16) * 64,
        "retrain": 2 * run,
        "unlearn": 4 * run + 2 * 4 * work.facts.numbers,
        "metrics": 1_000_000,
    }


def test_of_more_than_256_classes_ten_logits_an_example_are_kept():
    data = {"name": "synthetic", "families": 64, "classes_per_family": 4}
    work = workload(data=data)
    assert work.run_bytes == work.facts.bytes(256) + 256 * 80 * (2 * 256 + 12) + 9 * 4096
    data["families"] = 65
    work = workload(data=data)
    assert work.run_bytes == work.facts.bytes(260) + 260 * 80 * (10 * 4 + 2 + 12) + 9 * 4096


def test_seconds_of_metrics_grow_with_examples_and_runs():
    """Of 3 seeds: Retrain, the original, FT and GA."""
    work = workload(methods={"ft": {}, "ga": {"epochs": 5}})
    by_rule = {one.rule: one.seconds for one in jobs_of(work)}
    assert by_rule["metrics"] == pytest.approx(0.2 + ALL * 3 * 4 * 8e-6)
    assert by_rule["data"] == pytest.approx(0.5 + 8e-8 * ALL * (64 + 16))


def large_workload(**changes):
    """1,000 classes of 60 and 20 images of 224 pixels, which are never made."""
    data = {"name": "synthetic", "families": 500, "classes_per_family": 2, "size": 224}
    return workload(data=data, model="timm/resnet18", base={"batch_size": 128}, **changes)


def memory_of(job, has_gpu=True, attempt=1):
    """Return the main memory of a job above the least, in MB."""
    return memory_mb(job, attempt, has_gpu=has_gpu) / 2 ** (attempt - 1) - 4000


def test_memory_for_a_scheduler_has_weights_and_outputs_but_no_mapped_images():
    """Of 512 features and 1,000 classes; without a GPU, activations too."""
    base = PlannedBase(large_workload().benchmark, 0)
    weights = find_metadata("timm/resnet18", IMAGES).bytes(1000)
    needed = 8 * weights + 8 * 80_000 * (512 + 1000)
    activations = 4 * 64 * 128 * 224 * 224
    assert needed < 1.4e9 < activations < 80_000 * 224 * 224  # images are the most
    assert memory_of(base) == round(needed / 2**20)
    assert memory_of(base, has_gpu=False) == round((needed + activations) / 2**20)
    assert [memory_mb(base, n, has_gpu=True) for n in (2, 3)] == [
        times * memory_mb(base, 1, has_gpu=True) for times in (2, 4)
    ]


def test_memory_grows_with_what_a_method_prepares():
    """30 images of class 0 are forgotten: AMUN has a float image of each, SSD two importances."""
    small = "ft", "amun", "ssd", "rum"
    methods = {name: {} for name in small} | {"rum": {"high": {"uses": "amun"}}}
    work = large_workload(methods=methods)
    base, found = PlannedBase(work.benchmark, 0), {}
    for name in small:
        found[name] = job(work, PlannedUnlearn, 0, name)
    weights = work.facts.numbers
    numbers = {name: one.prepared_numbers for name, one in found.items()}
    images = 30 * 224 * 224
    # A third of the forget set is RUM's high part, but all of it is counted.
    assert numbers == {"ft": 0, "amun": images, "ssd": 2 * weights, "rum": images}
    for has_gpu, copies in ((True, 2), (False, 8)):
        least = memory_of(base, has_gpu)
        for name, one in found.items():
            more = memory_of(one, has_gpu) - least
            assert more == pytest.approx(copies * 4 * numbers[name] / 2**20, abs=1)
    assert memory_of(job(work, PlannedRetrain, 0)) == memory_of(base)


def test_memory_of_tuning_is_that_of_its_largest_trial():
    methods = {"natmu": {"blends": [1, 7, 3]}, "ft": {"lr": [0.1, 0.2]}}
    work = large_workload(methods=methods)
    numbers = job(work, PlannedTune, "natmu").prepared_numbers
    assert numbers == 7 * 30 * 224 * 224 // 4
    assert job(work, PlannedTune, "ft").prepared_numbers == 0


def test_data_that_are_read_in_pieces_need_no_memory_for_images(tmp_path, monkeypatch):
    """3 bytes of each value otherwise; paths and labels are always in memory."""
    assert data_mb(large_workload().benchmark, 1) == 1000 + round(3 * 80_000 * 224**2 / 2**20)
    assert data_mb(large_workload().benchmark, 2) == 2 * data_mb(large_workload().benchmark, 1)
    write_folder(tmp_path, each=(40, 3), height=9, width=9)
    data = {"name": "folder", "path": str(tmp_path), "size": 1024}
    benchmark = workload(data=data, classes=["cat"]).benchmark
    assert data_mb(benchmark, 1) == 500 < 86 * 1024**2 * 3 * 3 / 2**20
    assert data_mb(benchmark, 3) == 2000
    size = SimpleNamespace(num_examples=131_689, image_bytes=224 * 224 * 3)  # of ImageNet-100
    monkeypatch.setattr(estimates, "find_workload", lambda _: SimpleNamespace(size=size))
    assert 600 < data_mb(benchmark, 1) < 700


def test_scaled_images_of_torchvision_need_no_memory():
    """3 x 60,000 images of 224 pixels were 26,840 MB; torch and small images are left."""
    data = {"name": "torchvision", "dataset": "CIFAR10", "size": 224}
    assert data_mb(workload(data=data).benchmark, 1) == 2000 + round(60_000 * 1500 / 2**20)


def finish(results, benchmark, model, speed, device="cuda", processor=None):
    """Write the cost of a finished base model, as a job writes it."""
    folder = results / benchmark / "base/seed-3"
    write_record(folder / "record.json", {}, root=results / benchmark, files=[])
    cost = {"device": device, "processor": processor or processor_name()}
    entry = {"model": model, "images_per_second": speed}
    write_cost(folder, {**cost, "speed": entry}, root=results / benchmark)
    return folder / "cost.json"


def test_time_limits_are_of_finished_jobs_on_gpus_or_else_of_an_assumed_speed(
    tmp_path, monkeypatch
):
    """Every further attempt doubles them; 24 hours are the most."""
    base = PlannedBase(build_grid(read(PAPER))["cifar100"], 0)
    images = 200 * 50_000 + 60_000 / 3
    monkeypatch.chdir(tmp_path)
    for model, speed in (("resnet8", 6400), ("resnet56", 2000)):
        finish(tmp_path / "results", "any", (model, IMAGES, "float32"), 2000.0)
        planned_speeds.cache_clear()
        planned = round(4 * images / speed / 60)
        assert [minutes(base, attempt) for attempt in (1, 2, 9)] == [planned, 2 * planned, 24 * 60]
    planned_speeds.cache_clear()


def test_a_tracked_run_is_a_job_of_its_own_and_keeps_every_epoch():
    """Of the base and two epochs four bytes of confidence and two of prediction, an example."""
    plain, tracked = workload(), workload(track=["ft"])
    jobs = [{one.rule: one for one in jobs_of(work)} for work in (plain, tracked)]
    assert "track" in jobs[1] and "track" not in jobs[0]
    kept = ALL * 3 * (4 + 2)
    taken, before = taken_by(tracked), taken_by(plain)
    assert taken["track"] == 3 * (plain.run_bytes + kept)
    assert taken["track"] + taken["unlearn"] == before["unlearn"] + 3 * kept
    assert checkpoint_bytes(tracked) == checkpoint_bytes(plain) + kept


# A batch has 20: the 30 forgotten are two, with the 210 retained twelve.
@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("ft", {"epochs": [2, 5, 3]}, 5),  # the longest that tuning may choose
        ("ga", {"steps": 5}, 3),
        ("ga", {"steps": 4, "epochs": 20}, 2),
        ("rl", {"steps": 13}, 2),
        ("rl", {"steps": 11, "retain": False}, 6),
        ("ga", {"steps": 5, "batch_size": 25}, 5),  # a rest of five joins the batch before it
        ("rl", {"steps": 4, "batch_size": 80}, 2),  # the 240 are three
        ("rl", {"steps": 4, "batch_size": 78}, 2),  # and here too, of 78, 78 and 84
        ("amun", {"epochs": 2, "steps": 50}, 2),  # of its attack
    ],
)
def test_a_tracked_run_has_as_many_epochs_as_its_steps_fill(method, params, expected):
    batch = {"batch_size": 20, **params}
    work = workload(methods={method: batch}, track=[method])
    cell = cell_of(work)
    assert work.num_tracked(cell, cell.runs[method]) == expected + 1
    assert checkpoint_bytes(work) - checkpoint_bytes(workload()) == ALL * (expected + 1) * (4 + 2)


def test_the_images_beside_similarities_are_the_most_that_the_stage_keeps():
    near = neighbours.NUM_SHOWN["train"] + neighbours.NUM_SHOWN["test"]
    assert 2 * near + neighbours.NUM_SHOWN["forget"] == NUM_IMAGES


COUCH = {"ft": 158.6, "rl": 154.4, "ltd": 226.5, "amun": 171.0}
DIGIT_9 = {"ft": 187.5, "rl": 197.6, "ltd": 348.1, "amun": 305.9}


@pytest.mark.parametrize(
    ("benchmark", "place", "method", "seconds"),
    [
        *(("cifar100", "couch-50", *time) for time in COUCH.items()),
        *(("svhn", "digit_9-50", *time) for time in DIGIT_9.items()),
    ],
)
def test_the_papers_times_are_within_50_percent(benchmark, place, method, seconds):
    """At the speeds of its Retrain, and of small teachers at 50,000 images per second.

    LTD's teacher is assumed to need all of its 250 epochs.
    """
    speeds = {"resnet56": 200 * 49_750 / 1558.9, "vit_tiny": 100 * 70_928 / 2115.0}
    work = Workload(build_grid(read(PAPER))[benchmark])
    run = PlannedUnlearn(work.benchmark, work.benchmark.cells[place], 1, method)
    spec, sizes = run.spec, work.sizes(run.cell)
    computed = spec.params.unlearn_work(sizes)
    if spec.prepare_calls:
        computed += spec.params.prepare_work(sizes)
    names = {"own": run.model}
    taken = sum(n / speeds.get(names.get(m, m), 50_000) for m, n in computed.images.items())
    assert taken == pytest.approx(seconds, rel=0.5)


OWN = TrainedModel("resnet8", (8, 8, 1), "float32")


def test_a_speed_is_of_one_model_shape_and_precision_and_assumed_for_all_others():
    speeds = Speeds("x", False, 640.0, {OWN: Speed(7.0, "measured")})
    assert speeds.find(OWN) == (7.0, "measured")
    for other in (OWN._replace(name="mlp"), OWN._replace(precision="bfloat16")):
        assert speeds.find(other).images_per_second == 10.0
        assert speeds.find(other).source == "assumed: 640 pixel values/s, whatever the model"
    assert speeds.find(OWN._replace(shape=(8, 8, 2))).images_per_second == 5.0
    assert speeds.seconds([(OWN, 21.0), (OWN._replace(name="mlp"), 40.0)]) == 3.0 + 4.0


def test_finished_jobs_tell_the_speed_of_their_device(tmp_path):
    other = OWN._replace(name="mlp")
    for benchmark, model, speed in (("a", OWN, 3.0), ("b", OWN, 90.0), ("c", OWN, 5.0)):
        finish(tmp_path, benchmark, model, speed, "cpu")
    finish(tmp_path, "d", other, 8.0, "cpu", processor="another")
    finish(tmp_path, "e", other, 9.0, "cuda", processor="another")
    finish(tmp_path, "f", other, 10.0, "cpu").write_text("{damaged")
    finish(tmp_path, "g", None, 11.0, "cpu")
    finished = "measured by finished jobs"
    assert finished_speeds(tmp_path, is_gpu=False) == {OWN: (5.0, finished)}
    assert finished_speeds(tmp_path, is_gpu=True) == {other: (9.0, finished)}
    assert finished_speeds(tmp_path / "missing", is_gpu=True) == {}


def test_models_of_a_job_have_its_precision_and_teachers_float32():
    ltd = {"teacher": "resnet8", "k": 20, "precision": "bfloat16"}
    changes = {"base": {"epochs": 3, "precision": "float16"}, "methods": {"ltd": ltd}}
    work = workload(**changes)
    (base,) = trained_models(PlannedBase(work.benchmark, 0))
    assert base == (OWN._replace(precision="float16"), images_of(PlannedBase(work.benchmark, 0)))
    found = dict(trained_models(job(work, PlannedUnlearn, 1, "ltd")))
    assert found.keys() == {OWN._replace(precision="bfloat16"), OWN}
    assert found[OWN] == 250 * 20
    config = load({"benchmarks": {"tiny": BENCHMARK | changes}})
    assert list_models(config).keys() == {base[0], *found}


@pytest.fixture
def calibrated(monkeypatch):
    """A calibration that measures 77 images per second, but not of mlp; lists what it measured."""
    asked = []

    def measure(model, params):
        asked.append((model, params.epochs))
        if model.name == "mlp":
            raise RuntimeError("too large")
        return 77.0

    module = SimpleNamespace(measure=measure)
    monkeypatch.setitem(sys.modules, "collateral.training.calibration", module)
    monkeypatch.setattr(command, "default_device", lambda: "cpu")
    return asked


def test_a_speed_is_of_finished_jobs_else_measured_now_else_assumed(tmp_path, calibrated, caplog):
    finish(tmp_path, "a", OWN, 3.0, "cpu")
    methods = {"ltd": {"teacher": "mlp", "k": 20, "precision": "bfloat16"}, "ft": {}}
    config = load({"benchmarks": {"tiny": BENCHMARK | {"methods": methods}}})
    found = command.select_speeds(config, None, tmp_path, calibrate=False)
    half, mlp = OWN._replace(precision="bfloat16"), OWN._replace(name="mlp")
    assert {*calibrated} == {(half, 3), (mlp, 3)}
    assert found.find(OWN) == (3.0, "measured by finished jobs")
    assert found.find(half) == (77.0, "measured now, on noise")
    assert found.find(mlp).source.startswith("assumed: ")
    assert "mlp on 8x8x1: its speed cannot be measured here: too large" in caplog.text
    again = command.select_speeds(config, None, tmp_path, calibrate=True)
    assert again.find(OWN) == (77.0, "measured now, on noise")
    assert command.select_speeds(config, "a100", tmp_path, calibrate=False) == SHIPPED["a100"]


def test_a_model_of_ones_own_is_taken_for_a_large_one(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/resnet_wide.py").write_text("def build(name, info): ...")
    with forgotten_after():
        add_plugins([tmp_path])
        assert find_metadata("resnet_wide", IMAGES) == find_metadata("resnet56", IMAGES)


def test_a_default_trial_that_prepares_is_counted():
    """LTD's default k is 1000; its teacher takes all 210 that are retained."""
    ltd = {"teacher_epochs": 2, "epochs": 1, "k": [20, 60], "teacher": "mlp"}
    work = workload(methods={"ltd": ltd})
    images = job(work, PlannedTune, "ltd").work.images
    assert images["mlp"] == 2 * (20 + 60 + RETAIN)
    # Of each of three trials the epoch and the evaluation; and of each, to embed all.
    assert images["own"] == pytest.approx(3 * (TRAIN + ALL / 3 + TRAIN / 3))


BROKEN = {
    "raises": "raise ValueError('no needle')",
    "nothing": "return None",
}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raises", "unlearn_work raised ValueError: no needle"),
        ("nothing", "unlearn_work raised AttributeError"),
    ],
)
def test_a_work_function_that_is_broken_is_named(tmp_path, name, message):
    """It was taken for unreadable data, and given the least."""
    params = f"""{HEAD}
class Params(MethodParams):
    label: ClassVar[str] = "Mine"
    touches: ClassVar[frozenset[str]] = frozenset({{"retain"}})
    def unlearn_work(self, sizes):
        {BROKEN[name]}
"""
    with forgotten_after():
        add_plugins([write_method(tmp_path, name, params)])
        work = workload(methods={name: {}})
        cell = cell_of(work)
        job = PlannedUnlearn(work.benchmark, cell, 0, name)
        with pytest.raises(WorkError, match=rf"collateral\.methods\.{name}\.params: .*{message}"):
            minutes(job, 1)


def own_data(path):
    benchmark = BENCHMARK | {"data": {"name": "arrays", "path": str(path)}, "classes": [1]}
    return build_grid(load({"benchmarks": {"tiny": benchmark}}))["tiny"]


def damaged(path):
    """Write an .npz file whose list of contents is sound, and whose contents are not."""
    images, labels = np.zeros((8, 4, 4), np.uint8), np.array([0, 1] * 4)
    np.savez(path, train_images=images, train_labels=labels, test_images=images, test_labels=labels)
    content = bytearray(path.read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", ["missing", "no archive", "damaged"])
def test_data_that_cannot_be_read_leave_the_least(tmp_path, kind):
    path = tmp_path / "own.npz"
    if kind != "missing":
        damaged(path) if kind == "damaged" else path.write_text("x")
    benchmark = own_data(path)
    assert minutes(PlannedBase(benchmark, 0), 1) == 30
    # Activations of 256 images of 32x32x3, without a GPU.
    base = PlannedBase(benchmark, 0)
    assert (memory_of(base), memory_of(base, has_gpu=False)) == (0, 192)
    assert data_mb(benchmark, 1) == 500
    with pytest.raises(SizeUnknownError, match=rf"data\.path: .*{path.name}"):
        _ = Workload(benchmark).size


def test_a_forget_set_that_cannot_be_counted_leaves_the_least(tmp_path):
    (tmp_path / "listed.txt").write_text("one\n")
    cells = {"listed": {"forget": {"kind": "index_file", "path": str(tmp_path / "listed.txt")}}}
    benchmark = workload(cells=cells, base={"epochs": 10**6}).benchmark
    assert minutes(PlannedBase(benchmark, 0), 1) > 30
    assert minutes(PlannedRetrain(benchmark, benchmark.cells["listed"], 0), 1) == 30


def test_hours_are_those_of_all_jobs():
    config = load({"benchmarks": {"tiny": BENCHMARK | {"methods": {"ft": {"epochs": 2}}}}})
    speeds = Speeds("a", True, 1.0, {OWN: Speed(10.0, "")})
    found = estimate(config, speeds, in_flight=1)
    seconds = 3 * (START_SECONDS + (2 * RETAIN + ALL / 3) / 10)
    assert found.of_rule["unlearn"].jobs == 3
    assert found.of_rule["unlearn"].gpu_seconds == pytest.approx(seconds)
    assert found.of_rule["unlearn"].cpu_seconds == pytest.approx(seconds)
    assert found.of_rule["metrics"].gpu_seconds == 0 < found.of_rule["metrics"].cpu_seconds
    on_cpu = estimate(config, replace(speeds, is_gpu=False), in_flight=1)
    assert on_cpu.total.gpu_seconds == 0
    # Workers stay warm there.
    starts = (START_SECONDS - WARM_START_SECONDS) * (1 + 3 + 3)  # base, Retrain, FT
    assert on_cpu.total.cpu_seconds == pytest.approx(found.total.cpu_seconds - starts)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump({"benchmarks": {"tiny": BENCHMARK}}))
    return str(path)


def test_the_table_names_jobs_hours_disk_and_assumptions(config, capsys):
    main(["estimate", config, "--device", "a100"])
    said = capsys.readouterr().out
    assert "tiny: resnet8, 240 + 80 images of 8x8x1; cells: 1, seeds: 3" in said
    assert "kind            jobs    GPU time    CPU time        disk" in said
    assert [line.split()[1] for line in said.splitlines() if line.startswith("retrain ")] == ["3"]
    assert "- resnet8 on 8x8x1 trains on 307,200 images/s (assumed: 19,660,800 pixel" in said
    assert "LTD's teacher takes its whole budget of epochs" in said
    assert "WARNING" not in said


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ([0, 1, 2], "with 3 seeds and 2 methods, a difference from Retrain of 6.3 standard dev"),
        ([0, 1, 2], "is found in 80 % of cases"),
        ([4], "tiny: one seed tells nothing from chance; three are few, five are fair"),
    ],
)
def test_the_estimate_states_which_differences_the_seeds_can_show(tmp_path, capsys, seeds, words):
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump({"benchmarks": {"tiny": BENCHMARK | {"seeds": seeds}}}))
    main(["estimate", str(path), "--device", "cpu"])
    assert words in capsys.readouterr().out
    main(["estimate", str(path), "--device", "cpu", "--json"])
    least = json.loads(capsys.readouterr().out)["detectable"]["tiny"]
    assert (least is None) == (len(seeds) == 1)


def test_weights_that_are_given_are_compared_with_retrain_as_methods_are(tmp_path, capsys):
    path, given = tmp_path / "tiny.yaml", {"theirs": {"weights": "{cell}-{seed}.safetensors"}}
    path.write_text(yaml.safe_dump({"benchmarks": {"tiny": BENCHMARK | {"given": given}}}))
    main(["estimate", str(path), "--device", "cpu"])
    assert "with 3 seeds and 3 methods, a difference" in capsys.readouterr().out


WITHOUT_SCIPY = """
import sys
from collateral.cli import main
class Refuse:
    def find_spec(name, *rest):
        if name.split(".")[0] == "scipy":
            raise ModuleNotFoundError(f"no {name} here")
sys.meta_path.insert(0, Refuse)
main(["estimate", "--device", "cpu", *sys.argv[1:]])
"""


def estimate_without_scipy(*words):
    command = [sys.executable, "-c", WITHOUT_SCIPY, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_scipy_it_says_what_is_missing_and_all_else(config):
    said = estimate_without_scipy(config)
    assert "tiny: install scipy to know which difference the seeds can show\n" in said
    assert "Disk: " in said and "Assumed, on " in said
    found = json.loads(estimate_without_scipy(config, "--json"))
    assert found["detectable"] == {"tiny": None} and found["total"]["jobs"] > 0


def test_a_named_device_is_not_measured(config):
    with pytest.raises(SystemExit, match="--calibrate: not with --device"):
        main(["estimate", config, "--device", "cpu", "--calibrate"])


def test_a_disk_that_will_not_do_is_warned_of(config, capsys, monkeypatch):
    monkeypatch.setattr("collateral.commands.estimate.free_bytes", lambda _: 10**6)
    main(["estimate", config, "--device", "cpu"])
    assert "WARNING: the disk will not do: " in capsys.readouterr().out
    main(["estimate", config, "--device", "cpu", "--json"])
    assert json.loads(capsys.readouterr().out)["is_enough"] is False


@pytest.mark.usefixtures("calibrated")
@pytest.mark.parametrize(("device", "first"), [("a100", "GPU-minutes"), ("cpu", "About 1 min on ")])
def test_what_this_machine_takes_comes_first(config, device, first, capsys, monkeypatch):
    monkeypatch.setattr(command, "default_device", lambda: device)
    main(["estimate", config, "--calibrate"])
    lines = capsys.readouterr().out.splitlines()
    assert first in lines[0]
    assert "- resnet8 on 8x8x1 trains on 77 images/s (measured now, on noise)" in lines
    assert ("--device a100: " in lines[-1]) == (device == "cpu")


def test_there_is_a_gpu_unless_it_is_hidden(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(command.shutil, "which", lambda name: f"/bin/{name}")
    assert command.default_device() == "a100"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert command.default_device() == "cpu"


@pytest.mark.parametrize(
    ("hours", "words"), [(0.001, "1 min"), (1.5, "90 min"), (30, "30 hours"), (480, "20 days")]
)
def test_a_duration_is_in_the_unit_that_one_plans_by(hours, words):
    assert duration(hours) == words


def test_machines_get_the_same_numbers(config, capsys):
    main(["estimate", config, "--json", "--device", "cpu", "--jobs", "2"])
    said = json.loads(capsys.readouterr().out)
    found = estimate(read(Path(config)), SHIPPED["cpu"], in_flight=2)
    assert (
        said["total"]["jobs"] == found.total.jobs == sum(k["jobs"] for k in said["kinds"].values())
    )
    assert said["total"]["cpu_hours"] == pytest.approx(found.total.cpu_seconds / 3600)
    assert said["peak_bytes"] == round(found.peak_bytes)
    assert said["assumptions"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(
        SystemExit, match=r"collateral estimate: config: there is no file .*no\.yaml"
    ):
        main(["estimate", str(tmp_path / "no.yaml")])


def test_data_that_are_not_there_are_named(tmp_path):
    own = BENCHMARK | {"data": {"name": "arrays", "path": "no.npz"}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"benchmarks": {"own": own}}))
    with pytest.raises(SystemExit, match=r"data\.path: no\.npz: no \.npz file"):
        main(["estimate", str(tmp_path / "own.yaml")])


def test_the_papers_setting_is_as_the_paper_states_it():
    grid = build_grid(read(PAPER))
    fractions = {
        name: cell.forget.params["fraction"] for name, cell in grid["cifar100"].cells.items()
    }
    assert fractions == {"couch-50": 0.5, "couch-90": 0.9} | {
        f"{name}-50": 0.5 for name in ("oak_tree", "apple", "hamster", "road", "shark")
    }
    supports = {name: cell.runs["ltd"].params.k for name, cell in grid["svhn"].cells.items()}
    assert supports == {"digit_9-50": 4500, "digit_9-90": 1200}
    ranges = {"rl": (1e-3, 0.1), "ft": (1e-3, 0.1), "ga": (1e-6, 1e-2), "ltd": (1e-6, 1e-3)}
    ranges |= {"salun": (1e-3, 0.1), "amun": (1e-3, 0.1)}
    assert len(grid["mnist"].seeds) == 10
    assert all(benchmark.config.base.sharing == "shared" for benchmark in grid.values())
    for name in ("cifar100", "svhn"):
        benchmark = grid[name]
        assert benchmark.seeds == (0, 1, 2, 3, 4)
        for cell in benchmark.cells.values():
            for method, (low, high) in ranges.items():
                rates = [params.lr for params in cell.runs[method].choices]
                assert low <= min(rates) <= max(rates) <= high
            epochs = {method: cell.runs[method].params.epochs for method in ranges}
            assert set(epochs.values()) <= ({20, 5} if name == "cifar100" else {10})
            assert {p.alpha for p in cell.runs["iu"].choices} == {1, 2, 2.5, 3, 5, 10, 20}


@pytest.mark.parametrize("ltd", [{}, {"lr": [0.1, 0.2]}])
def test_the_teacher_of_tuning_is_counted_once(ltd):
    given = {"teacher_epochs": 2, "epochs": 1, "k": 20, "teacher_ensemble": 3, "teacher": "mlp"}
    given |= ltd
    methods = {"ft": {"lr": [0.1, 0.2]}, "ltd": given}
    trained, jobs = {}, {}
    for rule in ("paper", "teacher"):
        found = jobs_of(workload(methods=methods, select=rule))
        trained[rule] = sum(sum(one.work.images.values()) for one in found)
        jobs[rule] = {one.rule: one for one in found}
    assert "teacher" not in jobs["paper"]
    assert [one.rule for one in found].count("teacher") == 1
    assert jobs["teacher"]["teacher"].work.images["mlp"] == 3 * 2 * 20
    assert trained["teacher"] == pytest.approx(trained["paper"])


def test_a_teacher_without_ltd_is_work_of_its_own():
    changes = {"methods": {"ft": {"lr": [0.1, 0.2]}}}
    plain, asked = (workload(**changes, select=rule) for rule in ("paper", "teacher"))
    more = taken_by(asked)["teacher"] - taken_by(plain)["teacher"]
    assert more == 4 * (RETAIN + FORGET * 4)
    assert job(asked, PlannedTeacher).work.images["resnet8"] == 250 * RETAIN
