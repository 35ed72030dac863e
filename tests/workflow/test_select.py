"""Choosing by a teacher in the DAG: who waits for it, and that it is trained once a cell."""

import pytest
from conftest import Project, copy_project

pytestmark = pytest.mark.workflow
CELLS = ("digit_3-50", "digit_3-90")
CONFIG = """
benchmarks:
  small:
    data: {name: digits}
    model: resnet8
    seeds: [1, 0]
    classes: [digit_3]
    fractions: [0.5, 0.9]
    select: teacher
    methods:
      ft: {lr: [0.01, 0.1]}
      ltd: {k: 100, lr: [0.001, 0.01]}
      ga: {}
"""


@pytest.fixture
def small(tmp_path) -> Project:
    project = copy_project(tmp_path)
    (project.folder / "small.yaml").write_text(CONFIG)
    return project


def test_every_tuning_waits_for_the_teacher_of_its_cell_which_knows_no_retrain(small):
    jobs = small.jobs("--configfile", "small.yaml")
    taught = [job for job in jobs if job.rule == "teacher"]
    assert sorted(job.wildcards["cell"] for job in taught) == [*CELLS]
    for job in taught:
        assert not any("retrain" in word for word in (*job.input, *job.command))
        assert job.option("--seed") == ["1"]
    tunings = [job for job in jobs if job.rule == "tune"]
    assert len(tunings) == 2 * 2
    for job in tunings:
        folder = f"results/small/{job.wildcards['cell']}/local_teacher"
        assert job.option("--teacher") == [f"{folder}/teacher.json"]
        assert job.option("--select") == ["teacher"]
        assert f"{folder}/teacher.json" in job.input
        is_ltd = job.wildcards["method"] == "ltd"
        assert job.option("--prepared") == ([f"{folder}/prepared"] if is_ltd else [])


def test_by_the_papers_rule_nobody_is_asked(small):
    small.edit("small.yaml", "select: teacher", "select: paper")
    jobs = small.jobs("--configfile", "small.yaml")
    assert not any(job.rule == "teacher" for job in jobs)
    tunings = [job for job in jobs if job.rule == "tune"]
    assert [job.option("--teacher") for job in tunings] == [[]] * 4
