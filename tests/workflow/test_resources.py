"""What jobs ask a scheduler for, as a dry run shows it."""

import re

import pytest
from conftest import REPOSITORY, Project, copy_project, read_yaml

pytestmark = pytest.mark.workflow
CONFIG = """
benchmarks:
  big:
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
Asked = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The paper's experiment in small."""
    project = copy_project(tmp_path_factory.mktemp("big"))
    (project.folder / "big.yaml").write_text(CONFIG)
    (project.folder / "small.yaml").write_text(CONFIG.replace("resnet56", "resnet20"))
    (project.folder / "mine/data").mkdir(parents=True)
    (project.folder / "mine/data/untold.py").write_text(UNTOLD)
    own = CONFIG.replace("name: cifar100", "name: untold")
    (project.folder / "own.yaml").write_text(f"plugins: [mine]\n{own}")
    return project


@pytest.fixture(scope="module")
def asked(big: Project) -> Asked:
    return resources(big)


def resources(project: Project, *options: str, config: str = "big.yaml") -> Asked:
    """Return what a dry run says of the resources of each rule, and of each run of `unlearn`."""
    done = project.snakemake("--dry-run", "--configfile", config, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for rule, lines in re.findall(r"^rule (\w+):\n((?: .*\n)+)", done.stdout, re.M):
        run = re.search(r"    wildcards: .*\brun=(\S+)", lines)
        asked = re.search(r"    resources: (.*)", lines)[1].split(", ")
        found[f"{rule} {run[1]}" if run else rule] = dict(pair.split("=", 1) for pair in asked)
    return found


def test_time_and_memory_follow_data_and_work(asked):
    # At 6400 / 4 images a second: 200 epochs of 50,000; 3 trials of 20, the defaults among them.
    assert asked["base"]["runtime"] == asked["retrain"]["runtime"] == "104"
    assert asked["tune"]["runtime"] == "32"
    assert asked["unlearn ft"]["runtime"] == "30"  # the least
    assert asked["base"]["mem_mb"] == "6203"  # 4000, 1500 of a ResNet-56, images four times


def test_only_jobs_that_train_ask_for_a_gpu(asked):
    assert {rule for rule in asked if "gpu" in asked[rule]} == PLANNED


def test_every_other_rule_runs_where_snakemake_runs():
    files = [REPOSITORY / "Snakefile", *(REPOSITORY / "workflow/rules").glob("*.smk")]
    text = "\n".join(file.read_text() for file in files)
    rules = set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)(?: with)?:", text, re.M))
    (local,) = re.findall(r"^localrules:\n((?:    \w+,\n)+)", text, re.M)
    assert rules - {*re.findall(r"\w+", local)} == TRAINING
    assert read_yaml(REPOSITORY / "profiles/slurm/config.yaml")["set-resources"].keys() == TRAINING


def test_a_smaller_model_asks_for_less(big):
    base = resources(big, config="small.yaml")["base"]
    assert (base["runtime"], base["mem_mb"]) == ("34", "5403")


def test_larger_images_and_batches_ask_for_more(big):
    large = CONFIG.replace("cifar100", "synthetic, size: 64").replace("[couch]", "[0]")
    (big.folder / "large.yaml").write_text(large.replace("200}", "200, batch_size: 512}", 1))
    asked = int(resources(big, config="large.yaml")["base"]["mem_mb"])
    assert asked == pytest.approx(4000 + 2 * 4 * 1500, rel=0.02)


def test_data_that_do_not_tell_their_size_do_not_stop_a_dry_run(big):
    asked = resources(big, config="own.yaml")
    assert asked["base"]["runtime"] == "30"
    assert asked["base"]["mem_mb"] == "5500"


def test_every_further_attempt_asks_for_twice_as_much_and_for_a_day_at_most(big):
    asked = resources(big, "--attempt", "5")
    assert asked["unlearn ft"]["runtime"] == "480"
    assert asked["base"]["runtime"] == "1440"
    assert asked["base"]["mem_mb"] == "99248"


def test_the_profile_says_in_one_place_how_gpus_are_asked_for(big):
    pytest.importorskip("snakemake_executor_plugin_slurm")
    big.edit("profiles/slurm/config.yaml", "gpu: 1 #", "gpu: 0 #")
    big.edit("profiles/slurm/config.yaml", '# gres: "gpu:1"', 'gres: "gpu:1"')
    asked = resources(big, "--workflow-profile", "profiles/slurm")
    for rule in PLANNED:
        assert {"gpu": "0", "gres": "gpu:1"}.items() <= asked[rule].items()
    assert asked["base"]["runtime"] == "104"
