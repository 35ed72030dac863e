"""An environment of Snakemake and its tools alone: lint, format, a plan, and a deployment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMOKE, Project, copy_project, job_counts, read_yaml

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
DEPLOYED = ("LICENSE", "pyproject.toml", ".snakemake-workflow-catalog.yml", "config")
GIT = ("git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org")


def environment(folder: Path, *packages: str) -> Path:
    """Return the folder of programs of a new environment, by the versions of ours."""
    run(folder, sys.executable, "-m", "venv", "venv")
    pins = str(REPOSITORY / "envs/constraints.txt")
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "-c", pins]
    done = subprocess.run([*pip, *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs PyPI: {done.stderr.splitlines()[-1]}")
    return folder / "venv/bin"


@pytest.fixture(scope="module")
def tools(tmp_path_factory) -> Path:
    """The programs of an environment with Snakemake and its formatter alone."""
    return environment(tmp_path_factory.mktemp("alone"), "snakemake", "snakefmt")


@pytest.fixture(scope="module")
def snakedeploy(tmp_path_factory) -> str:
    """The program snakedeploy, from an environment of its own: it brings pandas."""
    return str(environment(tmp_path_factory.mktemp("deploying"), "snakedeploy") / "snakedeploy")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Project:
    """A checkout in which nothing has run, with what its tools read."""
    project = copy_project(tmp_path_factory.mktemp("checkout"))
    for name in DEPLOYED[:-1]:
        (project.folder / name).write_text((REPOSITORY / name).read_text())
    return project


def run(folder: Path, *words: str, tools: Path | None = None, **variables: str) -> str:
    """Run a program, with those of an environment and of the system alone; return what it says."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = {"PATH": os.pathsep.join([str(tools), "/usr/local/bin:/usr/bin:/bin"])} if tools else {}
    done = subprocess.run(
        words, cwd=folder, env={**kept, **path, **variables}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_environment_has_no_package_of_ours(tools):
    listed = run(tools, "python", "-m", "pip", "list", tools=tools).lower()
    assert "snakemake" in listed
    assert not any(name in listed for name in ("collateral", "numpy", "torch", "ruamel"))


def test_the_linter_is_satisfied(tools, checkout):
    run(checkout.folder, "snakemake", "--lint", tools=tools)


def test_the_formatter_is_satisfied_without_options(tools, checkout):
    files = [str(path) for path in (checkout.folder / "workflow/rules").glob("*.smk")]
    run(checkout.folder, "snakefmt", "--check", "Snakefile", "workflow/Snakefile", *files,
        tools=tools)  # fmt: skip


@pytest.mark.parametrize("options", [SMOKE, ("--directory", ".test")])
def test_a_plan_is_made_of_the_package_beside_the_snakefile(tools, checkout, options):
    (checkout.folder / ".test/config").mkdir(parents=True, exist_ok=True)
    content = (REPOSITORY / ".test/config/config.yaml").read_text()
    (checkout.folder / ".test/config/config.yaml").write_text(content)
    said = run(checkout.folder, "snakemake", "--dry-run", *options, tools=tools)
    assert job_counts(said) == checkout.planned(*SMOKE)


def test_snakedeploy_writes_a_workflow_that_plans_the_default(
    tools, snakedeploy, checkout, tmp_path
):
    """Offline: git takes GitHub for a folder, in which there is a copy of this repository."""
    source, remote, mine = (tmp_path / name for name in ("source", "gh/owner", "mine"))
    remote.mkdir(parents=True)
    subprocess.run(["cp", "-rL", str(checkout.folder), str(source)], check=True)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one"), ("tag", "v1")):
        run(source, *GIT, *words)
    run(remote, "git", "clone", "-q", "--bare", str(source), "collateral")
    (remote / "collateral.git").symlink_to("collateral")
    variables = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{remote.parent}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    deploy = (snakedeploy, "deploy-workflow", "https://github.com/owner/collateral", str(mine))
    run(tmp_path, *deploy, "--tag", "v1", **variables)
    snakefile = (mine / "workflow/Snakefile").read_text()
    assert 'github("owner/collateral", path="workflow/Snakefile", tag="v1")' in snakefile
    assert read_yaml(mine / "config/config.yaml") == read_yaml(REPOSITORY / "config.yaml")
    assert not (mine / "config/config.yaml").is_symlink()
    package = {"PYTHONPATH": str(checkout.folder / "workflow")}
    said = run(mine, "snakemake", "--dry-run", "--cores", "1", tools=tools, **variables, **package)
    assert job_counts(said) == checkout.planned()
