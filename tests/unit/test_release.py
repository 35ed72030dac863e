"""A release: one version, metadata that is valid, and a wheel with all that a user needs."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml

import collateral

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("collateral", "snakemake_logger_plugin_collateral")
# What pip reads to build; tests and results are not among it.
SOURCES = ("LICENSE", "MANIFEST.in", "README.md", "Snakefile", "config.yaml", "configs", "envs")
SOURCES += ("profiles", "pyproject.toml", "setup.py", "workflow")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
HOME = "collateral/_workflow"
UNASKED = {"LICENSE", "MANIFEST.in", "pyproject.toml", "setup.py"}  # what an sdist has of itself
LEFT_OUT = re.compile(r"docs/data/runs/\w+/seed-\d+\.tar")  # archives of runs: 9 MB each
MOST_MB = 20  # size of all that the sdist has, before it is packed


def tree(*names):
    """Return the files below some folders as git would have them."""
    files = [file for name in names for file in (ROOT / name).rglob("*") if file.is_file()]
    return [file for file in files if "__pycache__" not in file.parts]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Build the wheel from a copy: setuptools leaves things behind."""
    pytest.importorskip("setuptools", minversion="77")
    folder, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy2(ROOT / name, folder / name)
    command = [sys.executable, "-c", BUILD, str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = out.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return a function that runs the command as the wheel has it, away from the checkout."""
    site, work = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    wheel.extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    code = "from collateral.cli import main; main()"

    def run(*arguments) -> str:
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(str(site), "SITE")

    return run


def test_all_files_of_the_package_are_in_the_wheel(wheel):
    files = tree(*(f"workflow/{package}" for package in PACKAGES))
    names = {file.relative_to(ROOT / "workflow").as_posix() for file in files}
    assert {"collateral/config/schema.json", "collateral/models/_timm.csv"} <= names
    assert "collateral/report/page.html.j2" in names
    assert names - {*wheel.namelist()} == set()


def test_the_snakefile_and_all_that_it_reads_are_in_the_wheel(wheel):
    read = tree("configs", "profiles", "workflow/rules", "workflow/report", "workflow/paper")
    read += [file for file in (ROOT / "envs").glob("*.*") if file.suffix in (".yaml", ".sh")]
    read += [ROOT / name for name in ("Snakefile", "config.yaml", "workflow/Snakefile")]
    assert len(read) > 25
    names = {f"{HOME}/{file.relative_to(ROOT).as_posix()}" for file in read}
    assert {name for name in wheel.namelist() if name.startswith(HOME)} == names


def test_the_wheel_contains_only_our_packages_and_its_metadata(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {*PACKAGES, f"collateral-{collateral.__version__}.dist-info"}


def test_the_wheel_has_the_version_and_the_groups_of_packages(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Version"] == collateral.__version__
    assert {"torch", "workflow", "figures"} <= {*metadata.get_all("Provides-Extra")}
    assert 'torch>=2.4; extra == "torch"' in metadata.get_all("Requires-Dist")


def test_the_installed_command_finds_its_snakefile_its_methods_and_its_models(installed):
    assert installed("where").strip() == f"SITE/{HOME}/Snakefile"
    assert installed("list", "methods", "ltd").startswith("ltd\n")
    config = installed("where", "--folder").strip()
    assert config == f"SITE/{HOME}"


def test_the_installed_command_finds_the_plug_in_that_ships(installed):
    assert installed("list", "findings", "paper").startswith("paper\n")
    results = str(ROOT / "docs/data/theory")
    assert installed("claims", results, "--only", "59").startswith("59 Gradient ascent")


def test_the_sdist_has_all_that_git_has_but_for_archives_of_runs(monkeypatch):
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("needs a checkout: this is none")
    egg_info = pytest.importorskip("setuptools.command.egg_info")
    monkeypatch.chdir(ROOT)
    files = egg_info.FileList()
    for line in filter(None, (ROOT / "MANIFEST.in").read_text().splitlines()):
        if not line.startswith("#"):
            files.process_template_line(line)
    assert len(files.files) > 500
    kept = {name for name in listing.stdout.split() if not LEFT_OUT.fullmatch(name)}
    assert kept - {*files.files} == UNASKED
    assert not [name for name in files.files if LEFT_OUT.fullmatch(Path(name).as_posix())]
    assert sum((ROOT / name).stat().st_size for name in files.files) < MOST_MB * 2**20


def test_the_version_is_written_in_one_place_and_elsewhere_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "collateral.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", collateral.__version__)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert str(citation["version"]) == zenodo["version"] == collateral.__version__
    entry = (ROOT / "workflow/collateral/citation.bib").read_text()
    assert f"version = {{{collateral.__version__}}}" in entry


def test_citation_and_zenodo_say_the_same():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert zenodo["title"] == citation["title"]
    assert zenodo["license"] == citation["license"]
    assert [one["name"] for one in zenodo["creators"]] == [a["name"] for a in citation["authors"]]
    assert zenodo["upload_type"] == "software"


def test_hooks_use_the_pinned_tools():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    used = {pin for hook in hooks for pin in hook.get("additional_dependencies", [])}
    pinned = (ROOT / "envs/constraints.txt").read_text().splitlines()
    assert {pin.split("==")[0] for pin in used} == {"ruff", "snakefmt", "codespell"}
    assert used <= {*pinned}


def test_the_matrix_starts_at_the_oldest_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    job = workflow["jobs"]["test"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={job['strategy']['matrix']['python'][0]}"
    assert {"run": ".ci/run"} in job["steps"]


def test_the_bug_report_asks_for_the_output_of_doctor():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text())
    (asked,) = [part for part in form["body"] if "collateral doctor" in str(part["attributes"])]
    assert asked["validations"] == {"required": True}


def test_the_catalog_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert usage["report"] is True
    assert (ROOT / "workflow/Snakefile").is_file()
    assert (ROOT / "config/README.md").is_file()
    assert (ROOT / "config/config.yaml").read_text() == (ROOT / "config.yaml").read_text()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the script, a changelog that names the version, and nothing to commit."""
    (tmp_path / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci/release", tmp_path / ".ci/release")
    (tmp_path / "CHANGELOG.md").write_text(f"## {collateral.__version__} - 2026-11-17\n")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "workflow"))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "All")
    return tmp_path


def git(folder, *arguments):
    own = ["-c", "user.name=me", "-c", "user.email=me@localhost"]
    subprocess.run(["git", *own, *arguments], cwd=folder, check=True)


def refused(folder) -> str:
    """Return why no release is made."""
    done = subprocess.run([folder / ".ci/release"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert not (folder / "dist").exists()
    return done.stderr


def test_no_release_is_made_of_what_is_not_committed(repository):
    (repository / "new.txt").touch()
    assert "there are uncommitted changes" in refused(repository)


def test_no_release_is_made_without_a_section_of_the_changelog(repository):
    (repository / "CHANGELOG.md").write_text("## Unreleased\n")
    git(repository, "commit", "--quiet", "--all", "--message", "Not yet")
    assert f"CHANGELOG.md has no section '## {collateral.__version__}'" in refused(repository)


def test_no_version_is_released_of_two_commits(repository):
    git(repository, "tag", f"v{collateral.__version__}")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "Later")
    assert f"v{collateral.__version__} is there already" in refused(repository)
