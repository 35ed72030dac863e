"""What Snakemake's people type on a finished run: what Snakemake's manual says, or one sentence.

`--archive` is in test_conda.py, because it needs conda and no run.
"""

import re
import subprocess
import zipfile

import pytest
from conftest import AFTER_METRICS, SMOKE, Project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CELL = "results/smoke/digit_3-50"
GA = f"{CELL}/seed-{{}}/ga/outputs.npz"
CHANGE = ("configs/smoke.yaml", "ga: {epochs: 2,", "ga: {epochs: 3,")


def said(project: Project, *options: str, code: int = 0) -> str:
    """Return what snakemake prints with some options; it ends as expected, without a traceback."""
    done = project.snakemake(*SMOKE, *options)
    text = done.stdout + done.stderr
    assert done.returncode == code, text
    assert "Traceback" not in text
    return text


def test_a_dry_run_has_nothing_to_do(finished):
    assert "Nothing to be done" in said(finished, "--dry-run")
    for profile in ("--workflow-profile", "--profile"):
        assert "Nothing to be done" in said(finished, "--dry-run", profile, "none")


@pytest.mark.parametrize("option", ["--summary", "--detailed-summary"])
def test_a_summary_lists_every_file_as_up_to_date(finished, option):
    rows = [line.split("\t") for line in said(finished, option).splitlines()]
    files = {row[0]: row for row in rows if row[0].startswith("results/")}
    assert {GA.format(0), f"{CELL}/metrics.csv", "results/report.html"} <= files.keys()
    assert all("ok" in row and row[-1] == "no update" for row in files.values())


@pytest.mark.parametrize("what", ["code", "input"])
def test_snakemake_lists_no_changes_after_a_finished_run(finished, what):
    assert "results/" not in said(finished, "--list-changes", what)


def test_a_changed_parameter_is_listed_by_its_files(project):
    """Of every other job Snakemake 9.27 lists one file too, also where nothing has changed."""
    project.edit(*CHANGE)
    found = {*re.findall(r"results/\S+outputs\.npz", said(project, "--list-changes", "params"))}
    assert found == {GA.format(0), GA.format(1)}
    assert "Nothing to be done" in said(project, "--dry-run", "--rerun-triggers", "mtime")


def test_touched_files_count_as_made(project):
    project.edit(*CHANGE)
    assert project.planned(*SMOKE)["unlearn"] == 2
    said(project, "--touch")
    assert "Nothing to be done" in said(project, "--dry-run")


def test_a_rule_or_a_file_may_be_forced_and_what_depends_on_it_follows(finished):
    after = dict.fromkeys(AFTER_METRICS, 1)
    assert finished.planned(*SMOKE, "--forcerun", "gather") == after
    # Pictures show what a run hurts most.
    planned = finished.planned(*SMOKE, "--forcerun", GA.format(1))
    assert planned == {**after, "metrics": 1, "pictures": 1, "unlearn": 1}
    assert "Nothing to be done" in said(finished, "--dry-run", "--forcerun")


def test_what_a_dry_run_prints_of_a_job_runs_by_hand(project):
    place = project.folder / GA.format(0)
    record = place.with_name("record.json")
    known = place.read_bytes(), record.read_text()
    text = said(project, "--dry-run", "--printshellcmds", "--forcerun", GA.format(0))
    [command] = [line for line in text.splitlines() if 'run \'{"kind": "unlearn"' in line]
    place.unlink()
    record.unlink()
    environment = project.environment()
    subprocess.run(command, shell=True, check=True, cwd=project.folder, env=environment)
    assert (place.read_bytes(), record.read_text()) == known


def test_files_that_a_run_made_are_those_that_snakemake_would_delete(finished):
    text = said(finished, "--dry-run", "--delete-all-output")
    found = {*re.findall(r"Would delete (results/\S+)", text)}
    assert {GA.format(0), f"{CELL}/metrics.csv", "results/report.html"} <= found
    untracked = said(finished, "--list-untracked").splitlines()
    assert found.isdisjoint(untracked)


def test_a_run_may_end_at_a_rule_or_leave_it_out(finished):
    all_of_it = finished.planned(*SMOKE, "--forceall")
    until = finished.planned(*SMOKE, "--forceall", "--until", "metrics")
    assert until.items() <= all_of_it.items()
    assert "metrics" in until and not {"gather", "tables", "report"} & until.keys()
    without = finished.planned(*SMOKE, "--forceall", "--omit-from", "gather")
    assert without.keys() == all_of_it.keys() - {*AFTER_METRICS}


def test_a_batch_of_the_cells_is_made_and_what_joins_them_comes_last(finished, tmp_path):
    options = (*SMOKE, "--directory", str(tmp_path), "--batch")
    first = finished.planned(*options, "gather=1/2")
    assert first["data"] == 1 and "gather" not in first
    assert "previous batches" in said(finished, "--dry-run", *options[2:], "gather=2/2", code=1)


@pytest.mark.parametrize("drawing", ["--rulegraph", "--filegraph", "--dag"])
def test_the_workflow_is_drawn(finished, drawing):
    assert "digraph" in said(finished, drawing)


def test_the_workflow_is_drawn_as_json_too(finished):
    assert '"nodes"' in said(finished, "--d3dag")


@pytest.mark.parametrize("option", ["--list-rules", "--list-target-rules"])
def test_rules_are_listed(finished, option):
    assert {"all", "paper"} <= {*said(finished, option).split()}


@pytest.mark.parametrize("name", ["report.html", "report.zip"])
def test_the_report_has_the_page_and_the_figures(project, name):
    said(project, "--report", name)
    if name.endswith(".zip"):
        with zipfile.ZipFile(project.folder / name) as archive:
            names = archive.namelist()
        assert sum("similarity" in one for one in names) and any("report.html" in n for n in names)
    else:
        assert "similarity.png" in (project.folder / name).read_text()


def test_another_folder_is_another_run(finished, tmp_path):
    planned = finished.planned(*SMOKE, "--directory", str(tmp_path))
    assert planned["unlearn"] > 2 and planned["data"] == 1


def test_a_lock_is_removed_as_the_manual_says(project):
    locks = project.folder / ".snakemake/locks"
    locks.mkdir(parents=True, exist_ok=True)
    (locks / "0.output.lock").write_text(f"{GA.format(0)}\n")
    assert "--unlock" in said(project, "--forcerun", "gather", code=1)
    said(project, "--unlock")
    assert not [*locks.glob("*")]


def test_keys_of_the_command_line_are_looked_at_as_those_of_a_file(finished):
    text = said(finished, "--dry-run", "--config", "seeds=[7]", code=1)
    assert "seeds: unknown key" in text


def test_without_metadata_a_run_says_what_to_type_and_that_works(project):
    said(project, "--cleanup-metadata", "results/smoke/metrics.csv")
    text = said(project, "--dry-run", code=1)
    [command] = re.findall(r"to make them again: (snakemake .*)\$\(collateral (.*)\)", text)
    assert command[0] == "snakemake --configfile configs/smoke.yaml --forcerun "
    files = project.collateral(*command[1].split()).stdout.split()
    assert files == ["results/smoke/metrics.csv"]
    assert project.planned(*SMOKE, "--forcerun", *files) == dict.fromkeys(AFTER_METRICS, 1)
