"""Jobs that only some configs have, read from one printed DAG; and the order of jobs.

Benchmarks of one config differ by one key: probes, a teacher for `select`, shadow models, support
sizes, and weights of the user. `test_given.py` and `test_smoke.py` run some of these jobs.
"""

from collections import Counter

import pytest
from conftest import Job, copy_project, jobs_for, write_weights

pytestmark = pytest.mark.workflow
CELLS = ("digit_3-50", "digit_3-90")
FRAME = """
    data: {name: digits}
    model: resnet8
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5, 0.9]
"""
ONE_RUN = FRAME.replace("[0, 1]", "[0]").replace("[0.5, 0.9]", "[0.5]")
METHODS = """
    methods: {ft: {lr: [0.01, 0.1]}, ltd: {k: 100}, ga: {}}
    sweeps:
      beta: {method: ltd, vary: {beta: [1, 2]}}
      epochs: {method: ga, vary: {epochs: [1, 2]}}
"""
TUNED = "    methods: {ft: {lr: [0.01, 0.1]}, ltd: {k: 100, lr: [0.001, 0.01]}, ga: {}}"
SIZES = "    support_size: {k: [50, 100, 150], cells: [digit_3-50]}"
OTHER_LTD = "k: 200, min_similarity: 0.5, epochs: 7, lr: [0.001, 0.01]"
BENCHMARKS = {
    "plain": FRAME + METHODS,
    "probed": f"{FRAME}{METHODS}    probe: [relearn, residual, zrf]",
    "pool": f"{FRAME}{METHODS}    shadows: {{count: 6, share: 0.5}}",
    "taught": f"{FRAME.replace('[0, 1]', '[1, 0]')}{TUNED}\n    select: teacher",
    "by_paper": f"{FRAME.replace('[0, 1]', '[1, 0]')}{TUNED}\n    select: paper",
    "sized": f"{FRAME}    methods: {{ltd: {{k: 100, lr: [0.001, 0.01]}}}}\n{SIZES}",
    "sized_other_k": f"{FRAME}    methods: {{ltd: {{{OTHER_LTD}}}}}\n{SIZES}",
    "sized_tuned": f"{FRAME}    methods: {{ltd: {{k: 100, teacher_lr: [0.05, 0.1]}}}}\n{SIZES}",
    "own": f"{ONE_RUN}    methods: {{ft: {{}}}}\n    retrain: {{weights: made.pt}}"
    "\n    given: {theirs: {weights: made.pt}}",
}
CONFIG = "benchmarks:\n" + "".join(f"  {name}:{text}\n" for name, text in BENCHMARKS.items())


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> list[Job]:
    """The jobs of one dry run, which all tests of this file read."""
    project = copy_project(tmp_path_factory.mktemp("optional"))
    (project.folder / "optional.yaml").write_text(CONFIG)
    write_weights(project.folder / "made.pt", "resnet8", 10, (8, 8, 1))
    return project.jobs("--configfile", "optional.yaml")


def of(jobs: list[Job], benchmark: str, *rules: str) -> list[Job]:
    """Return the jobs of a benchmark, or only those of some rules."""
    found = [job for job in jobs if job.wildcards.get("benchmark") == benchmark]
    return [job for job in found if job.rule in rules] if rules else found


def counts(jobs: list[Job]) -> Counter[str]:
    return Counter(job.rule for job in jobs)


# Probes.


def test_probes_add_one_job_a_cell_and_seed_and_nothing_else(jobs):
    plain, probed = (counts(of(jobs, name)) for name in ("plain", "probed"))
    assert "probe" not in plain and len(plain) > 10
    assert probed == {**plain, "probe": 4}


def test_a_probe_is_given_the_models_of_all_runs_but_sweeps(jobs):
    cell, wanted = "results/probed/digit_3-50", {"cell": "digit_3-50", "seed": "1"}
    (job,) = (j for j in of(jobs, "probed", "probe") if wanted.items() <= j.wildcards.items())
    runs = [f"{cell}/seed-1/{run}" for run in ("retrain", "ft", "ltd", "ga")]
    models = [f"{folder}/model.safetensors" for folder in (*runs, "results/probed/base/seed-1")]
    assert job.told["runs"] == ["retrain", "ft", "ltd", "ga", "original"]
    assert {*job.input} == {"results/probed/dataset.npz", f"{cell}/split.json", *models}


def test_metrics_wait_for_the_probes_of_every_seed(jobs):
    metrics = of(jobs, "probed", "metrics")
    assert len(metrics) == 2
    for job in metrics:
        assert sum("/probe/seed-" in path for path in job.input) == 2
        assert job.told["numbers"]["probed"] == ["relearn", "residual", "zrf"]


# Shadow models.

EXPOSURE = "results/pool/digit_3-50/exposure/{}/exposure.npz"


def test_a_pool_adds_its_models_and_a_job_for_each_cell_and_method_and_nothing_else(jobs):
    plain, pool = (counts(of(jobs, name)) for name in ("plain", "pool"))
    assert plain.keys().isdisjoint({"shadow", "expose"})
    assert pool == {**plain, "shadow": 6, "expose": 3 * 2}


def test_neither_base_nor_retrain_is_among_the_jobs_that_exposure_needs(jobs):
    needed = counts(jobs_for(EXPOSURE.format("ga"), jobs))
    assert needed == {"data": 1, "split": 1, "shadow": 6, "expose": 1}


def test_exposure_waits_for_the_choice_of_tuning(jobs):
    needed = counts(jobs_for(EXPOSURE.format("ft"), jobs))
    assert needed["tune"] == 1
    assert "retrain" not in needed


# Choosing by a teacher.


def test_every_tuning_waits_for_the_teacher_of_its_cell_which_knows_no_retrain(jobs):
    teachers = of(jobs, "taught", "teacher")
    assert sorted(job.wildcards["cell"] for job in teachers) == [*CELLS]
    for job in teachers:
        assert not any("retrain" in word for word in (*job.input, *job.command))
        assert job.told["seed"] == 1
    tunings = of(jobs, "taught", "tune")
    assert len(tunings) == 2 * 2
    for job in tunings:
        folder = f"results/taught/{job.wildcards['cell']}/local_teacher"
        assert job.told["has_teacher"] and job.told["select"] == "teacher"
        assert f"{folder}/teacher.json" in job.input
        is_ltd = job.wildcards["method"] == "ltd"
        assert (f"{folder}/record.json" in job.input) == is_ltd


def test_by_the_papers_rule_there_is_no_teacher(jobs):
    assert not of(jobs, "by_paper", "teacher")
    tunings = of(jobs, "by_paper", "tune")
    assert [job.told["has_teacher"] for job in tunings] == [False] * 4


# Support sizes.

SIZED = "results/{}/digit_3-50/support_size/seed-1/support_sizes.npz"


def test_retrain_is_not_among_the_jobs_that_support_sizes_need(jobs):
    needed = counts(jobs_for(SIZED.format("sized"), jobs))
    assert needed == {"data": 1, "split": 1, "base": 1, "support_size": 1}


def test_support_sizes_wait_for_tuning_only_where_that_decides_on_the_teacher(jobs):
    needed = counts(jobs_for(SIZED.format("sized_tuned"), jobs))
    assert needed["tune"] == 1
    assert "retrain" not in needed


def test_there_is_one_job_for_each_seed_of_the_cells_that_are_named(jobs):
    assert counts(of(jobs, "sized"))["support_size"] == 2


def test_the_job_of_support_sizes_is_given_no_k_of_the_runs_and_needs_a_gpu(jobs):
    one, other = (of(jobs, name, "support_size") for name in ("sized", "sized_other_k"))
    assert (one[0].told["sizes"], one[0].told["top"]) == ([50, 100, 150], 3)
    assert one[0].resources["gpu"] == "1"
    commands = [sorted(" ".join(job.command) for job in group) for group in (one, other)]
    assert [text.replace('"sized_other_k"', '"sized"') for text in commands[1]] == commands[0]


# The order of jobs.


def test_an_earlier_benchmark_comes_first_and_the_theory_last(jobs):
    priorities: dict[str | None, set[int]] = {}
    for job in jobs:
        if job.rule not in ("given", "retrain"):
            priorities.setdefault(job.wildcards.get("benchmark"), set()).add(job.priority)
    # None: the theory and the index. Below zero Snakemake's ILP scheduler would start nothing.
    assert priorities.pop(None) == {0}
    assert priorities == {name: {len(BENCHMARKS) - i} for i, name in enumerate(BENCHMARKS)}


def test_weights_of_the_user_are_looked_at_before_anything_is_trained(jobs):
    found = {job.rule: job.priority for job in of(jobs, "own")}
    assert found["given"] == found["retrain"] == len(BENCHMARKS) + 1
    assert found["base"] == found["unlearn"] == found["data"] == 1


def test_a_page_waits_for_its_own_benchmark_alone_and_not_for_the_theory(jobs):
    reports = {job.wildcards["benchmark"]: job for job in jobs if job.rule == "report"}
    assert {*reports} == {*BENCHMARKS}
    for name, job in reports.items():
        assert {file.split("/")[1] for file in job.input} == {name}
