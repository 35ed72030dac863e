"""Run the real stage of a job on files of a test, as `collateral run` does."""

from pathlib import Path
from typing import Any

from collateral.jobs._job import Job
from collateral.jobs.index import IndexJob
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job


def run_stage(kind: type[Job], folder: Path, *, threads: int = 1, **fields: Any) -> None:
    """Run a job of a benchmark's folder; `fields` are those of its description."""
    job = kind(benchmark=folder.name, **fields)
    run_job(Workspace(job, folder.parent, code="code", threads=threads))


def write_index(results: Path, *first: str, theory: str = "") -> None:
    """Write the index of all pages below a folder of results."""
    run_job(Workspace(IndexJob(first=first, theory=theory), results))
