"""What jobs ask a scheduler for, as a dry run shows it."""

import re

import pytest
from conftest import REPOSITORY, Project, copy_project, read_yaml

pytestmark = pytest.mark.workflow
BENCHMARK = """
    data: {name: cifar100}
    model: resnet56
    base: {epochs: 200}
    seeds: [0]
    classes: [couch]
    fractions: [0.5]
    methods:
      ft: {epochs: 20, lr: [0.001, 0.01, 0.1]}
      rl: {epochs: 200}
"""
# A plug-in, which need not tell how much data it has.
UNTOLD = """
from collateral.contract.data import DataOptions, DatasetInfo

INFO = DatasetInfo(class_names=None, source="mine", licence="mine")


class Options(DataOptions):
    pass


def load(options): ...
"""
TRAINING = {"base", "retrain", "teacher", "tune", "unlearn", "track", "support_size", "probe"}
TRAINING |= {"shadow", "expose", "given"}
PLANNED = {"base", "retrain", "tune", "unlearn ft", "unlearn rl"}
# Benchmarks of one config: the paper's experiment in small, and what changes time and memory.
LARGE = BENCHMARK.replace("cifar100", "synthetic, size: 64").replace("[couch]", "[0]")
BENCHMARKS = {
    "big": BENCHMARK,
    "large": LARGE.replace("200}", "200, batch_size: 512}", 1),
    "own": BENCHMARK.replace("cifar100", "untold"),
}
# Of ResNet-56 without a GPU: the weights 8 times; 64 features and 100 logits of 60,000 images twice
# as float32; activations.
MEMORY = 4000 + 26 + 75 + 192
ON_GPU = MEMORY - 192
Asked = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A checkout with a config of all benchmarks and a data set that does not state its size."""
    project = copy_project(tmp_path_factory.mktemp("resources"))
    texts = [f"  {name}:{text}" for name, text in BENCHMARKS.items()]
    config = "".join(["plugins: [mine]\nbenchmarks:\n", *texts])
    (project.folder / "resources.yaml").write_text(config)
    (project.folder / "mine/data").mkdir(parents=True)
    (project.folder / "mine/data/untold.py").write_text(UNTOLD)
    return project


def resources(project: Project, *options: str, **variables: str) -> dict[str, Asked]:
    """Return the resources of each rule, and of each run of `unlearn`, by benchmark."""
    found: dict[str, Asked] = {name: {} for name in BENCHMARKS}
    for job in project.jobs("--configfile", "resources.yaml", *options, **variables):
        run = job.wildcards.get("run")
        if benchmark := job.wildcards.get("benchmark"):
            found[benchmark][f"{job.rule} {run}" if run else job.rule] = job.resources
    return found


@pytest.fixture(scope="module")
def planned(project: Project) -> dict[str, Asked]:
    """Resources in one dry run, which most tests of this file read."""
    return resources(project)


@pytest.fixture(scope="module")
def asked(planned) -> Asked:
    """Resources of the benchmark `big`."""
    return planned["big"]


def test_time_and_memory_follow_data_and_work(asked):
    # At 6400 / 4 images a second, as assumed for every model where no job has finished: 200 epochs
    # of 50,000; 3 trials of 20, the defaults among them.
    assert asked["base"]["runtime"] == asked["retrain"]["runtime"] == "104"
    assert asked["tune"]["runtime"] == "32"
    assert asked["unlearn ft"]["runtime"] == "30"  # the least
    # 4000, weights and outputs, and without a GPU 256 bytes of each value of 256 images.
    assert asked["base"]["mem_mb"] == str(MEMORY)


def test_reading_the_data_set_asks_for_three_copies_of_the_images(planned):
    assert planned["big"]["data"]["mem_mb"] == str(1000 + 3 * 176 - 1)  # 175.8 MB each
    assert planned["own"]["data"]["mem_mb"] == "1000"


def test_only_jobs_that_train_ask_for_a_gpu(asked):
    assert {rule for rule in asked if "gpu" in asked[rule]} == PLANNED


def test_jobs_whose_time_is_printed_have_a_gpu_for_themselves(project):
    asked = resources(project, "--resources", "gpu=6", COLLATERAL_GPU_SLOTS="3")["big"]
    whole = {rule for rule in asked if asked[rule].get("gpu") == "3"}
    assert whole == {"tune", "unlearn ft", "unlearn rl"}
    assert {asked[rule]["gpu"] for rule in PLANNED - whole} == {"1"}


@pytest.mark.parametrize(
    ("slots", "options", "said"),
    [
        ("17", (), "COLLATERAL_GPU_SLOTS=17: choose 1 to 16 jobs per GPU"),
        ("two", (), "COLLATERAL_GPU_SLOTS=two: choose 1 to 16 jobs per GPU"),
        ("1", ("--resources", "gpu=2", "gpu_slots=3"), "in place of gpu_slots, set COLLATERAL_GPU"),
    ],
)
def test_a_wrong_number_of_slots_is_refused(project, slots, options, said):
    options = ("--dry-run", "--configfile", "resources.yaml", *options)
    done = project.snakemake(*options, COLLATERAL_GPU_SLOTS=slots)
    assert done.returncode == 1 and said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_every_other_rule_runs_where_snakemake_runs():
    files = [REPOSITORY / "Snakefile", *(REPOSITORY / "workflow/rules").glob("*.smk")]
    text = "\n".join(file.read_text() for file in files)
    rules = set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)(?: with)?:", text, re.M))
    (local,) = re.findall(r"^localrules:\n((?:    \w+,\n)+)", text, re.M)
    assert rules - {*re.findall(r"\w+", local)} == TRAINING
    assert read_yaml(REPOSITORY / "profiles/slurm/config.yaml")["set-resources"].keys() == TRAINING


def test_larger_images_and_batches_ask_for_more(planned):
    asked = int(planned["large"]["base"]["mem_mb"])
    assert asked == pytest.approx(4000 + 26 + 2 * 4 / 3 * 192, rel=0.02)
    assert asked > MEMORY + 200


def test_activations_are_in_the_memory_of_the_gpu_if_there_is_one(project):
    slurm = ("--workflow-profile", "profiles/slurm")
    one = ("--set-resources", "base:gpu=0")
    cases = {
        (): (MEMORY, MEMORY),
        ("--resources", "gpu=1"): (ON_GPU, ON_GPU),
        slurm: (ON_GPU, ON_GPU),
        # What the command line sets replaces all that the profile sets, also of other rules.
        (*slurm, *one): (MEMORY, MEMORY),
        (*slurm, *one, "base:gres=gpu:1"): (ON_GPU, MEMORY),
    }
    for options, (base, retrain) in cases.items():
        asked = resources(project, *options)["big"]
        found = asked["base"]["mem_mb"], asked["retrain"]["mem_mb"]
        assert found == (str(base), str(retrain)), options


def test_data_that_do_not_tell_their_size_do_not_stop_a_dry_run(planned):
    base = planned["own"]["base"]
    assert base["runtime"] == "30"
    assert base["mem_mb"] == str(4000 + 192)


def test_every_further_attempt_doubles_memory_and_time_up_to_a_day(project):
    asked = resources(project, "--attempt", "5")["big"]
    assert asked["unlearn ft"]["runtime"] == "480"
    assert asked["base"]["runtime"] == "1440"
    assert asked["base"]["mem_mb"] == str(16 * MEMORY)


def test_the_profile_says_in_one_place_how_gpus_are_asked_for(project):
    pytest.importorskip("snakemake_executor_plugin_slurm")
    project.edit("profiles/slurm/config.yaml", "gpu: 1 #", "gpu: 0 #")
    project.edit("profiles/slurm/config.yaml", '# gres: "gpu:1"', 'gres: "gpu:1"')
    asked = resources(project, "--workflow-profile", "profiles/slurm")["big"]
    for rule in PLANNED:
        assert {"gpu": "0", "gres": "gpu:1"}.items() <= asked[rule].items()
    assert asked["base"]["runtime"] == "104"
