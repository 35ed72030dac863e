"""Inputs and descriptions of every job, read from one printed DAG of four benchmarks."""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY, Job, copy_project

from collateral.config.load import load
from collateral.contract.data import ImageInfo
from collateral.jobs import kinds, list_jobs, parse_job, stages_of_kinds
from collateral.jobs._job import PlannedPage
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import build_grid

pytestmark = pytest.mark.workflow
SEEDS = ("3", "1", "2")  # the first is not the least
# Files of a benchmark that its cells have in common.
SHARED = r"base/|shadows/|dataset\.npz|labels\.npz"
CELLS = ("digit_3-50", "digit_3-90")
# Two benchmarks of this text differ in how runs share base models.
GRID = """
  NAME:
    data: {name: digits}
    model: small_cnn
    base: {sharing: SHARING}
    seeds: [3, 1, 2]
    classes: [digit_3]
    fractions: [0.5, 0.9]
    methods:
      ft: {lr: [0.01, 0.1]}
      mine: {uses: ft}
      ltd: {k: [100, 200], top: 2}
      two: {uses: ltd, k: 100}
      salun: {}
    controls: [original, ideal]
    sweeps:
      teacher: {method: ltd, vary: {teacher: [mlp]}}
      beta: {method: ltd, vary: {beta: [3]}}
    track: [ft]
    support_size: {k: [50, 100], cells: [digit_3-50]}
"""
POOLS = """
  other:
    data: {name: synthetic}
    model: mlp
    seeds: [7]
    classes: [0]
    fractions: [0.5]
    methods: {ga: {}}
    shadows: {count: 8, share: 0.5}
  pool:
    data: {name: digits}
    model: small_cnn
    init: {weights: start.safetensors}
    base: {sharing: shared}
    seeds: [3, 1, 2]
    classes: [digit_8]
    fractions: [0.5]
    methods:
      ft: {lr: [0.01, 0.1]}
      ga: {}
    shadows: {count: 6, share: 0.5}
"""
SHARING = {"small": "matched", "shared": "shared"}  # of the benchmarks that are a GRID
GRIDS = [GRID.replace("NAME", name).replace("SHARING", how) for name, how in SHARING.items()]
CONFIG = "".join(["benchmarks:\n", *GRIDS, POOLS])
MEMBERS = {"other": 8, "pool": 6}  # Number of shadow models of each benchmark.
FIRST_SEED = {**dict.fromkeys(["small", "shared", "pool"], SEEDS[0]), "other": "7"}
START = "start.safetensors"
# By run, whose tuning chooses some of its values.
TUNED = {"ft": "ft", **dict.fromkeys(["ltd", "ideal", "ltd@teacher=mlp", "ltd@beta=3"], "ltd")}
RUNS = {*TUNED, "mine", "two", "salun"}
RUNNING = ("unlearn", "track")  # the rules of runs


@dataclass(frozen=True)
class Plan:
    """All jobs of the config, and the folder of the project."""

    jobs: list[Job]
    folder: Path

    def of(self, *rules: str) -> list[Job]:
        """Return the jobs of some rules; there are some."""
        found = [job for job in self.jobs if job.rule in rules]
        assert {job.rule for job in found} == {*rules}
        return found


@pytest.fixture(scope="module")
def plan(tmp_path_factory) -> Plan:
    """The jobs of one dry run, which all tests of this file read."""
    project = copy_project(tmp_path_factory.mktemp("wiring"))
    (project.folder / "small.yaml").write_text(CONFIG)
    write_start(project.folder / START)
    return Plan(project.jobs("--configfile", "small.yaml"), project.folder)


def base_seed(benchmark: str, seed: str) -> str:
    """Return the seed of the base model from which the runs of a seed start."""
    return SEEDS[0] if benchmark in ("shared", "pool") else seed


def write_start(path: Path) -> None:
    """Write weights of an untrained model, which training may start from."""
    pytest.importorskip("torch")
    build = import_module("collateral.models._build").build_model
    info = ImageInfo(num_classes=10, shape=(8, 8, 1), mean=(0.5,), std=(0.5,))
    import_module("safetensors.torch").save_file(build("small_cnn", info).state_dict(), path)


def seed_of(job: Job) -> str:
    """Return the seed that a job is of: tuning and exposure are of the first."""
    is_first = job.rule in ("tune", "expose")
    return FIRST_SEED[job.wildcards["benchmark"]] if is_first else job.wildcards["seed"]


def seeds_in(files: list[str], pattern: str) -> set[str]:
    return {found[1] for file in files if (found := re.search(pattern, file))}


def test_there_is_a_job_for_every_run_of_every_seed_and_cell(plan):
    for name in SHARING:
        runs = {
            (job.wildcards["cell"], job.wildcards["seed"], job.wildcards["run"])
            for job in plan.of(*RUNNING)
            if job.wildcards["benchmark"] == name
        }
        assert runs == {(cell, seed, run) for cell in CELLS for seed in SEEDS for run in RUNS}
    bases = [(job.wildcards["benchmark"], job.wildcards["seed"]) for job in plan.of("base")]
    of_seeds = {(name, base_seed(name, seed)) for name in (*SHARING, "pool") for seed in SEEDS}
    assert sorted(bases) == sorted({*of_seeds, ("other", "7")})
    tuned = [(job.wildcards["benchmark"], job.wildcards["method"]) for job in plan.of("tune")]
    of_grids = [(name, method) for name in SHARING for method in ("ft", "ft", "ltd", "ltd")]
    assert sorted(tuned) == sorted([*of_grids, ("pool", "ft")])


def test_a_method_starts_from_the_base_of_its_seed(plan):
    for job in plan.of(*RUNNING, "tune", "support_size"):
        benchmark = job.wildcards["benchmark"]
        seed = base_seed(benchmark, seed_of(job))
        base = f"results/{benchmark}/base/seed-{seed}/model.safetensors"
        assert [file for file in job.input if "/base/" in file] == [base], job


def test_a_job_gets_its_own_folder(plan):
    numbers = {"seed", "member"}
    for job in plan.jobs:
        told = {key: str(value) for key, value in job.told.items() if key in numbers}
        told |= {key: job.told[key] for key in ("benchmark", "cell", "run") if key in job.told}
        own = {key: value for key, value in job.wildcards.items() if key != "method"}
        if job.told and own:
            assert own.items() <= told.items(), job
    for job in plan.of("base", "retrain", *RUNNING, "tune", "support_size", "expose"):
        assert str(job.told["seed"]) == seed_of(job)


def test_files_of_a_seed_are_inputs_only_of_jobs_of_that_seed(plan):
    """What tunings choose and prepare is of the first, and metrics are of all."""
    for job in plan.of("base", "retrain", *RUNNING, "tune", "support_size", "expose"):
        seeds = seeds_in(job.input, r"/digit_\d-\d+/\w*/?seed-(\d)/")
        assert seeds <= {seed_of(job)}, job
    for job in plan.of("tune"):
        assert not any("/seed-" in file for file in job.input if "/base/" not in file)


def test_only_the_control_that_needs_it_metrics_and_pictures_see_retrain(plan):
    for job in plan.jobs:
        given = [file for file in job.input if "/retrain/" in file]
        if job.rule == "unlearn" and job.wildcards["run"] == "ideal":
            benchmark, cell, seed = (job.wildcards[key] for key in ("benchmark", "cell", "seed"))
            assert given == [f"results/{benchmark}/{cell}/seed-{seed}/retrain/outputs.npz"]
            assert job.told["needs_retrain"]
        else:
            assert not given or job.rule in ("metrics", "pictures")
            assert not job.told.get("needs_retrain")


def test_a_job_gets_no_files_of_another_benchmark_or_cell(plan):
    """Cells come together where a benchmark is gathered."""
    for job in plan.jobs:
        place = "results"
        for wildcard in ("benchmark", "cell"):
            if value := job.wildcards.get(wildcard):
                others = [f for f in (*job.input, *job.output) if f.startswith(f"{place}/")]
                place = f"{place}/{value}"
                inside = [file for file in others if file.startswith(f"{place}/")]
                shared = [f for f in others if re.match(rf"results/\w+/({SHARED})", f)]
                assert {*others} == {*inside, *shared}, job


def test_a_job_declares_what_its_description_names(plan):
    """A file that a job reads and does not declare is not made before, and not watched."""
    for job in plan.jobs:
        if job.told.get("benchmark"):
            described = parse_job(job.told)
            root = f"results/{described.benchmark}"
            read = {f"{root}/{file}" for file in described.input_files}
            assert {*job.input} - {START} == read, job
            if job.rule in ("tables", "figures", "check"):  # folders, and an empty file
                continue
            names = [*described.files.values(), *described.records]
            names += [f"{described.out}/cost.json"] if described.has_cost else []
            assert {*job.output} == {f"{root}/{name}" for name in names}, job


def test_no_command_line_has_a_path_but_those_of_the_user(plan):
    for job in plan.jobs:
        words = " ".join(job.command)
        assert "results/" not in words and str(Path.home()) not in words, job


def test_metrics_are_given_the_outputs_of_all_runs_and_of_the_bases(plan):
    for job in plan.of("metrics"):
        if (name := job.wildcards["benchmark"]) in SHARING:
            cell = f"results/{name}/{job.wildcards['cell']}"
            runs = {f"{cell}/seed-{seed}/{run}" for seed in SEEDS for run in {*RUNS, "retrain"}}
            bases = {f"results/{name}/base/seed-{base_seed(name, seed)}" for seed in SEEDS}
            given = {f for f in job.input if re.search(r"/seed-\d/\S+/record|/base/", f)}
            assert given == {f"{folder}/record.json" for folder in runs | bases}
            numbers = job.told["numbers"]
            assert numbers["seeds"] == [*map(int, SEEDS)]
            assert numbers["base_seeds"] == [int(base_seed(name, seed)) for seed in SEEDS]


def test_similarity_is_by_the_bases_in_the_order_of_the_seeds(plan):
    for job in plan.of("neighbours"):
        if (name := job.wildcards["benchmark"]) in SHARING:
            bases = [f"results/{name}/base/seed-{base_seed(name, seed)}" for seed in SEEDS]
            files = [f"{base}/embeddings.npz" for base in bases]
            given = [file for file in job.input if file.endswith("/embeddings.npz")]
            assert [*dict.fromkeys(given)] == [*dict.fromkeys(files)]
            assert job.told["seeds"] == [*map(int, SEEDS)]


def test_a_run_waits_for_its_tuning_and_for_what_others_prepare(plan):
    for job in plan.of(*RUNNING):
        cell, run, seed = (job.wildcards[key] for key in ("cell", "run", "seed"))
        folder = f"results/{job.wildcards['benchmark']}/{cell}"
        by = TUNED.get(run)
        given = [file for file in job.input if file.endswith("/selected.json")]
        assert given == ([f"{folder}/tune/{by}/selected.json"] if by else [])
        prepared = [file for file in job.input if file.endswith("/record.json")]
        assert prepared == expected_sources(folder, run, seed)


def expected_sources(folder: str, run: str, seed: str) -> list[str]:
    """Return where a run looks: tuning prepares k 100 and 200 on the first seed."""
    if run in ("ltd", "two", "ltd@beta=3") and seed == SEEDS[0]:
        return [f"{folder}/tune/ltd/record.json"]
    return [f"{folder}/seed-{seed}/ltd/record.json"] if run == "ltd@beta=3" else []


def test_a_tuning_is_told_its_own_method_and_all_of_its_trials(plan):
    grids = {"ft": ("lr", [0.01, 0.1]), "ltd": ("k", [100, 200])}
    for job in plan.of("tune"):
        method = job.wildcards["method"]
        key, values = grids[method]
        assert (job.told["name"], job.told["method"]) == (method, method)
        assert [trial[key] for trial in job.told["trials"]] == values
        folder = f"results/{job.wildcards['benchmark']}/{job.wildcards['cell']}/tune/{method}"
        assert {file.rpartition("/")[0] for file in job.output} == {folder}


def test_base_retrain_and_shadow_models_start_from_the_users_file_where_there_is_one(plan):
    for job in plan.of("base", "retrain", "shadow"):
        if job.wildcards["benchmark"] == "pool":
            assert job.told["own"]["key"] == "init.weights"
            assert job.beside == {"weights": START}
            assert len(job.told["own"]["sha256"]) == 64
        else:
            assert job.told["own"] is None and not job.beside
        assert START not in job.input


def test_every_shadow_model_gets_its_own_number(plan):
    for benchmark, count in MEMBERS.items():
        jobs = [job for job in plan.of("shadow") if job.wildcards["benchmark"] == benchmark]
        assert sorted(job.wildcards["member"] for job in jobs) == [*map(str, range(count))]
        for job in jobs:
            member = job.wildcards["member"]
            assert (str(job.told["member"]), job.told["count"]) == (member, count)
            folder = f"results/{benchmark}/shadows/member-{member}"
            assert {file.rpartition("/")[0] for file in job.output} == {folder}
            assert {*job.input} - {START} == {f"results/{benchmark}/dataset.npz"}


def test_a_method_is_exposed_on_the_whole_pool_of_its_benchmark_and_on_no_other_model(plan):
    told = {(job.wildcards["benchmark"], job.wildcards["run"]) for job in plan.of("expose")}
    assert told == {("other", "ga"), ("pool", "ft"), ("pool", "ga")}
    for job in plan.of("expose"):
        benchmark, run = job.wildcards["benchmark"], job.wildcards["run"]
        folder = f"results/{benchmark}/{job.wildcards['cell']}"
        members = [f"results/{benchmark}/shadows/member-{n}" for n in range(MEMBERS[benchmark])]
        models = [f"{member}/model.safetensors" for member in members]
        assert [file for file in job.input if file.endswith(".safetensors")] == models
        assert f"{folder}/split.json" in job.input
        assert job.told["run"] == job.told["method"] == run
        chosen = [f"{folder}/tune/ft/selected.json"] if run == "ft" else []
        assert [file for file in job.input if file.endswith("/selected.json")] == chosen


def test_metrics_read_what_every_method_does_to_the_pool(plan):
    runs = {"small": [], "shared": [], "other": ["ga"], "pool": ["ft", "ga"]}
    for job in plan.of("metrics"):
        benchmark = job.wildcards["benchmark"]
        folder = f"results/{benchmark}/{job.wildcards['cell']}/exposure"
        read = [file for file in job.input if "/exposure/" in file]
        assert read == [f"{folder}/{run}/record.json" for run in runs[benchmark]]
        assert job.told["numbers"]["exposed"] == runs[benchmark]


def test_rules_run_the_jobs_of_the_list_and_write_the_files_that_these_state(plan, monkeypatch):
    monkeypatch.chdir(plan.folder)  # where the weights are of which a description has the hash
    config = yaml.safe_load(CONFIG)
    jobs = [job for one in build_grid(load(config)).values() for job in list_jobs(one)]
    stated = {(job.rule, *sorted(map(str, job.wildcards.values()))): job for job in jobs}
    rules = {name for name, kind in kinds().items() if not issubclass(kind, PlannedPage)}
    rules.add("track")
    planned = {(j.rule, *sorted(j.wildcards.values())): j for j in plan.jobs if j.rule in rules}
    assert planned.keys() == stated.keys() and len(stated) == len(jobs) > 50
    for key, job in stated.items():
        assert {*job.files} <= {*planned[key].output}, key
        assert planned[key].told == job.job.content(), key
    read = {file for job in plan.of("metrics") for file in job.input}
    assert {f"{job.out}/record.json" for job in jobs if job.evaluated} <= read


def test_figures_do_not_wait_for_tables(plan):
    for job in plan.of("figures", "tables"):
        names = {file.rpartition("/")[2] for file in job.input}
        assert names == {"plan.json", "metrics.csv", "costs.csv", "gates.json"}


def rules() -> dict[str, str]:
    """Return the text of every rule."""
    texts = [file.read_text() for file in (REPOSITORY / "workflow/rules").glob("*.smk")]
    return dict(re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", "\n".join(texts), re.M))


def test_every_rule_that_runs_a_job_is_asked_for_it_by_its_own_name():
    """Inputs, description and code are those of the rule's own kind of job."""
    running = {name: text for name, text in rules().items() if "RUN_JOB" in text}
    assert {*running} | {"track"} == {*stages_of_kinds()} | {"track"}
    for name, text in running.items():
        if name not in ("index", "theory"):
            # The function of `data` first stops if finished results are not as planned.
            inputs = "inputs_of_data" if name == "data" else f'inputs_of("{name}")'
            assert f"unpack({inputs})" in text
            assert f'**described("{name}")' in text


def expected_code(told: dict) -> str:
    """Return the fingerprint of a job's own stage, and of the code that it looks up by name."""
    kind = told["kind"]
    looked_up = {
        "collateral.data.{}": told.get("name") if kind == "data" else None,
        "collateral.data.forget.{}": told.get("forget") if kind == "split" else None,
        "collateral.models.{}": told.get("model"),
        "collateral.methods.{}.method": told.get("method"),
    }
    named = [pattern.format(name) for pattern, name in looked_up.items() if name]
    return stage_code(stages_of_kinds()[kind], *named)


PRESENTING = {"metrics", "gather", "tables", "figures", "report", "index"}


def test_a_job_gets_the_code_fingerprint_of_its_own_stage(plan):
    alone = {None, "ft", "ga", "salun"}  # these build no model but the benchmark's
    told = [job for job in plan.jobs if job.told and job.rule not in PRESENTING]
    seen = [job for job in told if job.told.get("method") in alone]
    for job in seen:
        assert job.option("--code") == [expected_code(job.told)], job
    assert {job.rule for job in told} == {job.rule for job in seen} | {"support_size"}
    assert {job.rule for job in seen} == {
        *("data", "split", "base", "retrain", "tune", "unlearn", "track", "shadow", "expose"),
        *("neighbours", "pictures", "theory", "check"),
    }


def test_no_code_is_that_of_two_stages(plan):
    """Also of methods that build teachers: unlearning and tuning are told different codes."""
    stages_of = {}
    for job in (job for job in plan.jobs if job.told):
        stage = stages_of_kinds()[job.told["kind"]]
        stages_of.setdefault(job.option("--code")[0], set()).add(stage)
    assert {code: stages for code, stages in stages_of.items() if len(stages) > 1} == {}
    assert len(stages_of) > 10
