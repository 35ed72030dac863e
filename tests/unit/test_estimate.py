"""`collateral estimate`: counts, hours and bytes by hand, and the paper's own times."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import yaml
from plug_ins import HEAD, forgotten_after, write_method

from collateral.cli import main
from collateral.config.load import load, read
from collateral.contract.params import MethodParams
from collateral.contract.work import Sizes, Work, training_work
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
from collateral.plan.estimate import (
    A100,
    CPU,
    PRESENTING_SECONDS,
    SHARED_SECONDS,
    START_SECONDS,
    WARM_START_SECONDS,
    Rate,
    Rates,
    checkpoint_bytes,
    duration,
    estimate,
    memory_mb,
    minutes,
    read_rates,
)
from collateral.plan.grid import build_grid
from collateral.plan.work import SizeUnknownError, WorkError, Workload
from collateral.plugins.find import MODEL, add_plugins, params_class
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


def base(work):
    return PlannedBase(work.benchmark, 0).work


def jobs_of(work):
    return [*list_jobs(work.benchmark)]


def taken_by(work):
    """Return the disk space by rule."""
    taken = Counter()
    for one in jobs_of(work):
        taken[one.rule] += one.bytes
    return taken


def only(trained=0.0, seen=0.0):
    """Return the work of ResNet-8 alone."""
    return Work({"resnet8": trained} if trained else {}, {"resnet8": seen} if seen else {})


def test_training_from_scratch_is_counted_with_its_evaluation():
    work = workload()
    assert base(work) == only(3 * TRAIN, ALL)
    assert job(work, PlannedRetrain, 0).work == only(3 * RETAIN, ALL)


def test_choosing_the_epoch_is_counted():
    work = workload(base={"epochs": 3, "checkpoint": "best_test"})
    assert base(work) == only(3 * TRAIN, 3 * TEST + ALL)
    work = workload(base={"epochs": 3, "checkpoint": "best_validation", "validation_share": 0.1})
    assert base(work) == only(3 * 0.9 * TRAIN, 3 * 0.1 * TRAIN + ALL)


def test_preparation_is_counted_once():
    """SalUn is prepared once per seed, for which one pass over the data is assumed."""
    work = workload(methods={"salun": {"epochs": 1, "lr": [0.1, 0.2]}})
    trained = Counter()
    for one in jobs_of(work):
        trained[one.rule] += one.work.trained.get("resnet8", 0)
    runs, trials, seeds = 3 * TRAIN, 3 * TRAIN, 3
    methods = trained.total() - trained["base"] - trained["retrain"]
    assert methods == pytest.approx(runs + trials + seeds * TRAIN)


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


def test_models_that_are_used_once_more_are_counted():
    """Retrain, FT, SalUn and the original, of 30 forgotten: 15 to learn and 15 to measure."""
    relearn = {"steps": 10, "batch_size": 8}
    work = workload(probe={"relearn": relearn, "residual": {"count": 100}, "zrf": {}})
    seen = 4 * (11 * 15 + 100 * FORGET) + FORGET
    assert job(work, PlannedProbe, 0).work == only(4 * 10 * 8, seen)
    assert job(workload(probe=["zrf"]), PlannedProbe, 0).work == only(0, FORGET)
    assert taken_by(work)["probe"] == 3 * (4 * FORGET * (4 + 4) + 3 * 4096)
    assert taken_by(workload())["probe"] == 0


def test_probes_of_features_and_of_fine_tuning_are_counted():
    """Four models, of 30 forgotten: 100 to fit on; 50 each of four parts; 8 per step."""
    resurface = {"steps": [1, 5], "batch_size": 8, "examples": 20}
    asked = {"linear": {"examples": 100}, "cka": {"examples": 50}, "resurface": resurface}
    seen = 4 * (100 + 2 * FORGET + 3 * 50 + FORGET + 3 * (FORGET + 2 * 20))
    assert job(workload(probe=asked), PlannedProbe, 0).work == only(4 * 5 * 8, seen)


def test_probes_are_one_job_a_cell_and_seed_and_change_no_other():
    plain, probed = (
        [(one.rule, one.out, one.work) for one in jobs_of(work)]
        for work in (workload(), workload(probe=["relearn", "residual", "zrf"]))
    )
    assert [one for one in probed if one[0] != "probe"] == plain
    assert len([one for one in probed if one[0] == "probe"]) == 3


SHADOWS = {"shadows": {"count": 8, "share": 0.5}}


def test_the_pool_is_one_for_all_cells_and_a_job_is_a_cell_and_method():
    def counted(**changes):
        work = workload(
            classes=[0, 1, 2], controls=["original", "ideal"], methods=methods, **changes
        )
        return Counter(one.rule for one in jobs_of(work))

    methods = {"ltd": {"k": 20}, "ft": {}}
    more = counted(**SHADOWS)
    more.subtract(counted())
    assert {rule: count for rule, count in more.items() if count} == {"shadow": 8, "expose": 3 * 2}


def test_a_shadow_model_is_trained_on_its_share_and_its_margins_are_of_all():
    work = workload(shadows={"count": 8, "share": 0.6})
    first = PlannedShadow(work.benchmark, 0)
    assert first.work == only(3 * 144, TRAIN)
    weights = work.facts.bytes(4)
    assert first.bytes == weights + (1 + 4) * TRAIN + 9 * 4096


def test_a_method_unlearns_from_every_shadow_model_with_the_mean_work_of_its_trials():
    """Of 210 retained and 30 forgotten, a shadow model has 126 and 18."""
    methods = {"ft": {"lr": [0.1, 0.2], "epochs": 2}, "salun": {"epochs": 1}}
    work = workload(methods=methods, shadows={"count": 8, "share": 0.6})
    assert job(work, PlannedExpose, "ft").work == only(8 * 2 * 126, 8 * TRAIN)
    prepared = job(work, PlannedExpose, "salun")
    assert prepared.work == only(8 * (144 + 144), 8 * TRAIN)
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


def test_seconds_of_metrics_grow_with_runs_epochs_and_shadow_models():
    """Of 3 seeds: Retrain, the original, FT and GA; GA's base and 5 epochs; 8 x 8 fits each."""
    methods = {"ft": {}, "ga": {"epochs": 5}}
    work = workload(methods=methods, track=["ga"], **SHADOWS)
    by_rule = {one.rule: one.seconds for one in jobs_of(work)}
    runs, epochs, fits = 3 * 4 * 8e-6, 3 * (1 + 5) * 2e-6, 2 * 8**2 * TRAIN * 2e-7
    assert by_rule["metrics"] == pytest.approx(0.2 + ALL * (runs + epochs) + fits)
    assert by_rule["data"] == pytest.approx(0.5 + 8e-8 * ALL * (64 + 16))


def test_limits_for_a_scheduler_are_of_images_activations_and_a_slower_gpu():
    """Every further attempt doubles them; 24 hours are the most."""
    benchmark = build_grid(read(PAPER))["cifar100"]
    activations = find_metadata("resnet56", IMAGES).activations * benchmark.config.base.batch_size
    images = 60_000 * 32 * 32 * 3
    megabytes = round(4000 + (4 * 2 * 2 * activations + 4 * images) / 2**20)
    assert [memory_mb(benchmark, attempt) for attempt in (1, 2, 3)] == [
        *(megabytes, 2 * megabytes, 4 * megabytes)
    ]
    base = PlannedBase(benchmark, 0)
    planned = round(4 * A100.seconds(base.work, IMAGES) / 60)
    assert 30 < planned < 12 * 60
    found = [minutes(base, attempt) for attempt in (1, 2, 9)]
    assert found == [planned, 2 * planned, 24 * 60]


def test_a_tracked_run_is_a_job_of_its_own_and_keeps_every_epoch():
    """Of the base and two epochs four bytes of confidence and two of prediction, an example."""
    plain, tracked = workload(), workload(track=["ft"])
    jobs = [{one.rule: one for one in jobs_of(work)} for work in (plain, tracked)]
    assert "track" in jobs[1] and "track" not in jobs[0]
    more = jobs[1]["metrics"].seconds - jobs[0]["metrics"].seconds
    assert more == pytest.approx(3 * 3 * 2e-6 * ALL)
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
    """On an A100; LTD's teacher is assumed to need all of its 250 epochs."""
    work = Workload(build_grid(read(PAPER))[benchmark])
    cell = work.benchmark.cells[place]
    params, sizes = cell.runs[method].params, work.sizes(cell)
    computed = params.unlearn_work(sizes)
    if cell.runs[method].prepare_calls:
        computed += params.prepare_work(sizes)
    computed = computed.for_model(work.benchmark.config.model)
    assert A100.seconds(computed, IMAGES) == pytest.approx(seconds, rel=0.5)


def test_the_shipped_rate_is_the_papers_retrain_time():
    assert 200 * 49_750 / A100.find_rate("resnet56", IMAGES).training == pytest.approx(
        1558.9, rel=0.01
    )
    assert 100 * 70_928 / A100.find_rate("vit_tiny", IMAGES).training == pytest.approx(
        2115.0, rel=0.01
    )


def test_other_rates_are_in_proportion_to_multiply_adds():
    rates = Rates("a", False, "", (Rate("resnet56", IMAGES, 100.0, 400.0),))
    small = rates.find_rate("resnet8", IMAGES)
    assert small.training == pytest.approx(100 * 125_747_200 / 12_500_992)
    assert small.looking == pytest.approx(4 * small.training)
    assert rates.find_rate("resnet56", (16, 16, 3)).training == pytest.approx(400, rel=0.01)


def test_a_gpu_has_no_more_than_its_kernels_allow_unless_measured():
    fast = Rate("mlp", (8, 8, 1), 9e6, 9e6)
    rates = Rates("a", True, "", (Rate("resnet56", IMAGES, 6400.0, 19_200.0), fast))
    assert rates.find_rate("resnet8", IMAGES).training == 50_000
    assert rates.find_rate("mlp", (8, 8, 1)) == fast


def test_every_model_has_a_rate_on_every_shipped_device():
    for rates in (A100, CPU):
        for model in MODEL.names():
            for shape in (IMAGES, (28, 28, 1), (8, 8, 1)):
                rate = rates.find_rate(model, shape)
                assert 0 < rate.training < rate.looking


def test_a_model_of_ones_own_is_taken_for_a_large_one(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/resnet_wide.py").write_text("def build(name, info): ...")
    with forgotten_after():
        add_plugins([tmp_path])
        assert find_metadata("resnet_wide", IMAGES) == find_metadata("resnet56", IMAGES)
        assert (
            A100.find_rate("resnet_wide", IMAGES).training
            == A100.find_rate("resnet56", IMAGES).training
        )


def test_a_model_of_ones_own_may_say_its_work(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/says_work.py").write_text(
        "MULTIPLY_ADDS = 1_000\ndef build(info): ...", encoding="utf-8"
    )
    with forgotten_after():
        add_plugins([tmp_path])
        assert find_metadata("says_work", IMAGES).multiply_adds == 1_000
        assert (
            find_metadata("says_work", IMAGES).numbers == find_metadata("resnet56", IMAGES).numbers
        )


def test_the_work_of_a_model_of_timm_grows_with_its_images():
    small, large = (find_metadata("timm/resnet18", (side, side, 3)) for side in (32, 64))
    assert large.multiply_adds == pytest.approx(4 * small.multiply_adds, rel=1e-6)
    rates = Rates("a", False, "", (Rate("resnet56", IMAGES, 100.0, 400.0),))
    few, many = (rates.find_rate("timm/resnet18", (side, side, 3)).training for side in (64, 32))
    assert many == pytest.approx(4 * few, rel=1e-6)


def test_a_default_trial_that_prepares_is_counted():
    """LTD's default k is 1000; its teacher takes all 210 that are retained."""
    ltd = {"teacher_epochs": 2, "epochs": 1, "k": [20, 60]}
    work = workload(methods={"ltd": ltd})
    trained = job(work, PlannedTune, "ltd").work.trained["resnet8"]
    assert trained == 2 * (20 + 60 + RETAIN) + 3 * TRAIN


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
    assert memory_mb(benchmark, 1) == 4000 + 336
    with pytest.raises(SizeUnknownError, match=rf"data\.path: .*{path.name}"):
        _ = Workload(benchmark).size


def test_a_forget_set_that_cannot_be_counted_leaves_the_least(tmp_path):
    (tmp_path / "listed.txt").write_text("one\n")
    cells = {"listed": {"forget": {"kind": "index_file", "path": str(tmp_path / "listed.txt")}}}
    benchmark = workload(cells=cells, base={"epochs": 100_000}).benchmark
    assert minutes(PlannedBase(benchmark, 0), 1) > 30
    assert minutes(PlannedRetrain(benchmark, benchmark.cells["listed"], 0), 1) == 30


def test_hours_are_those_of_all_jobs():
    config = load({"benchmarks": {"tiny": BENCHMARK | {"methods": {"ft": {"epochs": 2}}}}})
    rates = Rates("a", True, "", (Rate("resnet8", (8, 8, 1), 10.0, 40.0),))
    found = estimate(config, rates, in_flight=1)
    seconds = 3 * (START_SECONDS + 2 * RETAIN / 10 + ALL / 40)
    assert found.of_rule["unlearn"].jobs == 3
    assert found.of_rule["unlearn"].gpu_seconds == pytest.approx(seconds)
    assert found.of_rule["unlearn"].cpu_seconds == pytest.approx(seconds)
    assert found.of_rule["metrics"].gpu_seconds == 0 < found.of_rule["metrics"].cpu_seconds
    on_cpu = estimate(config, Rates("a", False, "", rates.measured), in_flight=1)
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
    assert "on A100 (implied by the paper's Retrain times)" in said
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
    main(["estimate", str(path)])
    assert words in capsys.readouterr().out
    main(["estimate", str(path), "--json"])
    least = json.loads(capsys.readouterr().out)["detectable"]["tiny"]
    assert (least is None) == (len(seeds) == 1)


def test_weights_that_are_given_are_compared_with_retrain_as_methods_are(tmp_path, capsys):
    path, given = tmp_path / "tiny.yaml", {"theirs": {"weights": "{cell}-{seed}.safetensors"}}
    path.write_text(yaml.safe_dump({"benchmarks": {"tiny": BENCHMARK | {"given": given}}}))
    main(["estimate", str(path)])
    assert "with 3 seeds and 3 methods, a difference" in capsys.readouterr().out


WITHOUT_SCIPY = """
import sys
from collateral.cli import main
class Refuse:
    def find_spec(name, *rest):
        if name.split(".")[0] == "scipy":
            raise ModuleNotFoundError(f"no {name} here")
sys.meta_path.insert(0, Refuse)
main(["estimate", *sys.argv[1:]])
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


@pytest.mark.parametrize(("device", "is_most"), [("a100", True), ("cpu", False)])
def test_a_speed_that_is_an_upper_bound_is_described_as_one(config, capsys, device, is_most):
    main(["estimate", config, "--device", device])
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "resnet8 on" in one]
    assert "by multiply-adds" in line
    assert line.endswith(", but at most the speed assumed for this device") == is_most


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cpu", "--calibrate"], "--calibrate: not with --device"),
        (["--rates", "CONFIG", "--calibrate"], "--rates: not with --calibrate"),
    ],
)
def test_rates_come_from_one_place(config, words, said):
    with pytest.raises(SystemExit, match=said):
        main(["estimate", config, *(config if word == "CONFIG" else word for word in words)])


def test_a_disk_that_will_not_do_is_warned_of(config, capsys, monkeypatch):
    monkeypatch.setattr("collateral.commands.estimate.free_bytes", lambda _: 10**6)
    main(["estimate", config])
    assert "WARNING: the disk will not do: " in capsys.readouterr().out
    main(["estimate", config, "--json"])
    assert json.loads(capsys.readouterr().out)["is_enough"] is False


@pytest.mark.parametrize(
    ("program", "first"), [("nvidia-smi", "GPU-minutes"), ("none", "CPU cores")]
)
def test_what_this_machine_takes_comes_first(config, program, first, capsys, monkeypatch):
    found = lambda name: f"/bin/{name}" if name == program else None  # noqa: E731
    monkeypatch.setattr("collateral.commands.estimate.shutil.which", found)
    main(["estimate", config])
    lines = capsys.readouterr().out.splitlines()
    assert first in lines[0]
    assert ("--device a100: " in lines[-1]) == (program == "none")


@pytest.mark.parametrize(
    ("hours", "words"), [(0.001, "1 min"), (1.5, "90 min"), (30, "30 hours"), (480, "20 days")]
)
def test_a_duration_is_in_the_unit_that_one_plans_by(hours, words):
    assert duration(hours) == words


def test_machines_get_the_same_numbers(config, capsys):
    main(["estimate", config, "--json", "--device", "cpu", "--jobs", "2"])
    said = json.loads(capsys.readouterr().out)
    found = estimate(read(Path(config)), CPU, in_flight=2)
    assert (
        said["total"]["jobs"] == found.total.jobs == sum(k["jobs"] for k in said["kinds"].values())
    )
    assert said["total"]["cpu_hours"] == pytest.approx(found.total.cpu_seconds / 3600)
    assert said["peak_bytes"] == round(found.peak_bytes)
    assert said["assumptions"]


def test_saved_rates_can_be_used_elsewhere(config, tmp_path, capsys):
    rates = Rates("my GPU", True, "measured", (Rate("resnet8", (8, 8, 1), 10.0, 40.0),))
    (tmp_path / "rates.json").write_bytes(rates.to_json())
    assert read_rates(tmp_path / "rates.json") == rates
    main(["estimate", config, "--rates", str(tmp_path / "rates.json")])
    assert "on my GPU (measured)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "not a file that --calibrate --save wrote"),
        ("measured: 3", "not a file that --calibrate --save wrote"),
        ('{"resnet56": 3}', "not a file that --calibrate --save wrote"),
    ],
)
def test_a_file_of_no_rates_is_refused(config, tmp_path, content, message):
    (tmp_path / "rates.json").write_text(content)
    with pytest.raises(SystemExit, match=message):
        main(["estimate", config, "--rates", str(tmp_path / "rates.json")])


def test_a_rate_of_an_unknown_model_or_of_nothing_is_refused(config, tmp_path):
    for rate, message in (
        (Rate("resnet57", IMAGES, 1.0, 1.0), "no model 'resnet57'.*did you mean resnet56"),
        (Rate("resnet56", IMAGES, 0.0, 1.0), "not a file that"),
    ):
        (tmp_path / "rates.json").write_bytes(Rates("a", True, "", (rate,)).to_json())
        with pytest.raises(SystemExit, match=message):
            main(["estimate", config, "--rates", str(tmp_path / "rates.json")])


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
    given = {"teacher_epochs": 2, "epochs": 1, "k": 20, "teacher_ensemble": 3, **ltd}
    methods = {"ft": {"lr": [0.1, 0.2]}, "ltd": given}
    trained, jobs = {}, {}
    for rule in ("paper", "teacher"):
        found = jobs_of(workload(methods=methods, select=rule))
        trained[rule] = sum(one.work.trained.get("resnet8", 0) for one in found)
        jobs[rule] = {one.rule: one for one in found}
    assert "teacher" not in jobs["paper"]
    assert [one.rule for one in found].count("teacher") == 1
    assert jobs["teacher"]["teacher"].work == only(3 * 2 * 20, TRAIN)
    assert trained["teacher"] == pytest.approx(trained["paper"])


def test_a_teacher_without_ltd_is_work_of_its_own():
    changes = {"methods": {"ft": {"lr": [0.1, 0.2]}}}
    plain, asked = (workload(**changes, select=rule) for rule in ("paper", "teacher"))
    more = taken_by(asked)["teacher"] - taken_by(plain)["teacher"]
    assert more == 4 * (RETAIN + FORGET * 4)
    assert job(asked, PlannedTeacher).work.trained == {"resnet8": 250 * RETAIN}
