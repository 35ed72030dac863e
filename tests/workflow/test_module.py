"""What Snakemake's people expect: a module, the standard places, and the drawings of the DAG."""

import re
import shutil
import subprocess

import pytest
import yaml
from conftest import SMOKE, SNAKEMAKE, Project, copy_project, read_yaml

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
# Another workflow, that makes something of the index page.
OUTER = """
configfile: "mine.yaml"


rule all:
    input:
        "summary.txt",


module collateral:
    snakefile: "SNAKEFILE"
    config: config["unlearning"]
    PREFIX


use rule * from collateral as collateral_*


rule summary:
    input:
        rules.collateral_index.output,
    output:
        "summary.txt",
    shell:
        "wc -c {input} > {output}"
"""
# As `snakedeploy deploy-workflow` writes it.
DEPLOYED = """
configfile: "config/config.yaml"


module collateral:
    snakefile: "SNAKEFILE"
    config: config


use rule * from collateral
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Project:
    """A checkout in which nothing runs."""
    return copy_project(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def smoke(checkout) -> dict[str, int]:
    """Return the jobs of the smoke experiment by rule."""
    return checkout.planned(*SMOKE)


@pytest.fixture(scope="module")
def default(checkout) -> dict[str, int]:
    """Return the jobs of the default config by rule."""
    return checkout.planned()


@pytest.fixture
def outer(checkout, tmp_path):
    """Return a function that makes another workflow, with the smoke experiment in its config."""

    def make(text: str, prefix: str = "") -> Project:
        snakefile = checkout.folder / "workflow/Snakefile"
        text = text.replace("SNAKEFILE", str(snakefile)).replace("PREFIX", prefix)
        (tmp_path / "Snakefile").write_text(text)
        smoke = read_yaml(checkout.folder / SMOKE[1])
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"unlearning": smoke}))
        (tmp_path / "workflow").symlink_to(checkout.folder / "workflow")  # where the package is
        return Project(tmp_path)

    return make


def test_another_workflow_imports_all_rules_with_a_config_of_its_own(smoke, outer):
    planned = outer(OUTER).planned()
    assert planned.pop("summary") == 1
    # The index does not wait for the check.
    own = {f"collateral_{rule}": count for rule, count in smoke.items() if rule != "check"}
    assert planned == own
    assert len(own) > 10


def test_a_prefix_is_refused_with_what_to_do(outer):
    done = outer(OUTER, 'prefix: "elsewhere"').snakemake("--dry-run")
    assert done.returncode == 1
    assert "without `prefix:`; use a `--directory` of its own" in done.stdout + done.stderr


def test_what_snakedeploy_writes_runs_the_default(checkout, default, outer):
    project = outer(DEPLOYED)
    shutil.copytree(checkout.folder / "config", project.folder / "config")
    assert project.planned() == default


def test_what_snakedeploy_writes_ends_when_its_last_job_has_ended(checkout, outer):
    """`onsuccess` of a module never runs; a limit per day would keep Python for a day."""
    project = outer(DEPLOYED)
    shutil.copytree(checkout.folder / "config", project.folder / "config")
    shutil.copytree(checkout.folder / "profiles", project.folder / "profiles")
    project.edit("profiles/default/config.yaml", "1000000/60s", "1000000/86400s")
    done = subprocess.run(
        [SNAKEMAKE, "--cores", "2", "results/digits_resnet/plan.json"],
        cwd=project.folder, env=project.environment(), capture_output=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert (project.folder / "results/digits_resnet/plan.json").is_file()


def test_the_standard_place_of_the_snakefile_plans_the_same(checkout, smoke):
    assert checkout.planned("--snakefile", "workflow/Snakefile", *SMOKE) == smoke


def test_a_folder_without_a_config_runs_the_default(checkout, default, tmp_path):
    """So does the wheel: `snakemake --snakefile "$(collateral where)"`."""
    assert checkout.planned("--directory", str(tmp_path)) == default


@pytest.mark.parametrize("drawing", ["--dag", "--rulegraph"])
def test_the_dag_is_drawn(checkout, smoke, drawing):
    done = checkout.snakemake(drawing, *SMOKE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("digraph")
    assert {*re.findall(r'label = "(\w+)', done.stdout)} == {*smoke, "all"}


def test_the_linter_has_nothing_to_say(checkout):
    done = checkout.snakemake("--lint")
    assert done.returncode == 0, done.stdout + done.stderr
