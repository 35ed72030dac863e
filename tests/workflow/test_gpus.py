"""Two workflows on two GPUs; several jobs on one GPU. GPUs and training are stand-ins."""

import json
import subprocess
import sys
import uuid
from itertools import combinations
from pathlib import Path

import pytest
from conftest import SNAKEMAKE, Project, copy_project

from collateral.plan import paths
from collateral.results import layout

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
NUM_JOBS = 5
CONFIG = f"""
benchmarks:
  toy:
    data: {{name: digits}}
    model: mlp
    seeds: {list(range(NUM_JOBS))}
    classes: [digit_3]
    fractions: [0.5]
    methods: {{ft: {{}}}}
"""
# In place of `collateral run`: takes a GPU as it would, then says when it had which. The first
# jobs wait until both workflows have one, so that they do meet.
TRAIN = f"""#!{sys.executable}
import json, os, sys, time
from pathlib import Path
from collateral.results import layout
from collateral.results.record import gpu_slots
from collateral.training.locks import claim
started, meeting = time.time(), Path("MEETING")
meeting.joinpath(Path.cwd().name).touch()
while len([*meeting.iterdir()]) < 2 and time.time() < started + 120:
    time.sleep(0.02)
device = claim(["MACHINE/gpu-0", "MACHINE/gpu-1"], slots=gpu_slots(), poll_seconds=0.02)
took = time.time()
meeting.joinpath(str(os.getpid())).touch()
while gpu_slots() > len([*meeting.iterdir()]) - 2 and time.time() < started + 120:
    time.sleep(0.02)
time.sleep(0.5)
job = json.loads(sys.argv[2])
out = Path("results", job["benchmark"], layout.BASE.format(seed=job["seed"]))
for name in {[*layout.RUN_FILES.values(), layout.EMBEDDINGS]}:
    (out / name).touch()
times = dict(device=device, started=started, took=took, ended=time.time())
(out / "times.json").write_text(json.dumps(times))
"""


def start(
    project: Project, machine: str, meeting: Path, limit: str, **variables: str
) -> subprocess.Popen[str]:
    """Start the training of all bases, as if the data were there."""
    (project.folder / "toy.yaml").write_text(CONFIG)
    for pattern in (paths.DATA, paths.LABELS):
        file = project.folder / pattern.format(benchmark="toy")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    program = project.folder / "bin/collateral"
    program.parent.mkdir()
    program.write_text(TRAIN.replace("MACHINE", machine).replace("MEETING", str(meeting)))
    program.chmod(0o755)
    environment = project.environment()
    bases = [paths.BASE.format(benchmark="toy", seed=seed) for seed in range(NUM_JOBS)]
    return subprocess.Popen(
        [SNAKEMAKE, "--cores", "4", "--resources", limit, "--configfile", "toy.yaml", "--"]
        + [f"{base}/{layout.MODEL}" for base in bases],
        cwd=project.folder,
        env={**environment, **variables, "PATH": f"{program.parent}:{environment['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def overlap(one: dict, other: dict, since: str) -> bool:
    return one[since] < other["ended"] and other[since] < one["ended"]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict]]:
    """What the jobs of each workflow say."""
    projects = [copy_project(tmp_path_factory.mktemp(name)) for name in ("one", "other")]
    machine = uuid.uuid4().hex
    meeting = tmp_path_factory.mktemp("meeting")
    workflows = [start(project, machine, meeting, "gpu=2") for project in projects]
    return [*map(read_times, projects, workflows)]


def read_times(project: Project, workflow: subprocess.Popen[str]) -> list[dict]:
    """What the jobs of a workflow say at its end."""
    output, _ = workflow.communicate()
    assert workflow.returncode == 0, output
    files = sorted(project.folder.rglob("times.json"))
    assert len(files) == NUM_JOBS
    return [json.loads(Path(file).read_text()) for file in files]


def test_no_two_jobs_have_a_device_at_the_same_time(jobs):
    one, other = jobs
    assert {job["device"] for job in one + other} == {0, 1}
    assert any(overlap(a, b, "started") for a in one for b in other)  # the workflows met
    for a, b in combinations(one + other, 2):
        assert a["device"] != b["device"] or not overlap(a, b, "took"), (a, b)


def test_a_workflow_starts_no_more_jobs_than_it_may_have_gpus(jobs):
    for workflow in jobs:
        for job in workflow:
            others = [other for other in workflow if overlap(job, other, "started")]
            at_its_start = [o for o in others if o["started"] <= job["started"]]
            assert len(at_its_start) <= 2


def test_as_many_jobs_share_a_gpu_as_it_has_slots(tmp_path_factory):
    folder, meeting = map(tmp_path_factory.mktemp, ("shared", "meeting"))
    project = copy_project(folder)
    meeting.joinpath("other").touch()  # there is no other workflow to wait for
    workflow = start(project, uuid.uuid4().hex, meeting, "gpu=2", COLLATERAL_GPU_SLOTS="2")
    times = read_times(project, workflow)
    assert {job["device"] for job in times} == {0}
    together = [sum(overlap(job, other, "took") for other in times) for job in times]
    assert max(together) > 1  # the job itself and another one
    for job in times:
        assert sum(o["took"] <= job["took"] < o["ended"] for o in times) <= 2
