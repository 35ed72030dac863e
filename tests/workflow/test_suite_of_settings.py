"""Some settings of configs/suite in miniature, from made files to the page."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import suite

pytest.importorskip("torch")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
# Two of the cheapest, and the one whose base must have learned a patch.
SOME = ("persons", "tiny-imagenet", "poison")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    words = [*SOME, "--folder", str(folder), "--cores", "2", "--keep"]
    done = subprocess.run(
        [sys.executable, suite.__file__, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def benchmarks(folder: Path, name: str) -> dict:
    return json.loads((folder / name / "config.yaml").read_text())["benchmarks"]


@pytest.mark.parametrize("name", SOME)
def test_every_method_has_numbers_in_every_cell(made, name):
    for key, benchmark in benchmarks(made, name).items():
        results = made / name / "results" / key
        with (results / "metrics.csv").open() as file:
            found = {(row["cell"], row["run"]) for row in csv.DictReader(file) if row["value"]}
        runs = {"retrain", "original", *benchmark["methods"]}
        assert {(cell, run) for cell in benchmark["cells"] for run in runs} <= found
        assert "report.html" in {path.name for path in results.iterdir()}


@pytest.mark.parametrize("name", SOME)
def test_no_check_is_red_and_every_method_has_a_verdict(made, name):
    found = suite.read_outcome(made / name)
    wanted = 0
    for one in benchmarks(made, name).values():
        cells = len(one["cells"]) + len(one.get("classes", ())) * len(one.get("fractions", ()))
        wanted += cells * len(one["methods"])
    assert (found["red"], found["verdicts"]) == (0, wanted)


def test_the_base_has_learned_the_patch_and_retrain_has_not(made):
    with (made / "poison/results/poison/metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "patch_success"]
    for run, is_found in (("original", True), ("retrain", False)):
        values = [float(row["value"]) for row in rows if row["run"] == run and row["value"]]
        assert len(values) == 9
        assert all((value > 0.5) == is_found for value in values)


def test_all_pictures_of_the_requested_lesions_are_train_images_and_forgotten(made):
    folder = made / "persons/results/ham10000"
    split = json.loads((folder / "request/split.json").read_text())
    with (made / "persons/data/ham10000/labels.csv").open() as file:
        rows = [row["lesion_id"] for row in csv.DictReader(file)]
    assert len(split["forget"]) == sum(lesion in suite.LESIONS for lesion in rows)
