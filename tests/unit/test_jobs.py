"""What a job of the plan is: its description, its inputs, its code; no Snakemake."""

import json
import re
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from plug_ins import TWO_PHASES, forgotten_after, write_method
from small_grid import grid

from collateral.cli import main
from collateral.config.errors import ConfigError
from collateral.contract.work import inference_work, training_work
from collateral.jobs import (
    as_argument,
    description_class,
    find_job,
    kinds,
    list_jobs,
    metrics,
    read_argument,
    read_job,
    stages_of_kinds,
)
from collateral.jobs._job import Job, OwnFile, Part, PlannedInCell
from collateral.jobs.base import BaseJob, PlannedBase
from collateral.jobs.data import PlannedData
from collateral.jobs.expose import PlannedExpose
from collateral.jobs.given import PlannedGiven
from collateral.jobs.metrics import PlannedMetrics
from collateral.jobs.neighbours import PlannedNeighbours
from collateral.jobs.probe import PlannedProbe
from collateral.jobs.retrain import PlannedRetrain
from collateral.jobs.shadow import PlannedShadow
from collateral.jobs.split import PlannedSplit
from collateral.jobs.support_size import PlannedSupportSize
from collateral.jobs.tables import PlannedTables
from collateral.jobs.teacher import PlannedTeacher
from collateral.jobs.tune import PlannedTune
from collateral.jobs.unlearn import PlannedUnlearn, UnlearnJob
from collateral.plan.fingerprint import stage_code
from collateral.plan.preflight import check_plan
from collateral.plan.report_plan import make_plan
from collateral.plugins.find import MODEL
from collateral.results import layout
from collateral.results.job_text import job_kind
from collateral.results.provenance import content_hash, write_signed

CELL = "results/b/digit_3-50"
SHARED = {"base": {"sharing": "shared"}}


def unlearn(run, seed, plugins=None, **changes):
    benchmark = grid(plugins, **changes)
    cell = benchmark.cells["digit_3-50"]
    return PlannedUnlearn(benchmark, cell, seed, run)


def tune(method, plugins=None, **changes):
    benchmark = grid(plugins, **changes)
    return PlannedTune(benchmark, benchmark.cells["digit_3-50"], method)


def evaluation(**changes):
    benchmark = grid(**changes)
    return PlannedMetrics(benchmark, benchmark.cells["digit_3-50"])


def read_by(job, folder):
    """Return the folders below `folder` of the cell whose records the metrics read."""
    records = [record.removesuffix("/record.json") for record in job.inputs["records"]]
    return [record for record in records if record.startswith(f"{CELL}/{folder}")]


def prepared(job):
    """Return the records of the jobs that run `prepare` for a job."""
    return job.inputs.get("prepared", [])


def test_a_job_is_found_by_the_texts_of_its_wildcards():
    benchmark = grid(**POOL)
    cell = benchmark.cells["digit_3-50"]
    found = find_job("unlearn", benchmark, ("b", "digit_3-50", "1", "ft"))
    assert found == PlannedUnlearn(benchmark, cell, 1, "ft")
    assert find_job("unlearn", benchmark, ("b", "digit_3-50", "1", "ft")) is found
    assert find_job("shadow", benchmark, ("b", "5")) == PlannedShadow(benchmark, 5)
    assert find_job("data", benchmark, ["b"]) == PlannedData(benchmark)
    assert find_job("tables", benchmark, ["b"]) == PlannedTables(benchmark)


@pytest.mark.parametrize(
    "texts", [("b", "digit_3-50", "9", "ft"), ("b", "digit_3-50", "1", "gone")]
)
def test_a_job_that_is_not_planned_is_named(texts):
    with pytest.raises(ValueError, match=f"^the config has no unlearn of {'/'.join(texts)}$"):
        find_job("unlearn", grid(**POOL), texts)


EVERYTHING = {
    "methods": {"ft": {"lr": [0.1, 0.2]}, "ltd": {"k": 60}},
    "controls": ["original", "ideal"],
    "sweeps": {"s": {"method": "ltd", "vary": {"beta": [3]}}},
    "given": {"its": {"weights": "{cell}-{seed}.pt"}},
    "select": "teacher",
    "track": ["ft"],
    "support_size": {"k": [20, 50]},
    "probe": ["zrf", "cka"],
    "shadows": {"count": 6},
    "margin": {"ua": 5.1},
}


def test_every_description_is_read_back_from_its_text():
    benchmark = grid(**EVERYTHING)
    jobs = [*list_jobs(benchmark)]
    assert len({job.kind_name for job in jobs}) == 15
    for job in jobs:
        assert read_job(job.text) == job.job
        assert read_job(job.text).content() == job.job.content()
        assert json.loads(job.text).keys() <= job.job.content().keys()
        assert job_kind(["run", job.text]) == job.kind_name


def test_a_description_is_the_same_text_in_every_process():
    first, again = ([job.text for job in list_jobs(grid(**EVERYTHING))] for _ in range(2))
    assert first == again
    assert len({*first}) == len(first)
    for text in first:
        fields = {key: value for key, value in json.loads(text).items() if key != "kind"}
        assert text.partition(", ")[2] == json.dumps(fields, sort_keys=True)[1:]
        assert "/results/" not in text and str(Path.cwd()) not in text


def test_a_new_field_with_a_default_leaves_the_text_of_finished_jobs_as_it_is():
    class Longer(UnlearnJob):
        later: int = 7
        parts: tuple[str, ...] = ()

    old = unlearn("ft", 1).job
    known = {name: getattr(old, name) for name in UnlearnJob.model_fields}
    fields = json.loads(old.text()).keys() - {"kind"}
    assert Longer(**known).changed().keys() == fields
    assert Longer(**known, later=8).changed() == old.changed() | {"later": 8}
    # What a record contains is whole.
    assert Longer(**known).content().keys() == {"kind", *Longer.model_fields}


def test_parts_of_a_description_leave_out_their_defaults_and_values_of_the_config_do_not():
    own = OwnFile(key="init", sha256="1f")
    job = BaseJob(benchmark="b", seed=0, model="mlp", params={"lr": 0.1}, own=own)
    assert json.loads(job.text())["own"] == {"key": "init", "sha256": "1f"}
    renamed = job.model_copy(update={"own": own.model_copy(update={"rename": {"a": "b"}})})
    assert json.loads(renamed.text())["own"]["rename"] == {"a": "b"}
    probe = probing()
    assert json.loads(probe.text)["params"] == probe.job.content()["params"]


# Defaults of descriptions: name of the class, of the field, and the default. A line is added for a
# new field with a default, and none may change: finished jobs with the default would stay as they
# are, though they now mean something else. A changed default is a field of another name.
DEFAULTS = """
base BaseJob.freeze = ()
base BaseJob.own = None
base OwnFile.rename = {}
base OwnFile.rte = None
expose ExposeJob.freeze = ()
expose ExposeJob.tuning = None
given GivenJob.freeze = ()
given GivenJob.own = None
given OwnFile.rename = {}
given OwnFile.rte = None
index IndexJob.benchmark = ''
index IndexJob.theory = ''
metrics MetricsJob.has_teacher = False
metrics MetricsJob.by_seed = ()
probe ProbeJob.freeze = ()
probe ProbeJob.reference_seed = None
retrain RetrainJob.freeze = ()
retrain RetrainJob.own = None
retrain OwnFile.rename = {}
retrain OwnFile.rte = None
shadow ShadowJob.freeze = ()
shadow ShadowJob.own = None
shadow OwnFile.rename = {}
shadow OwnFile.rte = None
split SplitJob.needs = None
split SplitJob.base_seed = 0
split SplitJob.num_shadows = 0
split SplitJob.earlier = ()
support_size SupportSizeJob.freeze = ()
support_size SupportSizeJob.tuning = None
support_size SupportSizeJob.before = None
support_size SupportSizeJob.preparing = Preparing(tunings=(), runs=(), teacher=False)
support_size Preparing.tunings = ()
support_size Preparing.runs = ()
support_size Preparing.teacher = False
teacher TeacherJob.freeze = ()
teacher TeacherJob.tuning = None
teacher TeacherJob.before = None
teacher TeacherJob.preparing = Preparing(tunings=(), runs=(), teacher=False)
teacher Preparing.tunings = ()
teacher Preparing.runs = ()
teacher Preparing.teacher = False
theory TheoryJob.benchmark = ''
tune TuneJob.freeze = ()
tune TuneJob.tuning = None
tune TuneJob.before = None
tune TuneJob.preparing = Preparing(tunings=(), runs=(), teacher=False)
tune TuneJob.has_teacher = False
tune Preparing.tunings = ()
tune Preparing.runs = ()
tune Preparing.teacher = False
unlearn UnlearnJob.freeze = ()
unlearn UnlearnJob.tuning = None
unlearn UnlearnJob.before = None
unlearn UnlearnJob.preparing = Preparing(tunings=(), runs=(), teacher=False)
unlearn UnlearnJob.vary = {}
unlearn UnlearnJob.track = False
unlearn UnlearnJob.needs_retrain = False
unlearn Preparing.tunings = ()
unlearn Preparing.runs = ()
unlearn Preparing.teacher = False
"""


def test_no_default_of_a_description_has_changed():
    assert [*list_defaults()] == DEFAULTS.strip().splitlines()


def list_defaults():
    for name in stages_of_kinds():
        todo = [description_class(name)]
        for part in todo:
            for field, about in part.model_fields.items():
                if not about.is_required():
                    default = about.get_default(call_default_factory=True)
                    yield f"{name} {part.__name__}.{field} = {default!r}"
                kinds = [about.annotation, *get_args(about.annotation)]
                todo += [k for k in kinds if isinstance(k, type) and issubclass(k, Part)]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"base_seed"', '"other": 1, "base_seed"', "other: unknown key (value 1); allowed: "),
        ('"seed": 1', '"seed": "x"', "seed: 'x': "),
        (', "seed": 1', "", "seed: missing; it has no default"),
        ('"unlearn"', '"unlern"', "kind: 'unlern' is no kind of job; known: "),
        ('"kind": ', "", "the description is not JSON: "),
    ],
)
def test_a_mistake_in_a_description_is_named_in_one_line(capsys, before, after, said):
    text = unlearn("ft", 1).text
    assert text.count(before) == 1
    with pytest.raises(ValueError, match="^" + re.escape(said)) as raised:
        read_job(text.replace(before, after))
    assert "\n" not in str(raised.value)
    with pytest.raises(SystemExit) as ended:
        main(["run", text.replace(before, after)])
    assert str(ended.value).startswith("collateral ") and said in str(ended.value)


# Data and forget sets.


def test_a_data_set_is_described_by_its_name_and_its_options():
    job = PlannedData(grid(data={"name": "digits", "per_class": 20}))
    assert (job.job.name, job.job.options) == ("digits", {"per_class": 20})
    assert job.code == stage_code("data", "collateral.data.digits")


def test_the_data_job_gets_all_forget_sets_beside_its_description():
    """Another forget set must not make the data again."""
    job = PlannedData(grid(classes=["digit_3"]))
    sets = job.beside["forget"]
    params = {"class": "digit_3", "fraction": 0.9, "order": "first"}
    assert [one["cell"] for one in sets] == ["digit_3-50", "digit_3-90"]
    assert sets[1] == {"cell": "digit_3-90", "kind": "class_part", "params": params}
    assert job.text == PlannedData(grid(classes=["digit_8"])).text


def test_a_text_too_long_for_a_command_line_is_a_file_named_by_its_hash(tmp_path, monkeypatch):
    """Linux allows an argument 131,072 bytes, and a shell's command is one."""
    monkeypatch.chdir(tmp_path)
    short, long, other = (json.dumps(["x" * count]) for count in (9, 120_000, 120_001))
    assert as_argument(short, "data") == short
    named, same, further = (as_argument(text, "data") for text in (long, long, other))
    assert named == same != further
    assert read_argument(named) == long and read_argument(further) == other
    assert job_kind(["run", named]) == "data"


def test_files_of_the_users_own_are_inputs_as_far_as_they_are_there(tmp_path):
    (tmp_path / "train.npz").touch()
    data = {"name": "arrays", "path": str(tmp_path / "train.npz"), "test_path": "no.npz"}
    assert PlannedData(grid(data=data, classes=[1])).user_files == [str(tmp_path / "train.npz")]
    assert PlannedData(grid()).user_files == []
    data["test_path"] = None
    assert PlannedData(grid(data=data, classes=[1])).user_files == [str(tmp_path / "train.npz")]


def test_where_only_the_data_tell_their_size_the_job_is_told_what_must_be_left():
    data, methods = {"name": "arrays", "path": "no.npz"}, {"neighbor": {"k": 7}}
    job = PlannedData(grid(data=data, classes=[1], fractions=[1], methods=methods))
    (told,) = job.beside["forget"]
    assert told["asked"] == {"benchmarks.b.methods.neighbor.k": 7}


def listed(path):
    forget = {"kind": "index_file", "path": str(path)}
    benchmark = grid(cells={"mine": {"forget": forget}})
    return PlannedSplit(benchmark, benchmark.cells["mine"])


def test_a_list_of_indices_is_an_input(tmp_path):
    (tmp_path / "mine.txt").touch()
    job = listed(tmp_path / "mine.txt")
    assert job.user_files == [str(tmp_path / "mine.txt")]
    assert job.inputs["user"] == job.user_files
    assert (job.job.forget, job.job.params) == ("index_file", {"path": str(tmp_path / "mine.txt")})
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
    return PlannedBase(benchmark, 3), PlannedRetrain(benchmark, benchmark.cells["digit_3-50"], 3)


def test_base_and_retrained_models_are_trained_alike():
    benchmark = grid(base={"epochs": 7, "sharing": "shared"})
    base, retrain = trained(benchmark)
    assert base.job.params == retrain.job.params
    assert base.code == retrain.code
    assert base.job.params["epochs"] == 7
    assert not {"sharing", "weights", "rename"} & base.job.params.keys()


def test_base_and_retrain_start_from_one_file(tmp_path):
    file = tmp_path / "my weights.pt"
    file.write_bytes(b"start")
    benchmark = grid(init={"weights": str(file), "rename": {"module.": ""}})
    base, retrain = trained(benchmark)
    own = OwnFile(key="init.weights", sha256=content_hash(file), rename={"module.": ""})
    assert base.job.own == retrain.job.own == own
    assert not base.job.is_given
    assert base.beside == retrain.beside == {"weights": str(file)}
    assert "user" not in base.inputs  # else Snakemake would run the job again if the file is moved


def test_a_base_of_ones_own_is_not_trained_and_retrain_does_not_start_from_it(tmp_path):
    files = [tmp_path / f"own-{seed}.pt" for seed in (3, 1, 2)]
    benchmark = grid(base={"weights": str(tmp_path / "own-{seed}.pt"), "epochs": 7})
    base, retrain = trained(benchmark)
    files[1].write_bytes(b"own")
    bases = [PlannedBase(benchmark, seed) for seed in (3, 1, 2)]
    assert [job.beside for job in bases] == [{"weights": str(file)} for file in files]
    assert [job.job.own.sha256 for job in bases] == ["", content_hash(files[1]), ""]
    assert all(job.job.is_given for job in bases)
    assert (retrain.job.own, retrain.beside) == (None, {})
    assert base.job.params == {} and retrain.job.params["epochs"] == 7
    evaluated = inference_work(retrain.workload.size.num_examples)
    assert base.work == evaluated * 2
    assert retrain.work == training_work(7 * retrain.num_trained) + evaluated


@pytest.mark.parametrize(
    ("key", "wildcards"),
    [("base", "-{seed}"), ("retrain", "-{cell}-{seed}"), ("init", ""), ("given", "{cell}{seed}")],
)
def test_the_users_weights_are_known_by_content_and_neither_by_folder_nor_by_name(
    tmp_path, key, wildcards
):
    def plan(name, content):
        file = tmp_path / f"{name}{wildcards}.pt"
        own = {"weights": str(file)}
        benchmark = grid(**{key: {"its": own} if key == "given" else own})
        cell = benchmark.cells["digit_3-50"]
        jobs = {"retrain": PlannedRetrain(benchmark, cell, 1)}
        jobs |= {"given": PlannedGiven(benchmark, cell, 1, "its")} if key == "given" else {}
        job = jobs.get(key, PlannedBase(benchmark, 1))
        Path(job.beside["weights"]).parent.mkdir(exist_ok=True)
        Path(job.beside["weights"]).write_bytes(content)
        return job

    first, moved, other = plan("own", b"own"), plan("there/its", b"own"), plan("its", b"others")
    assert first.text == moved.text and first.inputs == moved.inputs
    assert first.code == moved.code == other.code
    assert first.beside != moved.beside
    assert other.text != first.text
    assert plan("own", b"longer").text not in (first.text, other.text)  # at the same place


def test_weights_that_were_deleted_are_those_that_the_record_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = partial(PlannedBase, grid(base={"weights": "own.pt"}), 1)
    assert plan().job.own.sha256 == ""
    record = Path("results/b/base/seed-1/record.json")
    record.parent.mkdir(parents=True)
    write_signed(record, {"made": {"weights": {"hash": "1f"}}}, Path("results/b"))
    assert plan().job.own.sha256 == "1f"
    Path("own.pt").write_bytes(b"again")
    assert plan().job.own.sha256 == content_hash(Path("own.pt"))
    Path("own.pt").unlink()
    record.write_text("{")
    assert plan().job.own.sha256 == ""


def test_a_base_belongs_to_no_cell_so_the_word_cell_in_its_files_name_stays():
    job = PlannedBase(grid(base={"weights": "own-{cell}-{seed}.pt"}), 1)
    assert job.beside == {"weights": "own-{cell}-1.pt"}


def test_a_retrained_model_of_ones_own_is_not_trained(tmp_path):
    own = {"weights": str(tmp_path / "{cell}-{seed}.pt"), "rename": {"a.": ""}, "rte": 9}
    benchmark = grid(retrain=own)
    job = PlannedRetrain(benchmark, benchmark.cells["digit_8-90"], 3)
    assert job.job.own == OwnFile(key="retrain.weights", sha256="", rename={"a.": ""}, rte=9)
    assert job.beside == {"weights": str(tmp_path / "digit_8-90-3.pt")}
    assert job.job.params == {}
    assert job.work == inference_work(job.workload.size.num_examples) * 2


def test_given_weights_are_a_run_of_every_cell_and_seed(tmp_path):
    file = tmp_path / "its weights-{cell}-{seed}.pt"
    benchmark = grid(given={"its": {"weights": str(file), "rte": 120}})
    assert benchmark.labels()["its"] == "its (given)"
    for cell in benchmark.cells.values():
        records = PlannedMetrics(benchmark, cell).inputs["records"]
        folder = f"results/b/{cell.name}/seed-{{}}/its"
        wanted = [f"{folder.format(seed)}/record.json" for seed in (3, 1, 2)]
        assert [one for one in records if "/its/" in one] == wanted
        assert cell.names_by_kind("method") == ["ft", "its"]
    job = PlannedGiven(benchmark, benchmark.cells["digit_3-50"], 1, "its")
    own = OwnFile(key="given.its.weights", sha256="", rte=120)
    assert (job.job.run, job.job.own) == ("its", own)
    assert job.beside == {"weights": str(tmp_path / "its weights-digit_3-50-1.pt")}
    assert job.work == inference_work(job.workload.size.num_examples) * 2


def test_without_retrain_runs_are_compared_with_the_base(tmp_path):
    benchmark = grid(retrain="none")
    cell = benchmark.cells["digit_3-50"]
    job = PlannedMetrics(benchmark, cell)
    assert benchmark.reference == "original" and "original" not in cell.runs
    bases = [f"results/b/base/seed-{seed}/record.json" for seed in (3, 1, 2)]
    runs = [f"results/b/digit_3-50/seed-{seed}/ft/record.json" for seed in (3, 1, 2)]
    assert job.inputs["records"] == [*bases, *runs]
    assert job.job.numbers.reference == "original"
    assert evaluation().job.numbers.reference == "retrain"


# Methods.


@pytest.mark.parametrize("seed", [3, 1, 2])
def test_a_run_starts_from_the_base_of_its_seed_or_from_the_shared_one(seed):
    base = "results/b/base/seed-{}/model.safetensors"
    assert unlearn("ft", seed).inputs["base"] == base.format(seed)
    assert unlearn("ft", seed, **SHARED).inputs["base"] == base.format(3)


@pytest.mark.parametrize("changes", [{}, SHARED])
def test_tuning_is_on_the_first_seed(changes):
    job = tune("ft", methods={"ft": {"lr": [0.1, 0.2]}}, **changes)
    assert job.job.seed == 3
    assert job.inputs["base"] == "results/b/base/seed-3/model.safetensors"


def test_the_tuning_job_contains_its_trials_and_the_defaults():
    job = tune("mine", methods={"mine": {"uses": "ft", "lr": [0.1, 0.2], "epochs": 7}}).job
    assert (job.name, job.method, job.out) == ("mine", "ft", "digit_3-50/tune/mine")
    assert job.params["epochs"] == 7
    assert job.trials == ({"lr": 0.1}, {"lr": 0.2})
    assert job.default == {"lr": 0.01}
    assert job.tuning is None


def test_the_description_of_a_run_contains_its_name_and_the_varied_parameter():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    plain, swept = (unlearn(run, 1, sweeps=sweeps).job for run in ("ft", "ft@lr=0.5"))
    assert (swept.run, swept.vary) == ("ft@lr=0.5", {"lr": 0.5})
    assert plain.vary == {}
    assert not plain.track and unlearn("ft", 1, track=["ft"]).job.track


def test_tables_need_the_epochs_of_a_tracked_run():
    methods = {"ft": {}, "ga": {}}
    tracked, plain = (unlearn(run, 3, methods=methods, track=["ga"]) for run in ("ga", "ft"))
    names = [{Path(file).name for file in job.files} for job in (tracked, plain)]
    assert names[0] - names[1] == {"epochs.npz"}
    assert names[1] == {"outputs.npz", "history.csv", "cost.json", "record.json"}


def test_a_run_waits_for_the_choice_of_its_methods_tuning():
    methods = {"ft": {"lr": [0.1, 0.2]}, "ga": {}}
    sweeps = {"s": {"method": "ft", "vary": {"epochs": [9]}}}
    found = {
        run: unlearn(run, 1, methods=methods, sweeps=sweeps).inputs.get("selected")
        for run in ("ft", "ga", "ft@epochs=9")
    }
    chosen = f"{CELL}/tune/ft/selected.json"
    assert found == {"ft": chosen, "ga": None, "ft@epochs=9": chosen}


@pytest.mark.parametrize("changes", [{}, SHARED])
@pytest.mark.parametrize("seed", [3, 1, 2])
def test_only_a_control_that_needs_it_is_given_retrain_of_its_own_seed(seed, changes):
    changes = {"methods": {"ltd": {}}, "controls": ["original", "ideal"], **changes}
    wanted = f"{CELL}/seed-{seed}/retrain/outputs.npz"
    assert unlearn("ideal", seed, **changes).inputs["retrained"] == wanted
    assert "retrained" not in unlearn("ltd", seed, **changes).inputs


def test_prepared_files_come_from_tuning_on_the_first_seed_and_from_runs_on_others(
    tmp_path,
):
    with forgotten_after():
        write_method(tmp_path, "two", TWO_PHASES)
        methods = {"two": {"lr": [0.1, 0.2]}, "same": {"uses": "two", "lr": [0.1, 0.2]}}
        same = [prepared(unlearn("same", seed, tmp_path, methods=methods)) for seed in (3, 1)]
        tuned = [f"{CELL}/tune/two/record.json"]
        assert same == [tuned, [f"{CELL}/seed-1/two/record.json"]]
        assert prepared(unlearn("two", 3, tmp_path, methods=methods)) == tuned
        assert prepared(unlearn("two", 1, tmp_path, methods=methods)) == []
        assert prepared(tune("two", tmp_path, methods=methods)) == []
        assert prepared(tune("same", tmp_path, methods=methods)) == tuned


# The code of methods.


def test_the_code_of_a_job_is_that_of_its_method_and_model():
    own = unlearn("ft", 1).code
    assert own == unlearn("ft", 2).code
    assert own != unlearn("ft", 1, model="mlp").code
    assert own != unlearn("ga", 1, methods={"ga": {}}).code
    assert own != tune("ft", methods={"ft": {"lr": [0.1, 0.2]}}).code


STAGES = {
    "train": lambda b, cell: [PlannedBase(b, 1).code, PlannedRetrain(b, cell, 1).code],
    "given": lambda b, cell: [PlannedGiven(b, cell, 1, "theirs").code],
    "probe": lambda b, cell: [PlannedProbe(b, cell, 1).code],
    "shadow": lambda b, cell: [PlannedShadow(b, 0).code],
    "tune": lambda b, cell: [PlannedTune(b, cell, "ft").code],
    "unlearn": lambda b, cell: [PlannedUnlearn(b, cell, 1, "ft").code],
    "expose": lambda b, cell: [PlannedExpose(b, cell, "ft").code],
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
    assert PlannedTeacher(benchmark, cell).code == stage_code("teacher", *modules)
    assert PlannedSupportSize(benchmark, cell, 1).code == stage_code("support_size", *modules)


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


def test_the_tuning_job_contains_the_rule_and_by_default_needs_no_teacher():
    for rule in ("paper", "interval"):
        job = tune("ft", methods={"ft": RATES, "ltd": {}}, select=rule)
        assert job.job.select == rule
        assert not {"teacher", "prepared"} & job.inputs.keys()
        assert job.cell.teacher is None
    assert tune("ft", methods={"ft": RATES}).job.select == "paper"


def test_by_the_rule_of_the_teacher_every_tuning_waits_for_the_one_of_its_cell():
    benchmark = asking(ft=RATES, ltd=RATES)
    jobs = [PlannedTune(benchmark, benchmark.cells["digit_3-50"], name) for name in ("ft", "ltd")]
    assert [job.inputs["teacher"] for job in jobs] == [f"{CELL}/local_teacher/teacher.json"] * 2
    assert [prepared(job) for job in jobs] == [[], [f"{CELL}/local_teacher/record.json"]]


def test_the_teacher_is_that_of_ltd_as_the_config_has_it_on_the_first_seed():
    for entry in ({"ltd": {"k": 50, **RATES}}, {"mine": {"uses": "ltd", "k": [50, 70]}, "ft": {}}):
        benchmark = asking(**entry)
        job = PlannedTeacher(benchmark, benchmark.cells["digit_3-50"])
        assert job.job.params["k"] == 50
        assert "lr" not in job.job.params
        assert job.job.method == "ltd"
        assert job.inputs["base"] == "results/b/base/seed-3/model.safetensors"


def test_without_ltd_the_teacher_has_its_defaults():
    benchmark = asking(ft=RATES)
    job = PlannedTeacher(benchmark, benchmark.cells["digit_3-50"])
    assert job.job.params["k"] == 1000
    assert "ltd" not in job.cell.runs


def test_without_tuning_there_is_no_teacher_job():
    """As in all cells but one that has a grid of its own."""
    forget = {"kind": "class_part", "class": "digit_8", "fraction": 0.5}
    tuned = {"own": {"forget": forget, "methods": {"ft": RATES}}}
    cells = grid(methods={"ft": {}, "ltd": {}}, select="teacher", cells=tuned).cells
    assert cells["digit_3-50"].teacher is None
    assert cells["own"].teacher is not None


def test_runs_of_the_first_seed_take_what_the_teacher_prepared():
    changes = {"methods": {"ltd": {}, "ft": RATES}, "select": "teacher"}
    assert prepared(unlearn("ltd", 3, **changes)) == [f"{CELL}/local_teacher/record.json"]
    assert prepared(unlearn("ltd", 1, **changes)) == []


# Support sizes.


def sizing(**ltd):
    benchmark = grid(methods={"ltd": ltd}, support_size={"k": [50, 100]})
    return PlannedSupportSize(benchmark, benchmark.cells["digit_3-50"], 1)


def test_the_job_support_size_contains_no_k_of_the_runs():
    plain, other = sizing(k=200), sizing(min_similarity=0.5, epochs=7, lr=0.3)
    assert plain.text == other.text
    assert (plain.job.sizes, plain.job.top) == ((50, 100), 3)
    assert not {"k", "k_each", "min_similarity"} & plain.job.params.keys()


def test_they_wait_for_tuning_only_where_it_decides_on_the_teacher():
    assert "selected" not in sizing(lr=[0.1, 0.2]).inputs
    tuned = sizing(teacher_lr=[0.1, 0.2]).inputs
    assert tuned["selected"] == f"{CELL}/tune/ltd/selected.json"
    assert sizing().inputs["base"] == "results/b/base/seed-1/model.safetensors"


# Probes.


def probing(**changes):
    benchmark = grid(probe={"residual": {"count": 7}, "zrf": {}}, **changes)
    return PlannedProbe(benchmark, benchmark.cells["digit_3-50"], 1)


@pytest.mark.parametrize(("changes", "base"), [({}, 1), (SHARED, 3)])
def test_a_probe_reads_the_models_of_its_seed_and_of_the_original_its_base(changes, base):
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.5]}}}
    job = probing(sweeps=sweeps, **changes)
    assert job.job.runs == ("retrain", "ft", "original")
    folders = [f"{CELL}/seed-1/retrain", f"{CELL}/seed-1/ft", f"results/b/base/seed-{base}"]
    assert job.inputs["models"] == [f"{folder}/model.safetensors" for folder in folders]


def test_the_description_of_a_probe_contains_all_its_parameters():
    assert probing().job.params == {"residual": {"count": 7, "std": 0.03}, "zrf": {}}


def test_a_probe_that_needs_near_examples_reads_the_features_of_the_first_seeds_base():
    benchmark = grid(probe=["cka", "zrf"])
    job = PlannedProbe(benchmark, benchmark.cells["digit_3-50"], 1)
    assert job.inputs["embeddings"] == ["results/b/base/seed-3/embeddings.npz"]
    assert probing().inputs["embeddings"] == []


def test_the_metrics_job_contains_the_probes_and_reads_them_for_every_seed():
    job = evaluation(probe=["zrf", "relearn"])
    assert job.job.numbers.probed == ("relearn", "zrf")
    assert read_by(job, "probe") == [f"{CELL}/probe/seed-{seed}" for seed in (3, 1, 2)]


def test_without_probe_nothing_is_probed():
    assert read_by(evaluation(), "probe") == []
    assert evaluation().job.numbers.probed == ()
    assert not any(cell.probed for cell in grid().cells.values())


# Evaluation.


@pytest.mark.parametrize(("changes", "bases"), [({}, [3, 1, 2]), (SHARED, [3, 3, 3])])
def test_similarity_is_by_the_base_of_each_seed(changes, bases):
    benchmark = grid(**changes)
    found = PlannedNeighbours(benchmark, benchmark.cells["digit_3-50"]).inputs["embeddings"]
    assert found == [f"results/b/base/seed-{seed}/embeddings.npz" for seed in bases]


@pytest.mark.parametrize(("changes", "bases"), [({}, [3, 1, 2]), (SHARED, [3])])
def test_outputs_are_those_of_all_runs_and_for_the_original_the_bases(changes, bases):
    found = evaluation(methods={"ft": {}, "ga": {}}, **changes).inputs["records"]
    runs = [f"{CELL}/seed-{s}/{run}" for s in (3, 1, 2) for run in ("retrain", "ft", "ga")]
    folders = [*runs, *(f"results/b/base/seed-{seed}" for seed in bases)]
    assert sorted(found) == sorted(f"{folder}/record.json" for folder in folders)


def test_without_the_original_no_base_is_read():
    assert not any("/base/" in path for path in evaluation(controls=[]).inputs["records"])


def test_trials_and_support_sizes_are_read_where_there_are_some():
    changes = {"methods": {"ltd": {"lr": [0.1, 0.2]}}, "support_size": {"k": [20, 50]}}
    job = evaluation(**changes)
    assert read_by(job, "tune") == [f"{CELL}/tune/ltd"]
    sizes = [f"{CELL}/support_size/seed-{seed}" for seed in (3, 1, 2)]
    assert read_by(job, "support_size") == sizes
    assert read_by(evaluation(), "tune") == read_by(evaluation(), "support_size") == []


def test_a_new_kind_of_job_per_seed_is_read_by_the_metrics_without_being_named_there(monkeypatch):
    class DriftJob(Job):
        folder = "{cell}/drift/seed-{seed}"
        cell: str
        seed: int

    class PlannedDrift(PlannedInCell):
        describes = DriftJob
        evaluated = "drift.npz"
        seed: int

    known, find = kinds(), description_class
    monkeypatch.setattr(metrics, "kinds", lambda: {**known, "drift": PlannedDrift})
    monkeypatch.setattr(
        metrics, "description_class", lambda kind: DriftJob if kind == "drift" else find(kind)
    )
    job = evaluation(probe=["zrf"])
    assert job.job.by_seed == ("probe", "drift")
    assert read_by(job, "drift") == [f"{CELL}/drift/seed-{seed}" for seed in (3, 1, 2)]
    assert read_by(job, "probe") == [f"{CELL}/probe/seed-{seed}" for seed in (3, 1, 2)]


def test_metrics_read_the_teacher_that_tuning_asked():
    tuned = {"methods": {"ft": {"lr": [0.1, 0.2]}}}
    assert read_by(evaluation(**tuned, select="teacher"), "local") == [f"{CELL}/local_teacher"]
    assert read_by(evaluation(**tuned), "local") == []


def test_the_metrics_job_names_the_run_of_each_output():
    numbers = evaluation(
        methods={"ltd": {"lr": [0.1, 0.2]}, "ft": {}},
        controls=["original", "ideal"],
        sweeps={"s": {"method": "ltd", "vary": {"beta": [3]}}},
        track=["ft"],
        support_size={"k": [20, 50]},
        margin={"ua": 12.3456789},
        looks=[3],
        **SHARED,
    ).job.numbers
    told = {
        "seeds": [3, 1, 2],
        "base_seeds": [3, 3, 3],
        "methods": ["ltd", "ft", "ltd@beta=3"],
        "controls": ["original", "ideal"],
        "tuned": ["ltd"],
        "tracked": ["ft"],
        "support_sized": ["ltd"],
        "looks": [3],
    }
    assert {name: list(getattr(numbers, name)) for name in told} == told
    assert numbers.margins == {"ua": 12.3456789}
    assert evaluation().job.numbers.support_sized == ()


def test_the_plan_of_the_pages_has_what_the_numbers_are_computed_from():
    benchmark = grid(margin={"ta": 3}, track=["ft"])
    for name, cell in benchmark.cells.items():
        planned = make_plan(benchmark).cells[name].numbers
        assert planned == PlannedMetrics(benchmark, cell).job.numbers


def test_the_attack_on_confidence_is_always_among_them():
    for given in (["entropy"], ["entropy", "confidence"]):
        assert evaluation(attacks=given).job.numbers.attacks == ("confidence", "entropy")


POOL = {"methods": {"ft": {"lr": [0.1, 0.2]}, "ga": {}}, "shadows": {"count": 8, "share": 0.5}}


def test_without_a_pool_nothing_is_exposed():
    assert grid(methods=POOL["methods"]).config.shadows is None
    assert read_by(evaluation(methods=POOL["methods"]), "exposure") == []


def test_shadow_models_are_those_of_the_benchmark_for_all_cells_and_methods():
    benchmark = grid(**POOL)
    jobs = [
        PlannedExpose(benchmark, cell, run.name)
        for cell in benchmark.cells.values()
        for run in cell.exposed.values()
    ]
    assert len(jobs) == 4 * 2
    models = [f"results/b/shadows/member-{member}/model.safetensors" for member in range(8)]
    assert {tuple(job.inputs["shadows"]) for job in jobs} == {tuple(models)}


HARD = {
    "cells": {
        "hard": {"forget": {"kind": "hardest", "share": 0.1}},
        "known": {"forget": {"kind": "memorised", "level": "high", "share": 0.1}},
        "odd": {"forget": {"kind": "untypical", "count": 7}},
    },
    "methods": {"ga": {}},
    "shadows": {"count": 12},
}


def test_a_forget_set_that_needs_more_than_labels_is_chosen_by_the_files_it_needs():
    benchmark = grid(**HARD, seeds=[4, 1])
    jobs = {name: PlannedSplit(benchmark, cell) for name, cell in benchmark.cells.items()}
    needed = {name: job.inputs["needed"] for name, job in jobs.items()}
    assert needed["hard"] == ["results/b/base/seed-4/outputs.npz"]
    assert needed["odd"] == ["results/b/dataset.npz"]
    assert needed["digit_3-50"] == []
    margins = [f"results/b/shadows/member-{member}/margins.npz" for member in range(12)]
    assert needed["known"] == margins


def test_the_half_of_the_pool_that_chose_the_forget_set_is_not_attacked():
    benchmark = grid(**HARD)
    attacked = {
        name: [
            file.split("/")[3] for file in PlannedExpose(benchmark, cell, "ga").inputs["margins"]
        ]
        for name, cell in benchmark.cells.items()
    }
    assert attacked["hard"] == [f"member-{member}" for member in range(12)]
    assert attacked["known"] == [f"member-{member}" for member in range(6, 12)]


def test_a_pool_that_only_chooses_is_trained_and_not_attacked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmark = grid(**{**HARD, "shadows": {"count": 12, "attack": False}})
    assert not any(cell.exposed for cell in benchmark.cells.values())
    shadow = PlannedShadow(benchmark, 0)
    assert shadow.will_run
    split = tmp_path / "results/b/known/split.json"
    split.parent.mkdir(parents=True)
    split.touch()
    assert not shadow.will_run


def test_a_shadow_model_is_trained_where_a_method_lacks_its_margins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmark = grid(**POOL)
    cells, first = [*benchmark.cells], PlannedShadow(benchmark, 0)
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
    assert (first.will_run, PlannedShadow(benchmark, 1).will_run) == (True, False)


def test_the_description_of_a_shadow_model_contains_the_base_recipe_and_its_pool():
    benchmark = grid(**POOL, base={"epochs": 7})
    job = PlannedShadow(benchmark, 3)
    assert job.job.params == PlannedBase(benchmark, 3).job.params
    assert (job.job.count, job.job.share) == (8, 0.5)
    assert job.code != PlannedBase(benchmark, 3).code


def test_a_shadow_model_starts_from_the_file_that_base_and_retrain_start_from(tmp_path):
    (tmp_path / "start.pt").write_bytes(b"start")
    init = {"weights": str(tmp_path / "start.pt"), "rename": {"a.": "b."}}
    benchmark = grid(**POOL, init=init)
    job, base = PlannedShadow(benchmark, 3), PlannedBase(benchmark, 3)
    assert job.job.own == base.job.own
    assert job.job.own.rename == {"a.": "b."}
    assert job.job.own.sha256 == content_hash(tmp_path / "start.pt")
    assert job.beside == {"weights": str(tmp_path / "start.pt")}


def test_a_shadow_model_is_trained_by_retrains_recipe_where_the_base_is_the_users_own(tmp_path):
    benchmark = grid(**POOL, base={"weights": str(tmp_path / "own.pt"), "epochs": 7})
    job = PlannedShadow(benchmark, 0)
    retrain = PlannedRetrain(benchmark, benchmark.cells["digit_3-50"], 3)
    assert job.job.params == retrain.job.params
    assert job.job.own is None


def test_methods_unlearn_from_shadow_models_with_the_values_of_their_runs():
    benchmark = grid(**POOL)
    tuned, plain = (
        PlannedExpose(benchmark, benchmark.cells["digit_3-50"], n) for n in ("ft", "ga")
    )
    assert tuned.inputs["selected"] == f"{CELL}/tune/ft/selected.json"
    assert "selected" not in plain.inputs
    assert (plain.job.run, plain.job.method) == ("ga", "ga")
    assert plain.job.params == plain.spec.params.model_dump(mode="json")
    assert tuned.job.seed == benchmark.seeds[0]


def test_neither_controls_nor_sweeps_unlearn_from_shadow_models():
    sweeps = {"s": {"method": "ga", "vary": {"epochs": [1, 2]}}}
    job = evaluation(**POOL, controls=["original"], sweeps=sweeps)
    assert len(job.cell.runs) > 3
    assert read_by(job, "exposure") == [f"{CELL}/exposure/{name}" for name in ("ft", "ga")]
    assert job.job.numbers.exposed == ("ft", "ga")


def test_inputs_of_the_metrics_job_are_in_a_record():
    assert {kind.evaluated for kind in kinds().values()} - {""} <= layout.RECORDED
