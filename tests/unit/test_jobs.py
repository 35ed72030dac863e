"""What jobs need and are told, rule by rule; no Snakemake."""

import json
import shlex
from types import SimpleNamespace

import pytest
from plug_ins import TWO_PHASES, forgotten_after, write_method
from small_grid import grid

from collateral.config.errors import ConfigError
from collateral.jobs import find_job, kinds
from collateral.jobs.base import BaseJob
from collateral.jobs.data import DataJob
from collateral.jobs.expose import ExposeJob
from collateral.jobs.given import GivenJob
from collateral.jobs.metrics import MetricsJob
from collateral.jobs.neighbours import NeighboursJob
from collateral.jobs.probe import ProbeJob
from collateral.jobs.retrain import RetrainJob
from collateral.jobs.shadow import ShadowJob
from collateral.jobs.split import SplitJob
from collateral.jobs.support_size import SupportSizeJob
from collateral.jobs.teacher import TeacherJob
from collateral.jobs.tune import TuneJob
from collateral.jobs.unlearn import UnlearnJob
from collateral.plan.fingerprint import stage_code
from collateral.plan.preflight import check_plan
from collateral.plugins.find import MODEL
from collateral.results import layout

CELL = "results/b/digit_3-50"
SHARED = {"base": {"sharing": "shared"}}


def unlearn(run, seed, plugins=None, **changes):
    benchmark = grid(plugins, **changes)
    cell = benchmark.cells["digit_3-50"]
    return UnlearnJob(benchmark, cell, seed, run)


def tune(method, plugins=None, **changes):
    benchmark = grid(plugins, **changes)
    return TuneJob(benchmark, benchmark.cells["digit_3-50"], method)


def evaluation(**changes):
    benchmark = grid(**changes)
    return MetricsJob(benchmark, benchmark.cells["digit_3-50"])


def read_by(job, name):
    """Return the files of a name that metrics read."""
    return [file for file in job.results if file.endswith(f"/{name}")]


def option(text, name):
    """Return what follows an option."""
    words = shlex.split(text)
    rest = words[words.index(name) + 1 :]
    return rest[: next((i for i, word in enumerate(rest) if word.startswith("--")), len(rest))]


def test_a_job_is_found_by_the_texts_of_its_wildcards():
    benchmark = grid(**POOL)
    cell = benchmark.cells["digit_3-50"]
    texts = SimpleNamespace(cell="digit_3-50", seed="1", run="ft", member="7", benchmark="b")
    assert find_job("unlearn", benchmark, texts) == UnlearnJob(benchmark, cell, 1, "ft")
    assert find_job("shadow", benchmark, texts) == ShadowJob(benchmark, 7)
    assert find_job("data", benchmark, texts) == DataJob(benchmark)


# Data and forget sets.


def test_a_data_set_is_told_its_options_and_not_its_name():
    job = DataJob(grid(data={"name": "digits", "per_class": 20}))
    assert job.name == "digits"
    assert json.loads(job.data_options) == {"per_class": 20}
    assert job.code == stage_code("data", "collateral.data.digits")


def test_a_data_set_is_told_all_forget_sets():
    job = DataJob(grid(classes=["digit_3"]))
    sets = [json.loads(one) for one in option(job.forget, "--forget")]
    params = {"class": "digit_3", "fraction": 0.9, "order": "first"}
    assert [one["cell"] for one in sets] == ["digit_3-50", "digit_3-90"]
    assert sets[1] == {"cell": "digit_3-90", "kind": "class_part", "params": params}


def test_a_data_set_is_told_the_first_forget_sets_where_all_are_too_many():
    """Linux allows an argument 131,072 bytes, and a shell's command is one."""
    data = {"name": "synthetic", "families": 100, "classes_per_family": 10}
    job = DataJob(grid(data=data, classes=[*range(1000)]))
    told = [json.loads(one)["cell"] for one in option(job.forget, "--forget")]
    assert len(job.forget) < 100_000
    assert 100 < len(told) < len(job.benchmark.cells) == 2000
    assert told == [*job.benchmark.cells][: len(told)]


def test_files_of_the_users_own_are_inputs_as_far_as_they_are_there(tmp_path):
    (tmp_path / "train.npz").touch()
    data = {"name": "arrays", "path": str(tmp_path / "train.npz"), "test_path": "no.npz"}
    assert DataJob(grid(data=data, classes=[1])).user_files == [str(tmp_path / "train.npz")]
    assert DataJob(grid()).user_files == []
    data["test_path"] = None
    assert DataJob(grid(data=data, classes=[1])).user_files == [str(tmp_path / "train.npz")]


def test_where_only_the_data_tell_their_size_the_job_is_told_what_must_be_left():
    data, methods = {"name": "arrays", "path": "no.npz"}, {"neighbor": {"k": 7}}
    job = DataJob(grid(data=data, classes=[1], fractions=[1], methods=methods))
    (told,) = [json.loads(one) for one in option(job.forget, "--forget")]
    assert told["asked"] == {"benchmarks.b.methods.neighbor.k": 7}


def listed(path):
    forget = {"kind": "index_file", "path": str(path)}
    benchmark = grid(cells={"mine": {"forget": forget}})
    return SplitJob(benchmark, benchmark.cells["mine"])


def test_a_list_of_indices_is_an_input(tmp_path):
    (tmp_path / "mine.txt").touch()
    job = listed(tmp_path / "mine.txt")
    assert job.user_files == [str(tmp_path / "mine.txt")]
    assert json.loads(job.forget) == {"path": str(tmp_path / "mine.txt")}
    assert job.code == stage_code("split", "collateral.data.forget.index_file")


def test_a_list_that_is_missing_is_named_unless_its_split_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = {"b": listed("mine.txt").benchmark}
    with pytest.raises(ConfigError, match=r"benchmarks\.b\.cells\.mine\.forget\.path: 'mine.txt'"):
        check_plan(plan)
    split = tmp_path / "results/b/mine/split.json"
    split.parent.mkdir(parents=True)
    split.touch()
    check_plan(plan)
    assert listed("mine.txt").user_files == []


# Training from scratch.


def trained(benchmark):
    """Return the jobs of the base and of Retrain of the first seed."""
    return BaseJob(benchmark, 3), RetrainJob(benchmark, benchmark.cells["digit_3-50"], 3)


def test_base_and_retrained_models_are_trained_alike():
    benchmark = grid(base={"epochs": 7, "sharing": "shared"})
    base, retrain = trained(benchmark)
    assert base.training == retrain.training
    assert base.code == retrain.code
    values = json.loads(base.training)
    assert values["epochs"] == 7
    assert not {"sharing", "weights", "rename"} & values.keys()


def test_base_and_retrain_start_from_one_file(tmp_path):
    file = tmp_path / "my weights.pt"
    benchmark = grid(init={"weights": str(file), "rename": {"module.": ""}})
    base, retrain = trained(benchmark)
    assert shlex.split(base.start) == ["--init", str(file), "--rename", '{"module.": ""}']
    assert retrain.start == base.start
    assert base.weights == retrain.weights == []
    file.touch()
    assert base.weights == retrain.weights == [str(file)]


def test_a_base_of_ones_own_is_not_trained_and_retrain_does_not_start_from_it(tmp_path):
    files = [tmp_path / f"own-{seed}.pt" for seed in (3, 1, 2)]
    benchmark = grid(base={"weights": str(tmp_path / "own-{seed}.pt"), "epochs": 7})
    base, retrain = trained(benchmark)
    files[1].touch()
    bases = [BaseJob(benchmark, seed) for seed in (3, 1, 2)]
    assert [job.start for job in bases] == [f"--weights {file}" for file in files]
    assert [job.weights for job in bases] == [[], [str(files[1])], []]
    assert (retrain.start, retrain.weights) == ("", [])
    assert base.training == "{}" and json.loads(retrain.training)["epochs"] == 7
    assert base.work.trained == {} and retrain.work.trained["resnet8"] > 0


def test_a_base_belongs_to_no_cell_so_the_word_cell_in_its_files_name_stays():
    job = BaseJob(grid(base={"weights": "own-{cell}-{seed}.pt"}), 1)
    assert shlex.split(job.start)[1].endswith("own-{cell}-1.pt")


def test_a_retrained_model_of_ones_own_is_not_trained(tmp_path):
    own = {"weights": str(tmp_path / "{cell}-{seed}.pt"), "rename": {"a.": ""}, "rte": 9}
    benchmark = grid(retrain=own)
    job = RetrainJob(benchmark, benchmark.cells["digit_8-90"], 3)
    file = tmp_path / "digit_8-90-3.pt"
    assert shlex.split(job.start) == [
        *("--weights", str(file), "--rename", '{"a.": ""}', "--rte", "9.0")
    ]
    assert job.weights == []
    file.touch()
    assert job.weights == [str(file)]
    assert job.training == "{}" and job.work.trained == {}


def test_given_weights_are_a_run_of_every_cell_and_seed(tmp_path):
    file = tmp_path / "its weights-{cell}-{seed}.pt"
    benchmark = grid(given={"its": {"weights": str(file), "rte": 120}})
    assert benchmark.labels()["its"] == "its (given)"
    for cell in benchmark.cells.values():
        outputs = [one for one in MetricsJob(benchmark, cell).results if "/its/" in one]
        folder = f"results/b/{cell.name}/seed-{{}}/its"
        assert outputs == [f"{folder.format(seed)}/outputs.npz" for seed in (3, 1, 2)]
        assert cell.names_by_kind("method") == ["ft", "its"]
    job = GivenJob(benchmark, benchmark.cells["digit_3-50"], 1, "its")
    own = str(tmp_path / "its weights-digit_3-50-1.pt")
    assert shlex.split(job.options) == ["--run", "its", "--weights", own, "--rte", "120.0"]
    assert job.work.trained == {} and job.work.seen["resnet8"] > 0


def test_without_retrain_runs_are_held_against_the_base(tmp_path):
    benchmark = grid(retrain="none")
    cell = benchmark.cells["digit_3-50"]
    job = MetricsJob(benchmark, cell)
    assert benchmark.reference == "original" and "original" not in cell.runs
    bases = [f"results/b/base/seed-{seed}/outputs.npz" for seed in (3, 1, 2)]
    runs = [f"results/b/digit_3-50/seed-{seed}/ft/outputs.npz" for seed in (3, 1, 2)]
    assert job.results == [*runs, *bases]
    assert job.options.endswith("--reference original")
    assert "--reference" not in MetricsJob(grid(), cell).options


# Methods.


@pytest.mark.parametrize("seed", [3, 1, 2])
def test_a_run_starts_from_the_base_of_its_seed_or_from_the_shared_one(seed):
    base = "results/b/base/seed-{}/model.safetensors"
    assert unlearn("ft", seed).base == base.format(seed)
    assert unlearn("ft", seed, **SHARED).base == base.format(3)


@pytest.mark.parametrize("changes", [{}, SHARED])
def test_tuning_is_on_the_first_seed(changes):
    job = tune("ft", methods={"ft": {"lr": [0.1, 0.2]}}, **changes)
    assert job.seed == 3
    assert job.base == "results/b/base/seed-3/model.safetensors"


def test_tuning_is_told_its_trials_and_the_defaults():
    job = tune("mine", methods={"mine": {"uses": "ft", "lr": [0.1, 0.2], "epochs": 7}})
    assert option(job.options, "--method") == ["ft"]
    assert json.loads(option(job.options, "--params")[0])["epochs"] == 7
    assert json.loads(option(job.options, "--trials")[0]) == [{"lr": 0.1}, {"lr": 0.2}]
    assert json.loads(option(job.options, "--default")[0]) == {"lr": 0.01}


def test_a_run_is_told_its_name_and_what_a_sweep_varies():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    plain, swept = (unlearn(run, 1, sweeps=sweeps).options for run in ("ft", "ft@lr=0.5"))
    assert option(swept, "--run") == ["ft@lr=0.5"]
    assert json.loads(option(swept, "--vary")[0]) == {"lr": 0.5}
    assert json.loads(option(plain, "--vary")[0]) == {}
    assert "--track" not in shlex.split(plain)
    assert "--track" in shlex.split(unlearn("ft", 1, track=["ft"]).options)


def test_of_a_tracked_run_tables_need_its_epochs_too():
    methods = {"ft": {}, "ga": {}}
    tracked, plain = (unlearn(run, 3, methods=methods, track=["ga"]) for run in ("ga", "ft"))
    assert {*tracked.files} - {*plain.files} == {"epochs.npz"}
    assert {*plain.files} == {"outputs.npz", "history.csv", "cost.json", "record.json"}


def test_a_run_waits_for_the_choice_of_its_methods_tuning():
    methods = {"ft": {"lr": [0.1, 0.2]}, "ga": {}}
    sweeps = {"s": {"method": "ft", "vary": {"epochs": [9]}}}
    found = {
        run: unlearn(run, 1, methods=methods, sweeps=sweeps).selected
        for run in ("ft", "ga", "ft@epochs=9")
    }
    chosen = [f"{CELL}/tune/ft/selected.json"]
    assert found == {"ft": chosen, "ga": [], "ft@epochs=9": chosen}


@pytest.mark.parametrize("changes", [{}, SHARED])
@pytest.mark.parametrize("seed", [3, 1, 2])
def test_only_a_control_that_needs_it_is_given_retrain_of_its_own_seed(seed, changes):
    changes = {"methods": {"ltd": {}}, "controls": ["original", "ideal"], **changes}
    wanted = [f"{CELL}/seed-{seed}/retrain/outputs.npz"]
    assert unlearn("ideal", seed, **changes).retrained == wanted
    assert unlearn("ltd", seed, **changes).retrained == []


def test_what_is_prepared_is_taken_from_tunings_on_the_first_seed_and_else_from_runs(
    tmp_path,
):
    with forgotten_after():
        write_method(tmp_path, "two", TWO_PHASES)
        methods = {"two": {"lr": [0.1, 0.2]}, "same": {"uses": "two", "lr": [0.1, 0.2]}}
        same = [unlearn("same", seed, tmp_path, methods=methods).prepared for seed in (3, 1)]
        tuned = [f"{CELL}/tune/two/prepared"]
        assert same == [tuned, [f"{CELL}/seed-1/two/prepared"]]
        assert unlearn("two", 3, tmp_path, methods=methods).prepared == tuned
        assert unlearn("two", 1, tmp_path, methods=methods).prepared == []
        assert tune("two", tmp_path, methods=methods).prepared == []
        assert tune("same", tmp_path, methods=methods).prepared == tuned


# The code of methods.


def test_the_code_of_a_job_is_that_of_its_method_and_model():
    own = unlearn("ft", 1).code
    assert own == unlearn("ft", 2).code
    assert own != unlearn("ft", 1, model="mlp").code
    assert own != unlearn("ga", 1, methods={"ga": {}}).code
    assert own != tune("ft", methods={"ft": {"lr": [0.1, 0.2]}}).code


STAGES = {
    "train": lambda b, cell: [BaseJob(b, 1).code, RetrainJob(b, cell, 1).code],
    "given": lambda b, cell: [GivenJob(b, cell, 1, "theirs").code],
    "probe": lambda b, cell: [ProbeJob(b, cell, 1).code],
    "shadow": lambda b, cell: [ShadowJob(b, 0).code],
    "tune": lambda b, cell: [TuneJob(b, cell, "ft").code],
    "unlearn": lambda b, cell: [UnlearnJob(b, cell, 1, "ft").code],
    "expose": lambda b, cell: [ExposeJob(b, cell, "ft").code],
}


@pytest.mark.parametrize("stage", STAGES)
def test_the_code_of_a_job_is_that_of_its_own_stage(stage):
    benchmark = grid(
        methods={"ft": {"lr": [0.1, 0.2]}}, given={"theirs": {"weights": "{cell}-{seed}.pt"}},
        probe=["zrf"], shadows={"count": 8},
    )  # fmt: skip
    method = ["collateral.methods.ft.method"] * (stage in ("tune", "unlearn", "expose"))
    for code in STAGES[stage](benchmark, benchmark.cells["digit_3-50"]):
        assert code == stage_code(stage, MODEL.module("resnet8"), *method)


def test_the_teachers_codes_are_those_of_their_own_stages():
    methods = {"ltd": {"teacher": "resnet8", "k": 100, "lr": [0.1, 0.2]}}
    benchmark = grid(methods=methods, select="teacher", support_size={"k": [50, 100]})
    cell = benchmark.cells["digit_3-50"]
    modules = (MODEL.module("resnet8"), "collateral.methods.ltd.method")
    assert TeacherJob(benchmark, cell).code == stage_code("teacher", *modules)
    assert SupportSizeJob(benchmark, cell, 1).code == stage_code("support_size", *modules)


def test_the_code_of_a_job_knows_every_model_that_it_may_build():
    def code(teacher):
        return unlearn("ltd", 1, methods={"ltd": {"teacher": teacher}}).code

    model, teacher = MODEL.module("resnet8"), MODEL.module("mlp")
    method = "collateral.methods.ltd.method"
    assert code("mlp") == stage_code("unlearn", method, *sorted([model, teacher]))
    assert code("mlp_frozen") == code("resnet8") == stage_code("unlearn", method, model)
    assert code(["mlp", "resnet8"]) == code("mlp")


def test_the_code_of_a_sweeps_run_knows_the_model_that_it_varies():
    sweeps = {"s": {"method": "ltd", "vary": {"teacher": ["mlp"]}}}
    changes = {"methods": {"ltd": {}}, "sweeps": sweeps}
    assert unlearn("ltd@teacher=mlp", 1, **changes).code != unlearn("ltd", 1, **changes).code


def test_the_code_of_tuning_knows_the_teacher_of_the_default_trial():
    """Neither the model nor a candidate is a ResNet, which the default trial trains."""
    methods = {"ltd": {"teacher": ["mlp", "mlp_frozen"]}}
    job = tune("ltd", model="mlp", methods=methods)
    modules = sorted([MODEL.module("mlp"), MODEL.module("resnet8")])
    assert job.code == stage_code("tune", "collateral.methods.ltd.method", *modules)


# The teacher that tuning asks.


def asking(**methods):
    """Return a benchmark whose tunings choose by a teacher."""
    return grid(methods=methods, select="teacher")


RATES = {"lr": [0.1, 0.2]}


def test_tuning_is_told_the_rule_and_by_default_waits_for_no_teacher():
    for rule in ("paper", "interval"):
        job = tune("ft", methods={"ft": RATES, "ltd": {}}, select=rule)
        assert option(job.options, "--select") == [rule]
        assert job.teacher == job.prepared == job.prepared_by == []
        assert job.cell.teacher is None
    assert option(tune("ft", methods={"ft": RATES}).options, "--select") == ["paper"]


def test_by_the_rule_of_the_teacher_every_tuning_waits_for_the_one_of_its_cell():
    benchmark = asking(ft=RATES, ltd=RATES)
    jobs = [TuneJob(benchmark, benchmark.cells["digit_3-50"], name) for name in ("ft", "ltd")]
    assert [job.teacher for job in jobs] == [[f"{CELL}/local_teacher/teacher.json"]] * 2
    assert [job.prepared for job in jobs] == [[], [f"{CELL}/local_teacher/prepared"]]
    assert [job.prepared_by for job in jobs] == [[], [f"{CELL}/local_teacher/cost.json"]]


def test_the_teacher_is_that_of_ltd_as_the_config_has_it_on_the_first_seed():
    for entry in ({"ltd": {"k": 50, **RATES}}, {"mine": {"uses": "ltd", "k": [50, 70]}, "ft": {}}):
        benchmark = asking(**entry)
        job = TeacherJob(benchmark, benchmark.cells["digit_3-50"])
        told = json.loads(option(job.options, "--params")[0])
        assert told["k"] == 50
        assert "lr" not in told
        assert option(job.options, "--method") == ["ltd"]
        assert job.base == "results/b/base/seed-3/model.safetensors"


def test_without_ltd_the_teacher_has_its_defaults():
    benchmark = asking(ft=RATES)
    job = TeacherJob(benchmark, benchmark.cells["digit_3-50"])
    assert json.loads(option(job.options, "--params")[0])["k"] == 1000
    assert "ltd" not in job.cell.runs


def test_where_nothing_is_tuned_nobody_asks_a_teacher():
    """As in all cells but one that has a grid of its own."""
    forget = {"kind": "class_part", "class": "digit_8", "fraction": 0.5}
    tuned = {"own": {"forget": forget, "methods": {"ft": RATES}}}
    cells = grid(methods={"ft": {}, "ltd": {}}, select="teacher", cells=tuned).cells
    assert cells["digit_3-50"].teacher is None
    assert cells["own"].teacher is not None


def test_runs_of_the_first_seed_take_what_the_teacher_prepared():
    changes = {"methods": {"ltd": {}, "ft": RATES}, "select": "teacher"}
    assert unlearn("ltd", 3, **changes).prepared == [f"{CELL}/local_teacher/prepared"]
    assert unlearn("ltd", 1, **changes).prepared == []


# Support sizes.


def sizing(**ltd):
    benchmark = grid(methods={"ltd": ltd}, support_size={"k": [50, 100]})
    return SupportSizeJob(benchmark, benchmark.cells["digit_3-50"], 1)


def test_teachers_of_every_size_are_told_no_k_of_the_runs():
    plain, other = sizing(k=200).options, sizing(min_similarity=0.5, epochs=7, lr=0.3).options
    assert plain == other
    assert option(plain, "--sizes") == ["50", "100"]
    assert option(plain, "--top") == ["3"]
    assert not {"k", "k_each", "min_similarity"} & json.loads(option(plain, "--params")[0]).keys()


def test_support_sizes_are_recorded_as_far_as_there_are_retained_examples(tmp_path):
    """Of 90 examples, 30 are forgotten."""
    sizes = {"support_size": {"method": "ltd", "k": [20, 60, 61]}}
    benchmark = grid(methods={"ltd": {}}, **sizes)
    split = tmp_path / "digit_3-50/split.json"
    split.parent.mkdir()
    split.write_text(json.dumps({"num_train": 90, "num_forget": 30}))
    job = SupportSizeJob(benchmark, benchmark.cells["digit_3-50"], 1)
    record = job.record({"params": {}}, tmp_path)
    assert (record["params"]["k"], record["seed"], record["model"]) == ([20, 60], 1, "resnet8")


def test_they_wait_for_tuning_only_where_it_decides_on_the_teacher():
    assert sizing(lr=[0.1, 0.2]).selected == []
    assert sizing(teacher_lr=[0.1, 0.2]).selected == [f"{CELL}/tune/ltd/selected.json"]
    assert sizing().base == "results/b/base/seed-1/model.safetensors"


# Probes.


def probing(**changes):
    benchmark = grid(probe={"residual": {"count": 7}, "zrf": {}}, **changes)
    return ProbeJob(benchmark, benchmark.cells["digit_3-50"], 1)


@pytest.mark.parametrize(("changes", "base"), [({}, 1), (SHARED, 3)])
def test_a_probe_reads_the_models_of_its_seed_and_of_the_original_its_base(changes, base):
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    job = probing(sweeps=sweeps, **changes)
    assert option(job.options, "--runs") == ["retrain", "ft", "original"]
    folders = [f"{CELL}/seed-1/retrain", f"{CELL}/seed-1/ft", f"results/b/base/seed-{base}"]
    assert job.models == [f"{folder}/model.safetensors" for folder in folders]


def test_a_probe_is_told_what_is_asked_with_all_its_values():
    asked = json.loads(option(probing().options, "--probes")[0])
    assert asked == {"residual": {"count": 7, "std": 0.03}, "zrf": {}}


def test_a_probe_that_needs_near_examples_reads_the_features_of_the_first_seeds_base():
    benchmark = grid(probe=["cka", "zrf"])
    job = ProbeJob(benchmark, benchmark.cells["digit_3-50"], 1)
    assert job.embeddings == ["results/b/base/seed-3/embeddings.npz"]
    assert "base/seed-3/embeddings.npz" in job.record({}, None)["inputs"]
    assert probing().embeddings == []


def test_metrics_are_told_what_was_probed_and_read_it_of_every_seed():
    job = evaluation(probe=["zrf", "relearn"])
    assert option(job.options, "--probed") == ["relearn", "zrf"]
    assert read_by(job, "probe.npz") == [
        f"{CELL}/probe/seed-{seed}/probe.npz" for seed in (3, 1, 2)
    ]


def test_without_probe_nothing_is_probed():
    assert read_by(evaluation(), "probe.npz") == []
    assert option(evaluation().options, "--probed") == []
    assert not any(cell.probed for cell in grid().cells.values())


# Evaluation.


@pytest.mark.parametrize(("changes", "bases"), [({}, [3, 1, 2]), (SHARED, [3, 3, 3])])
def test_similarity_is_by_the_base_of_each_seed(changes, bases):
    benchmark = grid(**changes)
    found = NeighboursJob(benchmark, benchmark.cells["digit_3-50"]).embeddings
    assert found == [f"results/b/base/seed-{seed}/embeddings.npz" for seed in bases]


@pytest.mark.parametrize(("changes", "bases"), [({}, [3, 1, 2]), (SHARED, [3])])
def test_outputs_are_those_of_all_runs_and_for_the_original_the_bases(changes, bases):
    found = evaluation(methods={"ft": {}, "ga": {}}, **changes).results
    runs = [f"{CELL}/seed-{s}/{run}" for s in (3, 1, 2) for run in ("retrain", "ft", "ga")]
    folders = [*runs, *(f"results/b/base/seed-{seed}" for seed in bases)]
    assert sorted(found) == sorted(f"{folder}/outputs.npz" for folder in folders)


def test_without_the_original_no_base_is_read():
    assert not any("/base/" in path for path in evaluation(controls=[]).results)


def test_trials_and_support_sizes_are_read_where_there_are_some():
    changes = {"methods": {"ltd": {"lr": [0.1, 0.2]}}, "support_size": {"k": [20, 50]}}
    job = evaluation(**changes)
    assert read_by(job, "trials.csv") == [f"{CELL}/tune/ltd/trials.csv"]
    sizes = [f"{CELL}/support_size/seed-{seed}/support_sizes.npz" for seed in (3, 1, 2)]
    assert read_by(job, "support_sizes.npz") == sizes
    assert read_by(evaluation(), "trials.csv") == []
    assert read_by(evaluation(), "support_sizes.npz") == []


def test_metrics_are_told_whose_outputs_they_are():
    options = evaluation(
        methods={"ltd": {"lr": [0.1, 0.2]}, "ft": {}},
        controls=["original", "ideal"],
        sweeps={"s": {"method": "ltd", "vary": {"beta": [3]}}},
        track=["ft"],
        support_size={"k": [20, 50]},
        **SHARED,
    ).options
    told = {
        "--cell": ["digit_3-50"],
        "--seeds": ["3", "1", "2"],
        "--base-seeds": ["3", "3", "3"],
        "--methods": ["ltd", "ft", "ltd@beta=3"],
        "--controls": ["original", "ideal"],
        "--tuned": ["ltd"],
        "--tracked": ["ft"],
        "--support-sized": ["ltd"],
    }
    assert {name: option(options, name) for name in told} == told
    assert option(evaluation().options, "--support-sized") == []


def test_the_attack_on_confidence_is_always_among_them():
    assert option(evaluation(attacks=["entropy"]).options, "--attacks") == ["confidence", "entropy"]
    both = ["entropy", "confidence"]
    assert option(evaluation(attacks=both).options, "--attacks") == ["confidence", "entropy"]


POOL = {"methods": {"ft": {"lr": [0.1, 0.2]}, "ga": {}}, "shadows": {"count": 8, "share": 0.5}}


def test_without_a_pool_nothing_is_exposed():
    assert grid(methods=POOL["methods"]).config.shadows is None
    assert read_by(evaluation(methods=POOL["methods"]), "exposure.npz") == []


def test_shadow_models_are_those_of_the_benchmark_for_all_cells_and_methods():
    benchmark = grid(**POOL)
    jobs = [
        ExposeJob(benchmark, cell, run.name)
        for cell in benchmark.cells.values()
        for run in cell.exposed.values()
    ]
    assert len(jobs) == 4 * 2
    models = [f"results/b/shadows/member-{member}/model.safetensors" for member in range(8)]
    assert {tuple(job.shadows) for job in jobs} == {tuple(models)}


HARD = {
    "cells": {
        "hard": {"forget": {"kind": "hardest", "share": 0.1}},
        "known": {"forget": {"kind": "memorised", "level": "high", "share": 0.1}},
    },
    "methods": {"ga": {}},
    "shadows": {"count": 12},
}


def test_a_hard_forget_set_is_chosen_by_the_first_seeds_base():
    benchmark = grid(**HARD, seeds=[4, 1])
    jobs = {name: SplitJob(benchmark, cell) for name, cell in benchmark.cells.items()}
    assert jobs["hard"].models == ["results/b/base/seed-4/outputs.npz"]
    assert jobs["digit_3-50"].models == []
    margins = [f"results/b/shadows/member-{member}/margins.npz" for member in range(12)]
    assert jobs["known"].models == margins


def test_the_half_of_the_pool_that_chose_the_forget_set_is_not_attacked():
    benchmark = grid(**HARD)
    attacked = {
        name: [place.split("/")[3] for place in ExposeJob(benchmark, cell, "ga").shadows]
        for name, cell in benchmark.cells.items()
    }
    assert attacked["hard"] == [f"member-{member}" for member in range(12)]
    assert attacked["known"] == [f"member-{member}" for member in range(6, 12)]


def test_a_pool_that_only_chooses_is_trained_and_not_attacked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmark = grid(**{**HARD, "shadows": {"count": 12, "attack": False}})
    assert not any(cell.exposed for cell in benchmark.cells.values())
    shadow = ShadowJob(benchmark, 0)
    assert shadow.will_run
    split = tmp_path / "results/b/known/split.json"
    split.parent.mkdir(parents=True)
    split.touch()
    assert not shadow.will_run


def test_a_shadow_model_is_trained_where_a_method_lacks_its_margins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmark = grid(**POOL)
    cells, first = [*benchmark.cells], ShadowJob(benchmark, 0)
    files = [
        f"results/b/{cell}/exposure/{run}/exposure.npz" for cell in cells for run in POOL["methods"]
    ]
    for file in files:
        assert first.will_run
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    assert not first.will_run
    (tmp_path / files[-1]).unlink()
    margins = tmp_path / "results/b/shadows/member-1/margins.npz"
    margins.parent.mkdir(parents=True)
    margins.touch()
    assert (first.will_run, ShadowJob(benchmark, 1).will_run) == (True, False)


def test_a_shadow_model_is_trained_as_the_base_is_and_told_its_pool():
    benchmark = grid(**POOL, base={"epochs": 7})
    job = ShadowJob(benchmark, 3)
    assert job.training == BaseJob(benchmark, 3).training
    assert job.options == "--count 8 --share 0.5"
    assert job.code != BaseJob(benchmark, 3).code


def test_a_shadow_model_starts_from_the_file_that_base_and_retrain_start_from(tmp_path):
    (tmp_path / "start.pt").touch()
    init = {"weights": str(tmp_path / "start.pt"), "rename": {"a.": "b."}}
    benchmark = grid(**POOL, init=init)
    job, base = ShadowJob(benchmark, 3), BaseJob(benchmark, 3)
    assert job.start == base.start
    assert option(job.start, "--init") == [str(tmp_path / "start.pt")]
    assert json.loads(option(job.start, "--rename")[0]) == {"a.": "b."}
    assert job.weights == [str(tmp_path / "start.pt")]


def test_a_shadow_model_is_trained_by_retrains_recipe_where_the_base_is_the_users_own(tmp_path):
    benchmark = grid(**POOL, base={"weights": str(tmp_path / "own.pt"), "epochs": 7})
    job = ShadowJob(benchmark, 0)
    assert job.training == RetrainJob(benchmark, benchmark.cells["digit_3-50"], 3).training
    assert job.start == ""


def test_methods_unlearn_from_shadow_models_with_the_values_of_their_runs():
    benchmark = grid(**POOL)
    tuned, plain = (ExposeJob(benchmark, benchmark.cells["digit_3-50"], n) for n in ("ft", "ga"))
    assert tuned.selected == [f"{CELL}/tune/ft/selected.json"]
    assert plain.selected == []
    options = shlex.split(plain.options)
    assert options[:4] == ["--run", "ga", "--method", "ga"]
    assert json.loads(options[5]) == plain.spec.params.model_dump(mode="json")
    assert tuned.seed == benchmark.seeds[0]


def test_neither_controls_nor_sweeps_unlearn_from_shadow_models():
    sweeps = {"s": {"method": "ga", "vary": {"epochs": [1, 2]}}}
    job = evaluation(**POOL, controls=["original"], sweeps=sweeps)
    assert len(job.cell.runs) > 3
    names = [f"{CELL}/exposure/{name}/exposure.npz" for name in ("ft", "ga")]
    assert read_by(job, "exposure.npz") == names
    assert option(job.options, "--exposed") == ["ft", "ga"]


def test_what_metrics_wait_for_must_be_in_a_record():
    assert {kind.evaluated for kind in kinds().values()} - {""} <= layout.RECORDED
