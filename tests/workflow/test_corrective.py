"""Corrective unlearning on digits: a backdoor in the base that Retrain does not have."""

import csv
import json

import numpy as np
import pytest
from conftest import Project, copy_project

pytest.importorskip("torch")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
RESULTS = "results/backdoor"
CONFIG = {
    "benchmarks": {
        "backdoor": {
            "data": {"name": "digits", "patched": {"count": 180, "label": 4, "size": 2}},
            "model": "resnet8",
            "base": {"epochs": 12, "lr": 0.05, "batch_size": 64},
            "seeds": [0, 1],
            "cells": {"half": {"forget": {"kind": "corrupted", "known": 0.5}}},
            "methods": {"ft": {"epochs": 1}},
            "probe": ["patch"],
        }
    }
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_project(tmp_path_factory.mktemp("backdoor"))
    (project.folder / "backdoor.yaml").write_text(json.dumps(CONFIG))
    done = project.snakemake(f"{RESULTS}/check.done", "--configfile", "backdoor.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def values(made: Project, run: str, metric: str) -> list[float]:
    with (made.folder / RESULTS / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if (row["run"], row["metric"]) == (run, metric)]
    assert len(rows) == 2
    return [float(row["value"]) for row in rows]


def test_retrain_is_trained_without_the_examples_that_nobody_knows(made):
    split = json.loads((made.folder / RESULTS / "half/split.json").read_text())
    with np.load(made.folder / RESULTS / "labels.npz") as labels:
        corrupted = np.flatnonzero(labels["column_corrupted"] == b"yes")
    assert (len(split["forget"]), len(split["unknown"])) == (90, 90)
    assert sorted([*split["forget"], *split["unknown"]]) == corrupted.tolist()
    gates = json.loads((made.folder / RESULTS / "gates.json").read_text())["gates"]
    assert not [gate for gate in gates if gate["colour"] == "red"]


def test_the_backdoor_works_in_the_base_and_not_in_retrain(made):
    # Guessing calls a tenth of the other digits a 4.
    assert min(values(made, "original", "patch_success")) > 0.6
    assert max(values(made, "retrain", "patch_success")) < 0.3
    assert min(values(made, "retrain", "patch_accuracy")) > 0.6
    assert max(values(made, "original", "patch_accuracy")) < 0.5
    assert min(values(made, "original", "ta")) > 0.7


def test_the_page_has_the_table_of_the_patch(made):
    text = (made.folder / RESULTS / "tables/half/probe-patch.md").read_text()
    assert "Success of the patch" in text and "Corrected accuracy" in text
    assert "Success of the patch" in (made.folder / RESULTS / "report.html").read_text()
