"""Finished results of which Snakemake knows nothing: what differs from the plan, and how."""

import pytest
from small_grid import grid
from test_comparison import CELL, TUNED, changed, finished

from collateral.cli import main
from collateral.plan.diff import find_unknown
from collateral.results.bundle import write_metadata

__all__ = ["finished"]  # the fixture
RECORD = f"results/b/{CELL}/seed-3/ft/record.json"
TUNE_RECORD = f"results/b/{CELL}/tune/ft/record.json"
PAGES = [
    f"results/b/{CELL}/costs.csv",
    "results/b/metrics.csv",
    "results/b/tables",
    "results/b/check.done",
    "results/report.html",
    "results/theory/record.json",
]


@pytest.fixture
def project(finished, tmp_path, monkeypatch):
    """The finished benchmark, which the plan expects below results/."""
    folder = tmp_path / "project"
    (folder / "results").mkdir(parents=True)
    (folder / "results/b").symlink_to(finished)
    monkeypatch.chdir(folder)
    return folder


def unknown(known=(), compared=()):
    found = find_unknown(
        {"b": grid(**TUNED)}, known.__contains__, lambda job: {*job.record_names} & {*compared}
    )
    assert found.files == [*found.records, *found.pages]
    return found


def write(project, path):
    file = project / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


def test_what_is_as_planned_and_what_was_never_run_is_left(project):
    assert unknown().files == []
    assert unknown().lines() == []


def test_differences_are_named_with_their_kind(project, finished):
    changed(finished, f"{CELL}/seed-3/ft/record.json", seed=4)
    assert unknown().records == {RECORD: "seed: 4, planned 3"}
    assert unknown().lines() == [f"{RECORD}: seed: 4, planned 3"]


def test_files_with_metadata_are_left_to_snakemake(project, finished):
    changed(finished, f"{CELL}/seed-3/ft/record.json", seed=4)
    changed(finished, f"{CELL}/tune/ft/record.json", seed=5)
    assert [*unknown(compared=[f"{CELL}/seed-3/ft/record.json"]).files] == [TUNE_RECORD]


def test_a_job_that_gains_a_file_is_left_to_snakemake_if_it_knows_all_its_others(project, finished):
    """As a run that is tracked from now on: Snakemake runs it, because epochs.npz is missing."""
    changed(finished, f"{CELL}/seed-3/ft/record.json", seed=4)
    folder = RECORD.removesuffix("record.json")
    names = ("model.safetensors", "outputs.npz", "history.csv", "record.json", "cost.json")
    *files, last = [f"{folder}{name}" for name in names]
    for path in set(files) - {RECORD}:
        write(project, path)
    assert unknown(known=files).files == []
    for forgotten in files:  # Snakemake does not compare the job with the plan
        assert unknown(known=set(files) - {forgotten}).files == [RECORD]
    write(project, last)  # nothing is gained
    assert unknown(known=[*files, last]).files == [RECORD]


def test_a_broken_record_is_made_again(project, finished):
    (finished / CELL / "seed-3/ft/record.json").write_text("{")
    assert unknown().records[RECORD].startswith("broken: ")


@pytest.mark.parametrize("path", PAGES)
def test_what_takes_seconds_is_made_again_if_it_is_there_and_not_known(project, path):
    write(project, path)
    assert unknown().files == [path]
    assert unknown().lines() == [
        f"1 metrics, tables, figures and pages of an unknown config, as {path}"
    ]
    assert unknown(known=[path]).files == []


def test_files_of_other_workflows_are_not_ours(project):
    write(project, "theirs.csv")
    write(project, "results/c/metrics.csv")
    assert unknown().files == []


def test_files_that_snakemake_makes_anyway_are_left_out(project, finished):
    changed(finished, f"{CELL}/seed-3/ft/record.json", seed=4)
    changed(finished, f"{CELL}/tune/ft/record.json", seed=5)
    for path in PAGES[:2]:
        write(project, path)
    left = unknown().without([RECORD, PAGES[1]])
    assert left.files == [TUNE_RECORD, PAGES[0]]
    assert unknown().without(unknown().files).lines() == []


def test_the_command_prints_what_to_force_a_path_a_line(project, finished, capsys):
    config = project / "mine.yaml"
    text = "benchmarks: {b: {data: {name: digits}, model: resnet8, seeds: [3], classes: [digit_3], "
    config.write_text(text + "fractions: [0.5], methods: {ft: {lr: [0.01, 0.1], epochs: 3}}}}")
    main(["stale", "--config", str(config)])
    assert capsys.readouterr().out == ""
    changed(finished, f"{CELL}/seed-3/ft/record.json", seed=4)
    for path in PAGES[:2]:
        write(project, path)
    write_metadata(project, {PAGES[1]: {"rule": "gather"}})
    main(["stale", "--config", str(config)])
    assert capsys.readouterr().out.splitlines() == [RECORD, PAGES[0]]


def test_the_command_takes_all_configs_and_keys_of_a_run(project, capsys):
    first, second = project / "mine.yaml", project / "more.yaml"
    text = "benchmarks: {b: {data: {name: digits}, model: resnet8, seeds: [4], classes: [digit_3], "
    first.write_text(text + "fractions: [0.5], methods: {ft: {lr: [0.01, 0.1], epochs: 3}}}}")
    second.write_text("benchmarks: {b: {seeds: [3], methods: {ft: {epochs: 5}}}}")
    configs = "--config", str(first), str(second)
    main(["stale", *configs, "--set", "benchmarks={b: {methods: {ft: {epochs: 3}}}}"])
    assert capsys.readouterr().out == ""
    main(["stale", *configs])
    assert capsys.readouterr().out.splitlines() == [TUNE_RECORD, RECORD]
