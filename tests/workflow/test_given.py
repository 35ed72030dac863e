"""Without Retrain; then weights that were made elsewhere, in place of all that is trained."""

import csv
import json
import re
import shutil

import pytest
from conftest import Project, copy_project

from collateral.results.provenance import read_record

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
BENCHMARK = """
    data: {name: digits, classes: [digit_3, digit_5, digit_8], per_class: 60, test_per_class: 30}
    model: mlp
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5]
"""
ALONE = f"""
benchmarks:
  alone:{BENCHMARK}
    base: {{epochs: 8, batch_size: 32}}
    retrain: none
    select: teacher
    methods:
      ft: {{epochs: 2, batch_size: 32, lr: [0.01, 0.05]}}
      ltd: {{k: 60, teacher_epochs: 4, teacher_batch_size: 32, epochs: 2, batch_size: 32}}
"""
MADE = "results/alone"
JUDGED = f"""
benchmarks:
  judged:{BENCHMARK}
    base: {{weights: "{MADE}/base/seed-{{seed}}/model.safetensors"}}
    retrain: {{weights: "{MADE}/{{cell}}/seed-{{seed}}/ft/model.safetensors", rte: 240}}
    methods: {{}}
    given:
      theirs: {{weights: "{MADE}/{{cell}}/seed-{{seed}}/ltd/model.safetensors", rte: 120}}
"""
LEFT_OUT = {"gap", "verdict", "rmia", "klom", "localization"}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Project:
    """Both benchmarks, one after the other; the theory, which neither needs, is left out."""
    pytest.importorskip("torch")
    project = copy_project(tmp_path_factory.mktemp("given"))
    for name, config in (("alone", ALONE), ("judged", JUDGED)):
        (project.folder / f"{name}.yaml").write_text(config)
        target = f"results/{name}/check.done"
        done = project.snakemake(target, "--configfile", f"{name}.yaml")
        assert done.returncode == 0, done.stdout + done.stderr
    return project


def numbers(project: Project, benchmark: str, name: str = "metrics") -> dict[tuple[str, str], str]:
    """Return some value of every run and metric."""
    with (project.folder / f"results/{benchmark}/{name}.csv").open() as file:
        return {(row["run"], row["metric"]): row["value"] for row in csv.DictReader(file)}


def test_without_retrain_none_is_trained_and_what_needs_it_is_left_out_by_name(made):
    folder = made.folder / "results/alone"
    assert not [*folder.rglob("retrain")]
    found = numbers(made, "alone")
    assert {"ua", "near_loss", "far_loss", "mia", "rf_js"} <= {metric for _, metric in found}
    assert not {"avg_gap", "verdict", "floor"} & {metric for _, metric in found}
    assert 0 <= float(found["original", "estimated_ua"]) <= 1
    page = re.sub("<.*?>", "", (folder / "report.html").read_text())  # terms have tags
    said = page.partition("Findings that need Retrain are left out:")[2].partition(".")[0]
    assert {name.strip() for name in said.split(",")} >= LEFT_OUT
    log = (made.folder / "logs/metrics/alone/digit_3-50.log").read_text()
    assert "There is no Retrain: runs are held against the base." in log


def test_without_retrain_every_table_says_what_the_reference_is(made):
    tables = [*(made.folder / "results/alone/tables").rglob("*.md")]
    assert any(path.name == "without-retrain.md" for path in tables)
    for path in tables:
        assert "the reference is the base model (Original)" in path.read_text(), path


def test_given_weights_stand_beside_methods_and_nothing_is_trained(made):
    found, costs = numbers(made, "judged"), numbers(made, "judged", "costs")
    assert found["theirs", "verdict"]
    assert costs["theirs", "rte"] == "120.0" and costs["theirs", "rte_share"] == "0.5"
    main = (made.folder / "results/judged/tables/digit_3-50/main.md").read_text()
    assert "theirs (given)" in main
    folder = made.folder / "results/judged/digit_3-50/seed-0"
    record = read_record(folder / "theirs/record.json")
    assert record["method"] == "given" and record["weights"]["name"] == "model.safetensors"
    theirs = made.folder / MADE / "digit_3-50/seed-0/ltd/outputs.npz"
    assert (folder / "theirs/outputs.npz").read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    ("address", "run", "missing"),
    [
        ("alone/digit_3-50", "ft", "There is no Retrain"),
        ("judged/digit_3-50", "theirs", "Another tool unlearned this model"),
    ],
)
def test_a_record_says_what_is_missing(made, address, run, missing):
    pytest.importorskip("rocrate")
    done = made.collateral("evidence", address, run, "--seed", "1", "--out", run)
    assert done.returncode == 0, done.stderr
    record = json.loads((made.folder / run / "evidence.json").read_text())
    assert missing in record["missing"][0]
    assert all(len(model["sha256"]) == 64 for model in record["models"])
    checked = made.collateral("verify", f"{run}/evidence.json")
    assert checked.returncode == 0, checked.stdout


def test_the_same_weights_at_another_place_make_nothing_again(made):
    for folder in ("base", "digit_3-50"):
        shutil.copytree(made.folder / MADE / folder, made.folder / "moved" / folder)
    config = JUDGED.replace(MADE, "moved")
    (made.folder / "moved.yaml").write_text(config)
    wanted = made.planned("results/judged/check.done", "--configfile", "moved.yaml")
    assert not {"base", "retrain", "given"} & wanted.keys()


def test_other_weights_of_the_same_name_are_looked_at_again(made):
    files = [made.folder / MADE / f"digit_3-50/seed-{s}/ltd/model.safetensors" for s in (0, 1)]
    files[1].write_bytes(files[0].read_bytes())
    wanted = made.planned("results/judged/check.done", "--configfile", "judged.yaml")
    assert wanted["given"] == 1 and not {"base", "retrain"} & wanted.keys()
