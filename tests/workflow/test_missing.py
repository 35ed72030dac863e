"""Figures from a cache that is not whole: nothing is made, and what is missing is named."""

import shutil
import subprocess
import sys
from functools import partial

import pytest
from conftest import AFTER_OUTPUTS, REPOSITORY, SMOKE, Project

pytestmark = pytest.mark.workflow
LOST = "results/smoke/digit_3-50/seed-1/ga/outputs.npz"
MADE = ("metrics.csv", "digit_3-50/metrics.csv", "tables/digit_3-50/main.csv", "report.html")


slow = partial(pytest.param, marks=pytest.mark.slow)


def figures_commands() -> list[list[str]]:
    """Return what `make figures` runs after it has made its environment."""
    done = subprocess.run(
        ["make", "--dry-run", "--assume-old=.venv/.done", "--assume-old=.venv/.figures",
         "figures", "CONFIG=configs/smoke.yaml", "CORES=2"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    commands = [line.split() for line in done.stdout.splitlines()]
    return [words for words in commands if words[0] in ("collateral", "snakemake")]


def run(project: Project, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words] if words[0] == "snakemake" else words,
        cwd=project.folder, env=project.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def state(project: Project) -> dict[str, tuple[int, bytes]]:
    """Return when the presented files were written, and what is in them."""
    files = [project.folder / "results/smoke" / name for name in MADE]
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_figures_are_checked_before_they_are_made():
    stages = [words[:2] for words in figures_commands()]
    assert stages == [
        ["collateral", "unlock"],
        ["collateral", "cached"],
        ["snakemake", "--configfile"],
    ]


def test_with_outputs_missing_nothing_is_made_and_the_file_is_named(project):
    (project.folder / LOST).unlink()
    before = state(project)
    _, check, snakemake = figures_commands()
    checked = run(project, check)
    assert checked.returncode == 1
    assert f"{LOST}: missing" in checked.stderr
    assert "`make run` make it (rule unlearn)" in checked.stderr
    refused = run(project, snakemake)  # by itself, as a person may call it
    assert refused.returncode == 1
    assert LOST in refused.stderr
    assert state(project) == before


@pytest.mark.slow
def test_with_all_of_it_there_the_same_commands_succeed(project):
    for words in figures_commands():
        done = run(project, words)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("lost", "trained"),
    [
        (LOST, {"unlearn": 1}),
        slow("results/smoke/digit_3-50/seed-1/ga/record.json", {"unlearn": 1}),
        slow("results/smoke/digit_3-50/seed-1/ga", {"unlearn": 1}),
        slow("results/smoke/digit_3-50/seed-0/ltd/epochs.npz", {"track": 1}),
        slow("results/smoke/digit_3-50/neighbours.npz", {"neighbours": 1, "pictures": 1}),
        slow(
            "results/smoke/digit_3-50/support_size/seed-0/cost.json",
            {"support_size": 1, "pictures": 0},
        ),
    ],
)
def test_a_normal_run_makes_again_what_is_missing_and_no_more(project, lost, trained):
    path = project.folder / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    expected = {**dict.fromkeys(AFTER_OUTPUTS, 1), **trained}
    assert project.planned(*SMOKE) == {rule: count for rule, count in expected.items() if count}


@pytest.mark.slow
def test_lost_pictures_are_made_again_with_the_page_alone(project):
    (project.folder / "results/smoke/digit_3-50/pictures.npz").unlink()
    expected = dict.fromkeys(("pictures", "report", "check", "index"), 1)
    assert project.planned(*SMOKE) == expected
