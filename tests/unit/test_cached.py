"""What tables, figures and pages need of the cache, and what is said where it is missing."""

import shutil
from pathlib import Path

import pytest
import yaml
from small_grid import grid

from collateral.cli import main
from collateral.jobs import kinds, list_jobs
from collateral.jobs.metrics import PlannedMetrics
from collateral.plan import paths
from collateral.plan.diff import MOST_LISTED, find_lost, find_missing, first_lines, list_needed

EVERYTHING = {
    "data": {"name": "digits"},
    "model": "resnet8",
    "seeds": [3, 1],
    "classes": ["digit_3", "digit_8"],
    "fractions": [0.5],
    "methods": {"ft": {}, "ltd": {"lr": [0.1, 0.2]}},
    "sweeps": {"s": {"method": "ltd", "vary": {"beta": [3]}}},
    "given": {"theirs": {"weights": "theirs-{cell}-{seed}.pt"}},
    "track": ["ltd"],
    "support_size": {"k": [20, 50], "cells": ["digit_3-50"]},
    "probe": ["zrf"],
    "shadows": {},
}
CELL = "results/b/digit_3-50"
PRESENT = ("all", "metrics", "plan", "gather", "tables", "figures", "report", "index", "check")


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    """A benchmark in a folder that has all of its cache, empty files that they are."""
    monkeypatch.chdir(tmp_path)
    found = grid(**EVERYTHING)
    for path in list_needed(found):
        write(path)
    return found


def write(path):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()


def rules_of(benchmark):
    return {path: job.rule for path, job in list_needed(benchmark).items()}


def test_no_file_is_listed_twice_and_each_by_a_rule_that_presents_nothing(benchmark):
    listed = [name for job in list_jobs(benchmark) for name in job.files]
    assert len(listed) == len(list_needed(benchmark)) > 50
    assert {*rules_of(benchmark).values()}.isdisjoint(PRESENT)
    by_page = {"metrics", "shadow", "teacher", *PRESENT}  # of these no page needs a file
    assert {*rules_of(benchmark).values()} == {*kinds(), "track"} - by_page


def test_without_retrain_the_base_is_needed_and_no_retrain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = {*rules_of(grid(retrain="none", controls=[])).values()}
    assert "base" in rules and "retrain" not in rules


def test_all_inputs_of_the_metrics_job_are_needed(benchmark):
    listed = rules_of(benchmark)
    for cell in benchmark.cells.values():
        job = PlannedMetrics(benchmark, cell)
        read = [file for file in job.inputs["records"] if "/base/" not in file]
        read += [job.path(p) for p in (paths.LABELS, paths.SPLIT, paths.NEIGHBOURS, paths.PICTURES)]
        assert {*read} <= listed.keys()


@pytest.mark.parametrize(
    ("folder", "rule"),
    [
        ("results/b/base/seed-3", "base"),
        (f"{CELL}/seed-1/retrain", "retrain"),
        (f"{CELL}/seed-1/ltd@beta=3", "unlearn"),
        (f"{CELL}/seed-1/theirs", "given"),
    ],
)
def test_all_files_of_a_run_but_its_weights_are_needed(benchmark, folder, rule):
    listed = rules_of(benchmark).items()
    found = {path: by for path, by in listed if str(Path(path).parent) == folder}
    names = ("outputs.npz", "record.json", "history.csv", "cost.json")
    assert found == {f"{folder}/{name}": rule for name in names}


def test_the_epochs_of_a_tracked_run_are_needed_too(benchmark):
    folder = f"{CELL}/seed-1/ltd"
    names = ("outputs.npz", "record.json", "history.csv", "cost.json", "epochs.npz")
    listed = rules_of(benchmark).items()
    found = {path: by for path, by in listed if str(Path(path).parent) == folder}
    assert found == {f"{folder}/{name}": "track" for name in names}


def test_results_and_costs_of_tunings_and_support_sizes_are_needed(benchmark):
    listed = rules_of(benchmark)
    for name in ("trials.csv", "selected.json", "cost.json"):
        assert listed[f"{CELL}/tune/ltd/{name}"] == "tune"
    for name in ("support_sizes.npz", "record.json", "cost.json"):
        assert listed[f"{CELL}/support_size/seed-3/{name}"] == "support_size"
    assert not any("digit_8-50/support_size" in path for path in listed)


def test_arrays_and_costs_of_probes_are_needed_and_no_model(benchmark):
    listed = rules_of(benchmark)
    for name in ("probe.npz", "record.json", "cost.json"):
        assert listed[f"results/b/digit_8-50/probe/seed-1/{name}"] == "probe"
    assert not any(path.endswith("model.safetensors") for path in listed)


def test_margins_of_shadow_models_are_needed_and_not_their_weights(benchmark):
    listed = rules_of(benchmark)
    for name in ("exposure.npz", "record.json", "cost.json"):
        assert listed[f"{CELL}/exposure/ltd/{name}"] == "expose"
    assert not any("/shadows/" in path or "exposure/ltd@" in path for path in listed)


def test_without_the_original_no_base_is_needed():
    assert not any("/base/" in path for path in list_needed(grid(controls=[])))


def test_existing_files_are_not_missing(benchmark):
    assert find_missing([benchmark]) == {}


def test_a_folder_in_a_files_place_does_not_do(benchmark):
    Path("results/b/labels.npz").unlink()
    Path("results/b/labels.npz").mkdir()
    assert [job.rule for job in find_missing([benchmark]).values()] == ["data"]


def test_the_first_of_many_missing_files_are_named_and_the_others_counted():
    lines = [f"line {number}" for number in range(MOST_LISTED + 2)]
    assert first_lines(lines) == [*lines[:MOST_LISTED], "... and 2 more"]
    assert first_lines(lines[:MOST_LISTED]) == lines[:MOST_LISTED]


def test_a_run_makes_again_what_was_there_once(benchmark):
    assert find_lost([benchmark]) == []
    gone = [f"{CELL}/seed-1/ft/record.json", "results/b/labels.npz"]
    for path in gone:
        Path(path).unlink()
    assert sorted(find_lost([benchmark])) == sorted(gone)


def test_a_folder_that_is_gone_is_missed_if_numbers_were_made_of_it(benchmark):
    folder = Path(f"{CELL}/seed-1/ft")
    files = sorted(map(str, folder.iterdir()))
    shutil.rmtree(folder)
    assert find_lost([benchmark]) == []
    write("results/b/metrics.csv")
    assert sorted(find_lost([benchmark])) == files


def test_missing_inputs_of_a_finished_page_are_reported(benchmark):
    gone = lost_pages(benchmark)
    assert {"results/b/plan.json", "results/b/tables", f"{CELL}/costs.json"} <= gone
    assert len(gone) == 2 * 5 + 12
    for path in gone - {"results/b/metrics.json"}:
        write(path)
    assert lost_pages(benchmark) == {"results/b/metrics.json"}


def lost_pages(benchmark):
    write("results/b/check.done")
    return {*find_lost([benchmark])}


def test_missing_inputs_of_an_existing_index_are_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    others = ["results/theory/checks.csv", "results/theory/record.json"]
    assert find_lost([], others) == []
    for path in ("results/report.html", others[0]):
        write(path)
    assert find_lost([], others) == [others[1]]


def test_before_anything_is_made_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_lost([grid(**EVERYTHING)]) == []


def test_the_command_fails_where_something_is_missing(benchmark, capsys, monkeypatch):
    """Records, which are empty files here, are compared in tests/workflow/test_changed_since.py."""
    monkeypatch.setattr("collateral.plan.diff.find_stale", lambda _: [])
    Path("mine.yaml").write_text(yaml.safe_dump({"benchmarks": {"b": EVERYTHING}}))
    main(["cached", "--config", "mine.yaml"])
    assert capsys.readouterr() == ("", "")
    Path(f"{CELL}/seed-3/retrain/cost.json").unlink()
    with pytest.raises(SystemExit) as stop:
        main(["cached", "--config", "mine.yaml"])
    assert stop.value.code == "1 missing: no table, figure or page was made"
    remedy = "copy it from where it was made, or let `make run` make it (rule retrain)"
    path = f"{CELL}/seed-3/retrain/cost.json"
    assert capsys.readouterr().err == f"{path}: missing; {remedy}\n"


def test_a_config_that_is_not_there_is_named(benchmark):
    with pytest.raises(SystemExit) as stop:
        main(["cached", "--config", "other.yaml"])
    assert stop.value.code == "collateral cached: --config: there is no file other.yaml"
