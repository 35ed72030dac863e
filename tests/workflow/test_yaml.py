"""What a config says reaches the jobs as YAML 1.2 reads it, whichever way Snakemake read it."""

import json

import numpy as np
import pytest
from conftest import Project, copy_project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
WRITTEN = ["'010'", "1:30", "no", "2001-01-01", "1_000", "0o17"]
# PyYAML, by which Snakemake reads, takes these for '010', 90, False, a date, 1000 and '0o17'.
READ = ["010", "1:30", "no", "2001-01-01", "1_000", 15]
CELLS = "cells: {persons: {forget: {kind: where, column: person, is: [IS]}}}"
BENCHMARK = """{data: {name: arrays, path: own.npz}, model: mlp, seeds: [0], methods: {ft: {}},
  base: {epochs: 1, lr: 1e-3}, CELLS}""".replace("CELLS", CELLS)
OWN = f"benchmarks:\n  own: {BENCHMARK}\n".replace("IS", ", ".join(WRITTEN))
OUTER = """
configfile: "outer.yaml"
config["unlearning"]["benchmarks"]["own"]["seeds"] = [7]


module collateral:
    snakefile: "workflow/Snakefile"
    config: config["unlearning"]


use rule * from collateral
"""
PLAIN = ("--workflow-profile", "none")  # without our logger, by which Snakemake reads as we do


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    """A checkout with images of persons, in which nothing runs."""
    project = copy_project(tmp_path_factory.mktemp("yaml"))
    images, labels = np.zeros((16, 8, 8), np.uint8), np.array([0, 1] * 8)
    persons = np.array([*map(str, READ), *map(str, range(10))])
    arrays = {"train_images": images, "train_labels": labels, "person": persons}
    np.savez(project.folder / "own.npz", test_images=images, test_labels=labels, **arrays)
    (project.folder / "own.yaml").write_text(OWN)
    return project


def forgotten(project: Project, *options: str, target: str = "results/own/persons/split.json"):
    """Return what the job that splits the data would be given to forget."""
    (split,) = (job for job in project.jobs(*options, "--", target) if job.rule == "split")
    return split.told["params"]["is"]


@pytest.mark.parametrize("how", [(), PLAIN], ids=["our logger", "plain"])
def test_a_file_of_the_command_line_is_read_as_yaml_1_2(project, how):
    assert forgotten(project, *how, "--configfile", "own.yaml") == READ


@pytest.mark.parametrize("how", [(), PLAIN], ids=["our logger", "plain"])
def test_the_default_file_is_read_as_yaml_1_2(project, how):
    default = project.folder / "config.yaml"
    before = default.read_text()
    default.write_text(OWN)
    try:
        assert forgotten(project, *how) == READ
    finally:
        default.write_text(before)


@pytest.mark.parametrize("how", [(), PLAIN], ids=["our logger", "plain"])
def test_a_module_gets_its_part_as_yaml_1_2_and_what_the_snakefile_changed(project, how):
    (project.folder / "outer.yaml").write_text(
        f"unlearning:\n  {OWN.replace(chr(10), chr(10) + '  ')}"
    )
    (project.folder / "outer.smk").write_text(OUTER)
    options = (*how, "--snakefile", "outer.smk")
    assert forgotten(project, *options) == READ
    assert project.planned(*options, "--", "results/own/base/seed-7/outputs.npz") == {
        "data": 1,
        "base": 1,
    }


@pytest.mark.parametrize("how", [(), PLAIN], ids=["our logger", "plain"])
def test_options_of_the_command_line_count_last_and_are_read_as_yaml_1_2(project, how):
    given = "benchmarks={own: {cells: {persons: {forget: {is: [1:30, '010', 5]}}}}}"
    options = (*how, "--configfile", "own.yaml", "--config", given)
    assert forgotten(project, *options) == ["1:30", "010", 5]


def test_the_later_of_two_files_counts(project):
    (project.folder / "later.yaml").write_text(
        "benchmarks: {own: {cells: {persons: {forget: {is: [no]}}}}}"
    )
    files = ("own.yaml", "later.yaml")
    assert forgotten(project, *PLAIN, "--configfile", *files) == ["no"]
    assert forgotten(project, *PLAIN, "--configfile", *files[::-1]) == READ


@pytest.mark.parametrize("how", [(), PLAIN], ids=["our logger", "plain"])
@pytest.mark.parametrize("given", ["[017, 23]", "[[1], 010]"])
def test_a_leading_zero_is_refused_in_files_and_in_options(project, how, given):
    (project.folder / "zero.yaml").write_text(OWN.replace("['010', 1:30", f"[{given}, 1:30"))
    options = {
        "zero.yaml: line 3: ": ("--configfile", "zero.yaml"),
        "--config: line 1: ": (
            "--configfile",
            "own.yaml",
            "--config",
            f"benchmarks={{a: {given}}}",
        ),
    }
    for place, chosen in options.items():
        done = project.snakemake("--dry-run", *how, *chosen)
        assert done.returncode == 1
        said = [line for line in done.stdout.splitlines() if place in line]
        assert len(said) == 1 and said[0].endswith("with a leading zero; put it in quotes")


def test_a_job_of_a_cluster_reads_the_same(project):
    """Snakemake runs such a command in the job: no profile, and files and options as given."""
    file = str(project.folder / "own.yaml")
    done = project.snakemake("--configfile", file, "--", "results/own/labels.npz")
    assert done.returncode == 0, done.stdout + done.stderr
    job = ("--target-jobs", "split:benchmark=own,cell=persons", "--allowed-rules", "split")
    options = ("--mode", "remote", "--force", "--nolock", "--no-hooks", *PLAIN)
    given = ("--configfiles", file, "--config", "benchmarks={own: {base: {epochs: 2}}}")
    done = project.snakemake(*options, *job, *given)
    assert done.returncode == 0, done.stdout + done.stderr
    split = json.loads((project.folder / "results/own/persons/split.json").read_text())
    assert split["forget"] == [*range(len(READ))]
    assert split["chosen"]["is"] == READ
