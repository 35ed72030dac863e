"""The runner of all jobs: which checkpoints it deletes, and from which a job resumes."""

from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest
from small_grid import grid

from collateral.jobs import kinds, list_jobs
from collateral.jobs._job import OwnFile
from collateral.jobs.base import BaseJob
from collateral.jobs.data import DataJob
from collateral.jobs.gather import GatherJob
from collateral.jobs.theory import TheoryJob
from collateral.results.provenance import content_hash, read_signed
from collateral.results.record import Made
from collateral.stages import _workspace, run
from collateral.stages._workspace import Workspace

EVERYTHING = {
    "methods": {"ft": {}, "ltd": {"lr": [0.1, 0.2]}},
    "given": {"theirs": {"weights": "theirs-{cell}-{seed}.pt"}},
    "support_size": {"k": [20, 50]},
    "probe": ["zrf"],
    "shadows": {},
    "select": "teacher",
}


def run_without_work(monkeypatch, job, results, cost=None):
    """Run a job whose stage does nothing."""
    stage = SimpleNamespace(run=lambda job, place: Made({}, cost))
    monkeypatch.setattr(run, "STAGE", SimpleNamespace(load=lambda name: stage))
    run.run_job(Workspace(job, results))


def checkpoint_of(results: Path, folder: str) -> Path:
    path = results / ".checkpoints" / folder / "loop-1.checkpoint"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    "job",
    [TheoryJob(seed=0, runs=1, width=5.0), DataJob(benchmark="b", name="digits", options={})],
    ids=["theory", "data"],
)
def test_a_job_without_a_folder_of_its_own_keeps_the_checkpoints_of_others(
    tmp_path, monkeypatch, job
):
    others = [checkpoint_of(tmp_path, name) for name in ("b/cell/seed-0/ft", "other/base/seed-1")]
    run_without_work(monkeypatch, job, tmp_path)
    assert all(path.exists() for path in others)


def test_a_job_that_trains_deletes_its_own_checkpoints_at_its_end(tmp_path, monkeypatch):
    own, other = (checkpoint_of(tmp_path, f"b/base/seed-{seed}") for seed in (0, 1))
    monkeypatch.setattr(BaseJob, "inputs", {})
    job = BaseJob(benchmark="b", seed=0, model="mlp", params={}, own=None)
    run_without_work(monkeypatch, job, tmp_path, cost={"total_seconds": 1.0})
    assert not own.exists() and other.exists()


def test_the_record_of_metrics_lists_no_costs_and_that_of_costs_lists_all(tmp_path):
    """Costs contain times, and the record of the metrics is the same in every run."""
    job = GatherJob(benchmark="b", cells=("one", "two"))
    inputs = {f"{cell}/{name}" for cell in job.cells for name in ("metrics.csv", "problems.json")}
    costs = {"one/costs.csv", "two/costs.csv"}
    for name in (*inputs, *costs, *job.files.values(), "plan.json"):
        file = tmp_path / "b" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {name}")
    run.write_records(Workspace(job, tmp_path, "code"), Made({}))
    found = {name: read_signed(tmp_path / f"b/{name}.json") for name in ("metrics", "costs")}
    assert {*found["metrics"]["inputs"]} == {*inputs, "plan.json"}
    assert {*found["costs"]["inputs"]} == {*inputs, *costs, "plan.json"}
    assert {*found["metrics"]["files"]} == {"metrics.csv", "problems.json", "gates.json"}
    assert {*found["costs"]["files"]} == {"costs.csv"}


def base_with(tmp_path, weights: bytes, name="start.pt"):
    """Return what identifies the checkpoints of a base model that starts from a user's file."""
    file = tmp_path / name
    file.write_bytes(weights)
    own = OwnFile(key="init.weights", sha256=content_hash(file))
    job = BaseJob(benchmark="b", seed=0, model="mlp", params={}, own=own)
    return Workspace(job, tmp_path, beside={"weights": str(file)})


def test_a_job_does_not_resume_from_checkpoints_of_other_initial_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(BaseJob, "inputs", {})
    known = base_with(tmp_path, b"one").checkpoint_identity
    assert base_with(tmp_path, b"one", "moved.pt").checkpoint_identity == known
    other = base_with(tmp_path, b"two")
    assert other.checkpoint_identity != known


def test_a_job_stops_if_the_users_weights_are_not_those_of_its_description(tmp_path):
    """They were changed between the plan and the job; the record would name others than it used."""
    place = base_with(tmp_path, b"one")
    run.check_own_file(place)
    Path(place.beside["weights"]).write_bytes(b"two")
    with pytest.raises(ValueError, match=r"^init.weights: '.*start.pt' was changed after"):
        run.check_own_file(place)


def test_a_job_does_not_resume_from_checkpoints_of_other_packages(tmp_path, monkeypatch):
    monkeypatch.setattr(BaseJob, "inputs", {})
    known = base_with(tmp_path, b"one").checkpoint_identity
    monkeypatch.setattr(_workspace, "versions", lambda: {"torch": "another"})
    assert base_with(tmp_path, b"one").checkpoint_identity != known


def test_no_job_with_checkpoints_has_a_folder_above_that_of_another():
    jobs = [one for one in list_jobs(grid(**EVERYTHING)) if one.job.has_cost]
    folders = [PurePosixPath(one.out) for one in jobs]
    assert len(folders) == len({*folders}) > 30
    assert not {*folders}.intersection(above for one in folders for above in one.parents)
    assert {one.kind_name for one in jobs} == {
        name for name, kind in kinds().items() if kind.describes.has_cost
    }
