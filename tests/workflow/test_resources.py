"""What jobs ask a scheduler for, as a dry run shows it."""

import re

import pytest
from conftest import Project, copy_project

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
"""
TRAINING = {"base", "retrain", "tune", "unlearn"}
Asked = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The paper's experiment in small."""
    project = copy_project(tmp_path_factory.mktemp("big"))
    (project.folder / "big.yaml").write_text(CONFIG)
    (project.folder / "small.yaml").write_text(CONFIG.replace("resnet56", "resnet20"))
    own = CONFIG.replace("name: cifar100", "name: arrays, path: no.npz")
    (project.folder / "own.yaml").write_text(own)
    return project


@pytest.fixture(scope="module")
def asked(big: Project) -> Asked:
    return resources(big)


def resources(project: Project, *options: str, config: str = "big.yaml") -> Asked:
    """Return what a dry run says of the resources of each rule."""
    done = project.snakemake("--dry-run", "--configfile", config, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^(?:local)?rule (\w+):\n(?: .*\n)*?    resources: (.*)", done.stdout, re.M)
    return {rule: dict(pair.split("=", 1) for pair in line.split(", ")) for rule, line in found}


def test_time_and_memory_follow_data_and_work(asked):
    # At 6400 / 4 images a second: 200 epochs of 50,000; 3 trials of 20, the defaults among them.
    assert asked["base"]["runtime"] == asked["retrain"]["runtime"] == "104"
    assert asked["tune"]["runtime"] == "32"
    assert asked["unlearn"]["runtime"] == "30"  # the least
    assert asked["base"]["mem_mb"] == "4703"  # 60,000 images of 3 kB, four times


def test_only_jobs_that_train_ask_for_a_gpu(asked):
    assert {rule for rule in asked if "gpu" in asked[rule]} == TRAINING


def test_a_smaller_model_asks_for_less_time(big):
    assert resources(big, config="small.yaml")["base"]["runtime"] == "34"


def test_data_that_are_not_there_yet_do_not_stop_a_dry_run(big):
    asked = resources(big, config="own.yaml")
    assert asked["base"]["runtime"] == "30"
    assert asked["base"]["mem_mb"] == "4000"


def test_every_further_attempt_asks_for_twice_as_much_and_for_a_day_at_most(big):
    asked = resources(big, "--attempt", "5")
    assert asked["unlearn"]["runtime"] == "480"
    assert asked["base"]["runtime"] == "1440"
    assert asked["base"]["mem_mb"] == "75248"


def test_the_profile_says_in_one_place_how_gpus_are_asked_for(big):
    pytest.importorskip("snakemake_executor_plugin_slurm")
    big.edit("profiles/slurm/config.yaml", "gpu: 1 #", "gpu: 0 #")
    big.edit("profiles/slurm/config.yaml", '# gres: "gpu:1"', 'gres: "gpu:1"')
    asked = resources(big, "--workflow-profile", "profiles/slurm")
    for rule in TRAINING:
        assert {"gpu": "0", "gres": "gpu:1"}.items() <= asked[rule].items()
    assert asked["base"]["runtime"] == "104"
