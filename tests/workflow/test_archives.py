"""The finished smoke experiment, taken elsewhere: what a run wants there, and what figures show."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import AFTER_METRICS, AFTER_OUTPUTS, REPOSITORY, SMOKE, Project, copy_project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
COMMAND = "from collateral.cli import main; main()"
PRESENT = re.search(r"^PRESENT = (.*)$", (REPOSITORY / "Makefile").read_text(), re.M)[1].split()
HERE = ("--config", "configs/smoke.yaml")


def collateral(project: Project, *arguments: object) -> str:
    """Run a command of the checkout's own package; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contents(project: Project) -> dict[str, str]:
    """Return the hash of every file of results that is not hidden."""
    results = project.folder / "results"
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*"))
        if path.is_file() and "/." not in str(path.relative_to(results))
    }


@pytest.fixture(scope="module")
def archives(finished, tmp_path_factory) -> dict[str, Path]:
    """The smoke experiment with and without its models."""
    folder = tmp_path_factory.mktemp("archives")
    full, plain = folder / "full.tar", folder / "plain.tar"
    collateral(finished, "bundle", "results/smoke", "--out", full, "--with-models")
    collateral(finished, "bundle", "results/smoke", "--out", plain)
    return {"full": full, "plain": plain}


@pytest.fixture
def elsewhere(tmp_path) -> Project:
    """A checkout in which nothing has run."""
    (tmp_path / "elsewhere").mkdir()
    return copy_project(tmp_path / "elsewhere")


def test_with_models_all_is_there_and_a_run_wants_nothing(finished, archives, elsewhere):
    said = collateral(elsewhere, "unbundle", archives["full"], *HERE)
    assert said.splitlines()[-1] == "results/smoke: all as planned"
    assert contents(elsewhere) == contents(finished)
    done = elsewhere.snakemake("--dry-run", *SMOKE)
    assert "Nothing to be done" in done.stdout + done.stderr


EDITS = {  # what is changed where, and what is said of it
    "parameter": (
        ("configs/smoke.yaml", "ga: {epochs: 2,", "ga: {epochs: 3,"),
        "params.epochs: 2, planned 3",
    ),
    "code": (
        (
            "workflow/collateral/methods/ga/method.py",
            "(optimizer, -loss)",
            "(optimizer, -2 * loss)",
        ),
        'code: "',
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_what_differs_is_listed_and_run_again_as_at_home(project, archives, elsewhere, what):
    edit, line = EDITS[what]
    for place in (project, elsewhere):
        place.edit(*edit)
    said = collateral(elsewhere, "unbundle", archives["full"], *HERE)
    for seed in (0, 1):
        assert f"results/smoke/digit_3-50/seed-{seed}/ga/record.json: {line}" in said
    assert "results/smoke: not as planned: 2; a run makes these again" in said
    wanted = elsewhere.planned(*SMOKE)
    assert wanted == project.planned(*SMOKE)
    assert wanted == {"unlearn": 2, **dict.fromkeys(AFTER_OUTPUTS, 1)}


def test_without_models_tables_figures_and_page_have_the_same_bytes(
    finished, archives, elsewhere, tmp_path
):
    collateral(elsewhere, "unbundle", archives["plain"], *HERE)
    results = elsewhere.folder / "results/smoke"
    assert not [*results.rglob("*.safetensors"), *results.rglob("dataset.npz")]
    before = contents(elsewhere)
    for package in ("torch", "torchvision", "timm"):
        blocked = tmp_path / "blocked" / package
        blocked.mkdir(parents=True)
        blocked.joinpath("__init__.py").write_text("raise ImportError('not on this machine')\n")
    done = elsewhere.snakemake(
        *SMOKE, "--allowed-rules", "all", *PRESENT, "--forcerun", *PRESENT,
        path=(tmp_path / "blocked",),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    after = contents(elsewhere)
    assert len([name for name in after if "/figures/" in name]) > 10
    assert after == before
    assert after.items() <= contents(finished).items()


def test_without_models_a_run_wants_nothing_or_all_from_the_data_set_on(archives, elsewhere):
    collateral(elsewhere, "unbundle", archives["plain"], *HERE)
    done = elsewhere.snakemake("--dry-run", *SMOKE)
    assert "Nothing to be done" in done.stdout + done.stderr
    elsewhere.edit("configs/smoke.yaml", "ga: {epochs: 2,", "ga: {epochs: 3,")
    wanted = elsewhere.planned(*SMOKE)
    assert (wanted["data"], wanted["base"], wanted["retrain"]) == (1, 2, 2)
    assert (wanted["unlearn"], wanted["track"]) == (18, 2)


def test_two_halves_are_the_whole(finished, project, elsewhere, tmp_path):
    """The runs of each seed alone; what is derived from both is made by the next run."""
    halves = []
    for seed, other in ((0, 1), (1, 0)):
        half = Project(tmp_path / f"half-{seed}")
        shutil.copytree(project.folder, half.folder, symlinks=True)
        for folder in half.folder.glob(f"results/smoke/*/seed-{other}"):
            shutil.rmtree(folder)
        forget_what_is_derived(half.folder / "results")
        halves.append(tmp_path / f"half-{seed}.tar")
        collateral(half, "bundle", "results/smoke", "--out", halves[-1], "--with-models")
    said = collateral(elsewhere, "unbundle", *halves, *HERE)
    assert said.splitlines()[-1] == "results/smoke: all as planned"
    found, whole = contents(elsewhere), contents(finished)
    assert found.items() <= whole.items()
    assert {path for path in whole if "seed-" in path} <= found.keys()
    assert elsewhere.planned(*SMOKE) == dict.fromkeys(("metrics", *AFTER_METRICS), 1)


def forget_what_is_derived(results: Path) -> None:
    derived = ("metrics.*", "costs.*", "*problems.json", "gates.json", "report.html")
    derived += ("glance.json", "*.done")
    for folder in ("tables", "figures"):
        shutil.rmtree(results / "smoke" / folder)
    for path in [path for pattern in derived for path in results.rglob(pattern)]:
        path.unlink()
