"""Supports of every size in the DAG: what the job is given, and what it asks for."""

import pytest
from conftest import Project, copy_project

pytestmark = pytest.mark.workflow
TARGET = "results/small/digit_3-50/support_size/seed-1/support_sizes.npz"
CONFIG = """
benchmarks:
  small:
    data: {name: digits}
    model: resnet8
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5, 0.9]
    methods:
      ltd: {k: 100, lr: [0.001, 0.01]}
    support_size: {k: [50, 100, 150], cells: [digit_3-50]}
"""


@pytest.fixture
def small(tmp_path) -> Project:
    project = copy_project(tmp_path)
    (project.folder / "small.yaml").write_text(CONFIG)
    return project


def test_retrain_is_not_among_what_the_job_needs(small):
    planned = small.planned("--configfile", "small.yaml", "--", TARGET)
    assert planned == {"data": 1, "split": 1, "base": 1, "support_size": 1}


def test_it_waits_for_tuning_only_where_that_decides_on_the_teacher(small):
    small.edit("small.yaml", "lr: [0.001, 0.01]", "teacher_lr: [0.05, 0.1]")
    planned = small.planned("--configfile", "small.yaml", "--", TARGET)
    assert planned["tune"] == 1
    assert "retrain" not in planned


def test_there_is_one_job_for_each_seed_of_the_cells_that_are_named(small):
    assert small.planned("--configfile", "small.yaml")["support_size"] == 2


def test_the_job_is_told_no_k_of_the_runs_and_a_gpu_is_asked_for(small):
    def command() -> str:
        done = small.snakemake("--dry-run", "-p", "--configfile", "small.yaml", "--", TARGET)
        return done.stdout[done.stdout.index("rule support_size") :].partition("\n\n[")[0]

    before = command()
    assert "--sizes 50 100 150 --top 3" in before
    assert "gpu=1" in before
    small.edit("small.yaml", "k: 100, lr", "k: 200, min_similarity: 0.5, epochs: 7, lr")
    assert (
        command().split("collateral support_size")[1] == before.split("collateral support_size")[1]
    )
