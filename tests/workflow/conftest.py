"""A copy of the repository with the smoke experiment run in it, to look at and to edit."""

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from collateral.jobs import read_job

REPOSITORY = Path(__file__).resolve().parents[2]
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))
COPIED = ("Snakefile", "config", "config.yaml", "configs", "envs", "profiles", "workflow")
# Rules whose jobs import torch: each such process costs seconds before it works.
TORCH_RULES = ("data", "base", "retrain", "given", "teacher", "tune", "unlearn", "track")
TORCH_RULES += ("support_size", "probe", "shadow", "expose")
# What runs again, a job each, when outputs of a benchmark with one cell have changed.
AFTER_METRICS = ("gather", "tables", "figures", "report", "check", "index")
AFTER_OUTPUTS = ("metrics", "pictures", *AFTER_METRICS)


@dataclass(frozen=True)
class Job:
    """A job as a dry run shows it."""

    rule: str
    wildcards: dict[str, str]
    input: list[str]
    output: list[str]
    reason: str
    priority: int
    resources: dict[str, str]
    command: list[str]  # without where its words go

    @property
    def told(self) -> dict[str, Any]:
        """The description that the job is told, whole; empty for a rule that runs no stage."""
        is_run = self.command[:2] == ["collateral", "run"]
        return read_job(self.command[2]).content() if is_run else {}

    @property
    def beside(self) -> dict[str, Any]:
        """What the job is told beside its description."""
        return json.loads(self.option("--beside")[0]) if "--beside" in self.command else {}

    def option(self, name: str) -> list[str]:
        """Return what follows an option of the command."""
        rest = self.command[self.command.index(name) + 1 :]
        return [*takewhile(lambda word: not word.startswith("--"), rest)]


@dataclass(frozen=True)
class Project:
    """A checkout that a test may change."""

    folder: Path

    def snakemake(
        self,
        *options: str,
        path: tuple[Path, ...] = (),
        programs: Path | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess:
        """Run snakemake in the checkout, with the checkout's own package, or with `programs`."""
        environment = self.environment(*path) | variables
        if programs:
            environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
        words = [SNAKEMAKE, "--cores", "2", *options]
        if "--dry-run" in options:
            return run_forked(words, self.folder, environment)
        return subprocess.run(
            words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def collateral(self, *words: object) -> subprocess.CompletedProcess:
        """Run a command of the checkout's own package in the checkout."""
        return run_forked(["collateral", *map(str, words)], self.folder, self.environment())

    def environment(self, *path: Path) -> dict[str, str]:
        """Return variables under which the checkout's own package is found, after `path`."""
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [*path, self.folder / "workflow"])),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
        }

    def planned(self, *options: str) -> dict[str, int]:
        """Return how many jobs of each rule would run."""
        done = self.snakemake("--dry-run", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return job_counts(done.stdout + done.stderr)

    def jobs(self, *options: str, **variables: str) -> list[Job]:
        """Return the jobs that would run."""
        done = self.snakemake("--dry-run", "--printshellcmds", *options, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return [*jobs_in(done.stdout)]

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that stands once in a file."""
        path = self.folder / file
        content = path.read_text()
        assert content.count(old) == 1, f"{old!r} stands {content.count(old)} times in {file}"
        path.write_text(content.replace(old, new))


@cache
def fork_server(path: str = "", *modules: str) -> subprocess.Popen:
    """Start a process that runs commands in forks of itself; it ends with this process.

    It imports snakemake, and `modules` from `path`, so that the forks need not.
    """
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forked.py")), *modules],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_forked(
    words: list[str],
    folder: Path,
    environment: dict[str, str],
    server: subprocess.Popen | None = None,
) -> subprocess.CompletedProcess:
    """Run a command of snakemake or collateral in a fork of a process that imported snakemake."""
    server = server or fork_server()
    request = {"words": words, "folder": str(folder), "environment": environment}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    found = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(words, found["code"], found["output"], found["errors"])


def write_weights(path: Path, model: str, num_classes: int, shape: tuple[int, int, int]) -> None:
    """Write weights that fit a model, by a process of its own: torch is not imported here."""
    program = f"""
import torch
from collateral.contract.data import ImageInfo
from collateral.models._build import build_model
one = ({shape[2]} * [0.0], {shape[2]} * [1.0])
model = build_model({model!r}, ImageInfo({num_classes}, {shape}, *map(tuple, one)))
torch.save(model.state_dict(), {str(path)!r})
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def job_counts(output: str) -> dict[str, int]:
    """Read the table of jobs that a dry run prints."""
    counts = {}
    lines = output.partition("Job stats:")[2].splitlines()[3:]
    for line in lines:
        if not line.strip():
            break
        rule, count = line.split()
        counts[rule] = int(count)
    counts.pop("total", None)
    counts.pop("all", None)
    return counts


LISTED = ("wildcards", "input", "output")


def jobs_in(output: str) -> Iterator[Job]:
    """Read the jobs that a dry run prints."""
    block = r"^rule (\w+):\n((?:    .*\n)+)Shell command: ((?:.*\n)*?)\s*(?=^\[|^Job stats)"
    for rule, lines, command in re.findall(block, output, re.M):
        said = dict(re.findall(r"^    (\w+): (.*)$", lines, re.M))
        listed = {key: [*filter(None, said.get(key, "").split(", "))] for key in LISTED}
        yield Job(
            rule,
            dict(pair.split("=", 1) for pair in listed["wildcards"]),
            listed["input"],
            listed["output"],
            said["reason"],
            int(said.get("priority", 0)),
            dict(pair.split("=", 1) for pair in said["resources"].split(", ")),
            shlex.split(command.partition(" >")[0]),
        )


def jobs_for(target: str, jobs: list[Job]) -> list[Job]:
    """Return the jobs that make a file, directly or by the files that they read."""
    by_output = {file: job for job in jobs for file in job.output}
    found: dict[int, Job] = {}
    files = [target]
    while files:
        job = by_output.get(files.pop())
        if job and id(job) not in found:
            found[id(job)] = job
            files += job.input
    assert found, f"no job makes {target}"
    return [*found.values()]


def copy_project(folder: Path) -> Project:
    for name in COPIED:
        source, target = REPOSITORY / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    return Project(folder)


SMOKE = ("--configfile", "configs/smoke.yaml")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Project:
    """The smoke experiment, run once for all processes of pytest; tests leave it as it is."""
    pytest.importorskip("torch")
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "finished"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            (temporary := folder.with_suffix(".making")).mkdir()
            making = copy_project(temporary)
            done = making.snakemake(*SMOKE)
            assert done.returncode == 0, done.stdout + done.stderr
            temporary.rename(folder)
    return Project(folder)


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished experiment that a test may change; modification times are kept."""
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A checkout in which nothing has run."""
    return copy_project(tmp_path)


def read_yaml(path: Path) -> dict:
    return yaml.safe_load(path.read_text())
