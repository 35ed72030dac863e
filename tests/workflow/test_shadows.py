"""The shadow pool in the DAG: off by default, one for all cells and methods, without Retrain."""

import pytest
from conftest import Project, copy_project

pytestmark = pytest.mark.workflow
CONFIG = """
benchmarks:
  small:
    data: {name: digits}
    model: resnet8
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5, 0.9]
    methods:
      ft: {lr: [0.01, 0.1]}
      ga: {}
    sweeps: {epochs: {method: ga, vary: {epochs: [1, 2]}}}
"""
POOL = "    shadows: {count: 6, share: 0.5}\n"
TARGET = "results/small/digit_3-50/exposure/{}/exposure.npz"
OPTIONS = ("--configfile", "small.yaml")


@pytest.fixture
def small(tmp_path) -> Project:
    project = copy_project(tmp_path)
    (project.folder / "small.yaml").write_text(CONFIG)
    return project


def test_a_pool_adds_its_models_and_a_job_for_each_cell_and_method_and_nothing_else(small):
    before = small.planned(*OPTIONS)
    (small.folder / "small.yaml").write_text(CONFIG + POOL)
    after = small.planned(*OPTIONS)
    assert before.keys().isdisjoint({"shadow", "expose"})
    assert after == {**before, "shadow": 6, "expose": 2 * 2}


def test_neither_base_nor_retrain_is_among_what_the_job_needs(small):
    (small.folder / "small.yaml").write_text(CONFIG + POOL)
    planned = small.planned(*OPTIONS, "--", TARGET.format("ga"))
    assert planned == {"data": 1, "split": 1, "shadow": 6, "expose": 1}


def test_it_waits_for_the_choice_of_tuning(small):
    (small.folder / "small.yaml").write_text(CONFIG + POOL)
    planned = small.planned(*OPTIONS, "--", TARGET.format("ft"))
    assert planned["tune"] == 1
    assert "retrain" not in planned
