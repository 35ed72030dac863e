"""Models used once more, in the DAG: only where the config asks, one job a cell and seed."""

import pytest
from conftest import Project, copy_project

pytestmark = pytest.mark.workflow
ASKED = "    probe: [relearn, residual, zrf]\n"
CONFIG = """
benchmarks:
  small:
    data: {name: digits}
    model: resnet8
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5, 0.9]
    methods: {ft: {}, ltd: {k: 100}}
    sweeps: {beta: {method: ltd, vary: {beta: [1, 2]}}}
"""


@pytest.fixture
def small(tmp_path) -> Project:
    project = copy_project(tmp_path)
    (project.folder / "small.yaml").write_text(CONFIG)
    (project.folder / "probed.yaml").write_text(CONFIG + ASKED)
    return project


def test_it_is_off_by_default(small):
    assert "probe" not in small.planned()


def test_it_adds_one_job_a_cell_and_seed_and_nothing_else(small):
    plain, probed = (small.planned("--configfile", f"{c}.yaml") for c in ("small", "probed"))
    assert probed.pop("probe") == 4
    assert probed == plain


def test_the_job_is_given_the_models_of_all_runs_but_sweeps(small):
    target = "results/small/digit_3-50/probe/seed-1/probe.npz"
    [job] = [
        job
        for job in small.jobs("--configfile", "probed.yaml", "--", target)
        if job.rule == "probe"
    ]
    cell = "results/small/digit_3-50"
    runs = [f"{cell}/seed-1/{run}" for run in ("retrain", "ft", "ltd")]
    folders = [*runs, "results/small/base/seed-1"]
    models = [f"{folder}/model.safetensors" for folder in folders]
    assert job.option("--models") == models
    assert job.option("--runs") == ["retrain", "ft", "ltd", "original"]
    assert {*job.input} == {"results/small/dataset.npz", f"{cell}/split.json", *models}


def test_metrics_wait_for_it(small):
    jobs = small.jobs("--configfile", "probed.yaml")
    metrics = [job for job in jobs if job.rule == "metrics"]
    assert len(metrics) == 2
    for job in metrics:
        probes = [path for path in job.input if path.endswith("probe.npz")]
        assert len(probes) == 2
        assert job.option("--probed") == ["relearn", "residual", "zrf"]
