"""A run has no limit on jobs a second but the user's: Snakemake's own costs ever more."""

import pytest
from conftest import SMOKE, Project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

DATA = ("results/smoke/dataset.npz", *SMOKE)


def has_limit(project: Project, *options: str) -> bool:
    """Run one job and say whether snakemake limited the jobs a second."""
    told = "    print('limit:', workflow.scheduler.job_rate_limiter)\n"
    project.edit("Snakefile", "onsuccess:\n", f"onsuccess:\n{told}")
    done = project.snakemake(*DATA, *options)
    assert done.returncode == 0 and "limit: " in done.stdout, done.stdout + done.stderr
    return "limit: None" not in done.stdout


def test_snakemakes_own_limit_is_lifted(fresh):
    assert not has_limit(fresh)


def test_a_limit_of_the_user_holds(fresh):
    assert has_limit(fresh, "--max-jobs-per-timespan", "10/1s")
