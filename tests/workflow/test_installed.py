"""The sdist in a new environment, away from the checkout, as `make release` tries it."""

import os
import subprocess
import sys

import pytest
from conftest import REPOSITORY, Project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """Build the sdist in a copy of the checkout: setuptools leaves things behind."""
    pytest.importorskip("build")
    folder, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    listing = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("needs a checkout: this is none")
    for name in listing.stdout.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((REPOSITORY / name).read_bytes())
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = out.iterdir()
    return file


def test_what_the_sdist_installs_plans_runs_and_verifies(sdist):
    environment = Project(REPOSITORY).environment() | {"SHARED": "yes"}
    done = subprocess.run(
        [REPOSITORY / ".ci/try-sdist", sdist],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrote images.yaml" in done.stdout
    assert done.stdout.rstrip().endswith("results/smoke/report.html")


def test_the_script_refuses_a_file_that_is_no_source_distribution(tmp_path):
    (tmp_path / "none.tar.gz").touch()
    environment = {**os.environ, "SHARED": "yes", "PATH": Project(REPOSITORY).environment()["PATH"]}
    done = subprocess.run(
        [REPOSITORY / ".ci/try-sdist", tmp_path / "none.tar.gz"],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
