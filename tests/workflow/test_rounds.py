"""Requests that keep coming: a plain cell, then two rounds, then three, each run for real."""

import csv
import json

import pytest
from conftest import Project, copy_project

from collateral.results.provenance import merge

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
FRAME = """
benchmarks:
  b:
    data: {name: digits, classes: [digit_3, digit_5, digit_8], per_class: 60, test_per_class: 30}
    model: mlp
    base: {epochs: 8, batch_size: 32}
    seeds: [0, 1]
    methods:
      ft: {epochs: 1, batch_size: 32, lr: [0.01, 0.05]}
      ltd: {k: 60, teacher_epochs: 2, teacher_batch_size: 32, epochs: 1, batch_size: 32}
      ga: {steps: 4, batch_size: 32, lr: 1.0e+30}
    cells:
      june: {forget: {kind: class_part, class: digit_3, fraction: 0.2}}
"""
JULY = """
      stream:
        rounds:
          - forget: {kind: class_part, class: digit_3, fraction: 0.2}
          - forget: {kind: class_part, class: digit_3, fraction: 0.4}
"""
AUGUST = """          - forget: {kind: class_part, class: digit_8, fraction: 0.2}
"""
MONTHS = {"june": FRAME, "july": FRAME + JULY, "august": FRAME + JULY + AUGUST}
CELLS = ("june", "stream-02", "stream-03")


@pytest.fixture(scope="module")
def plans() -> dict[str, dict[str, int]]:
    """Jobs that every month plans after the months before it."""
    return {}


@pytest.fixture(scope="module")
def made(tmp_path_factory, plans) -> Project:
    """The three months, one after the other."""
    pytest.importorskip("torch")
    project = copy_project(tmp_path_factory.mktemp("rounds"))
    for month, config in MONTHS.items():
        (project.folder / "rounds.yaml").write_text(config)
        options = ("results/b/check.done", "--configfile", "rounds.yaml")
        plans[month] = project.planned(*options)
        done = project.snakemake(*options)
        assert done.returncode == 0, done.stdout + done.stderr
    return project


def read(project: Project, path: str):
    return merge(json.loads((project.folder / "results/b" / path).read_text()))


def test_a_further_request_trains_its_own_round_and_nothing_else(made, plans):
    trained = {
        month: {rule: jobs.get(rule, 0) for rule in ("base", "retrain", "tune", "unlearn")}
        for month, jobs in plans.items()
    }
    assert trained["june"] == {"base": 2, "retrain": 2, "tune": 1, "unlearn": 6}
    for month in ("july", "august"):
        assert trained[month] == {"base": 0, "retrain": 2, "tune": 0, "unlearn": 6}


def test_rounds_forget_other_examples_and_retain_none_of_them(made):
    splits = [read(made, f"{cell}/split.json") for cell in CELLS]
    assert [one["num_forget"] for one in splits] == [12, 12, 12]
    assert splits[2]["earlier"] == sorted(splits[0]["forget"] + splits[1]["forget"])
    assert splits[1]["chosen"]["requested_before"] == 12


def test_a_round_starts_from_the_methods_own_model_and_its_tuned_values(made):
    for run in ("ft", "ltd"):
        first, second, third = (read(made, f"{cell}/seed-1/{run}/record.json") for cell in CELLS)
        assert "base/seed-1/model.safetensors" in first["inputs"]
        assert f"june/seed-1/{run}/model.safetensors" in second["inputs"]
        assert f"stream-02/seed-1/{run}/model.safetensors" in third["inputs"]
        assert first["params"] == second["params"] == third["params"]
    tuned = read(made, "stream-03/seed-1/ft/record.json")
    assert "june/tune/ft/selected.json" in tuned["inputs"]


def test_after_a_divergence_the_method_is_skipped(made):
    ends = [read(made, f"{cell}/seed-0/ga/record.json")["status"] for cell in CELLS]
    assert ends == ["diverged", "skipped", "skipped"]


def test_the_last_cell_has_the_numbers_over_rounds(made):
    with (made.folder / "results/b/metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "reversal"]
    assert {row["cell"] for row in rows} == {"stream-03"}
    assert {(row["set"], row["at"]) for row in rows if row["run"] == "ltd"} == {
        *(("", "2"), ("", "3")),
        *(("request-1", "2"), ("request-1", "3"), ("request-2", "3")),
    }
    assert [*(made.folder / "results/b/figures").rglob("*rounds*.pdf")]
    assert (
        "What do many requests do together?" in (made.folder / "results/b/report.html").read_text()
    )
    assert not read(made, "problems.json")["problems"]


def test_results_are_as_planned_and_verified(made):
    done = made.collateral("verify", "results/b", "--config", "rounds.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
