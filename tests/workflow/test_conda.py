"""`--sdm conda` and `--archive`, with a stand-in for conda: what is installed, what is packed."""

import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import SMOKE, SNAKEMAKE

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
# It answers what Snakemake asks, makes a folder for an environment, and notes what pip is told.
CONDA = """#!/usr/bin/env bash
case "$*" in
    "info --json") echo '{{"conda_prefix": "{folder}", "platform": "linux-64"}}' ;;
    "--version") echo "conda 25.1.0" ;;
    *channel_priority*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create"*) mkdir -p "${{@: -1}}" ;;
    "list --explicit"*) echo "@EXPLICIT" ;;
esac
"""
PYTHON = """#!/usr/bin/env bash
echo "$*" >> {folder}/told
"""


@pytest.fixture
def stand_in(tmp_path) -> Path:
    """A folder of programs, which is conda's prefix too."""
    folder = tmp_path / "conda"
    (folder / "bin").mkdir(parents=True)
    for name, text in (("conda", CONDA), ("python", PYTHON), ("activate", "true\n")):
        (folder / "bin" / name).write_text(text.format(folder=folder))
        (folder / "bin" / name).chmod(0o755)
    return folder


def test_the_checkout_itself_is_installed_wherever_snakemake_works(fresh, stand_in, tmp_path):
    """A copy of the package would run the old code after an edit, and record the new one's."""
    (tmp_path / "elsewhere").mkdir()
    environment = fresh.environment()
    environment["PATH"] = f"{stand_in / 'bin'}:{environment['PATH']}"
    options = ["--snakefile", fresh.folder / "Snakefile", *SMOKE[:1], fresh.folder / SMOKE[1]]
    options += ["--sdm", "conda", "--conda-create-envs-only", "--cores", "1"]
    done = subprocess.run(
        [SNAKEMAKE, *map(str, options)],
        cwd=tmp_path / "elsewhere",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = (stand_in / "told").read_text().splitlines()
    assert told == [f"-m pip install --no-deps --editable {fresh.folder}"] * 2


def test_an_archive_has_all_files_under_version_control_and_the_environments(fresh, stand_in):
    for words in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *words], cwd=fresh.folder, check=True)
    done = fresh.snakemake(*SMOKE, "--archive", "all.tar.gz", programs=stand_in / "bin")
    assert done.returncode == 0, done.stdout + done.stderr
    listed = ["git", "ls-files"]
    tracked = subprocess.run(listed, cwd=fresh.folder, capture_output=True, text=True, check=True)
    with tarfile.open(fresh.folder / "all.tar.gz") as archive:
        names = archive.getnames()
    assert {*names} >= {*tracked.stdout.split()} and "workflow/rules/unlearn.smk" in names
    assert sum(name.endswith("packages.txt") for name in names) == 2
