"""Methods of a real run as submissions: judged with the numbers of the run, and not accused."""

import csv
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import Project
from generators.tables import table
from markdown_reading import ROOT
from page_of_board import hold_to_page

from collateral.report.board import read_entries
from collateral.results.submission import Submission

pytestmark = pytest.mark.workflow
CELL = "digit_3-50"
METHODS = ("ft", "ga", "rl", "iu", "salun", "amun", "ltd", "neighbor")
# float16 logits instead of float32: an example or two near the attack's threshold.
ROUNDING = 0.02


@pytest.fixture(scope="module")
def folder(finished: Project, tmp_path_factory) -> Project:
    """A copy of the finished run, in which nothing is shared with other tests."""
    copy = tmp_path_factory.mktemp("submissions") / "project"
    shutil.copytree(finished.folder, copy, symlinks=True)
    return Project(copy)


@pytest.fixture(scope="module")
def sent(folder: Project) -> list[str]:
    for run in METHODS:
        done = folder.collateral("submit", "smoke", run, "--out", f"sent/{run}")
        assert done.returncode == 0, done.stderr
    return [f"sent/{run}" for run in METHODS]


def rates(path):
    """Return UA, RA, TA and MIA of every run and seed."""
    with path.open() as file:
        return {
            (row["run"], row["seed"], row["metric"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["metric"] in ("ua", "ra", "ta", "mia") and row["seed"]
        }


def test_honest_submissions_are_not_accused_and_have_the_numbers_of_the_run(folder, sent):
    done = folder.collateral("judge", *sent, "--out", "judged")
    assert done.returncode == 0, done.stdout + done.stderr
    ours = rates(folder.folder / "results/smoke/metrics.csv")
    for run in METHODS:
        theirs = rates(folder.folder / f"judged/smoke/{run}/metrics.csv")
        own = {key: value for key, value in theirs.items() if key[0] == run}
        assert len(own) == 8
        assert own == pytest.approx({key: ours[key] for key in own}, abs=ROUNDING)
        published = {key: value for key, value in theirs.items() if key[0] != run}
        assert published == {key: ours[key] for key in published} and len(published) == 16
    said = re.findall(rf"^  {CELL}: (\w+): (.*)$", done.stdout, re.M)
    named = [text for word, text in said if word in ("kinship", "mix", "copy", "outputs")]
    # Each is a copy of itself in results/, and of nothing else.
    assert [re.search(r"run (\S+) in", text)[1] for text in named] == [*METHODS]
    assert "points above both" not in done.stdout


def test_only_a_config_that_makes_the_run_raises_the_level_to_3(folder):
    """The outputs are those of FT; a config of another learning rate, or none, is no evidence."""
    config = (folder.folder / "configs/smoke.yaml").read_text()
    assert config.count("\n      ft: {") == 1
    other = config.replace("\n      ft: {", "\n      ft: {momentum: 0.5, ")
    (folder.folder / "other.yaml").write_text(other)
    for name, options in (
        ("none", ()),
        ("other", ("--config", "other.yaml")),
        ("same", ("--config", "configs/smoke.yaml")),
    ):
        done = folder.collateral("submit", "smoke", "ft", *options, "--out", f"sent/c-{name}")
        assert done.returncode == 0, done.stderr
    judge = ("--out", "reruns", "--replace", "--rerun", "ft")
    said = {
        name: folder.collateral("judge", f"sent/c-{name}", *judge).stdout
        for name in ("none", "other", "same")
    }
    assert "level of evidence 3" in said["same"] and "copy: " not in said["same"]
    assert f"  {CELL}: rerun: seeds 0, 1 of 0, 1\n" in said["same"]
    assert "level of evidence 1" in said["none"]
    assert "rerun: no config.yaml was sent" in said["none"]
    assert "level of evidence 1" in said["other"]
    assert "is not of the config.yaml that was sent: " in said["other"]
    for run, expected in (("ga", "has other outputs"), ("no_such", "has no run no_such")):
        done = folder.collateral("judge", "sent/c-same", "--out", "reruns", "--rerun", run)
        assert "level of evidence 1" in done.stdout and expected in done.stdout


def test_weights_raise_the_level_and_other_weights_do_not(folder):
    done = folder.collateral("submit", "smoke", "ft", "--weights", "--out", "sent/full")
    assert done.returncode == 0, done.stderr
    judge = ("judge", "sent/full", "--out", "other", "--weights")
    assert "level of evidence 2" in folder.collateral(*judge).stdout
    for seed in (0, 1):
        place = folder.folder / f"results/smoke/{CELL}/seed-{seed}/ga/model.safetensors"
        shutil.copy(place, folder.folder / f"sent/full/{CELL}/seed-{seed}/model.safetensors")
    assert "was changed after submission.json" in folder.collateral(*judge).stdout
    (folder.folder / f"sent/full/{CELL}/seed-0/model.safetensors").write_bytes(b"no tensors")
    Submission.load(folder.folder / "sent/full").save()
    said = folder.collateral("judge", "sent/full", "--out", "third", "--weights").stdout
    assert "level of evidence 1" in said and f"weights: {CELL}, seed 0: " in said
    done = folder.collateral("board", "judged", "other", "--out", "board.html")
    assert "9 entries in 1 cells" in done.stdout
    page = (folder.folder / "board.html").read_text()
    assert page.count('<tr><th scope="row" data-order=') == 9


def test_another_program_needs_the_published_folder_alone_and_is_judged(folder, request):
    """Its row is in docs/board.md; `--fix` writes it there."""
    done = folder.collateral("publish", "smoke", "--logits", "--out", "../published")
    assert done.returncode == 0, done.stderr
    program = [sys.executable, ROOT / "tests/other_program.py", "../published", "smoke", CELL]
    without = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([*program, "elsewhere"], cwd=folder.folder, env=without, check=True)
    words = ("--outputs", "elsewhere", "--out", "sent/refit", "--by", "A. Stranger")
    words += ("--published", "../published", "--method", "Refitted logits")
    done = folder.collateral("submit", "smoke", "refit", *words)
    assert done.returncode == 0, done.stderr
    done = folder.collateral("judge", "sent/refit", "--out", "refit")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 2, "a verdict, and nothing named"
    [entry] = read_entries(folder.folder / "refit/smoke/refit")
    numbers = [text for text, _ in entry.numbers.values()]
    head = ["method", "by", "verdict", *map(str.lower, entry.numbers), "seeds", "evidence"]
    row = [entry.method, entry.by, entry.verdict, *numbers, str(entry.seeds), entry.evidence]
    hold_to_page("honest", table(head, [row]), request.config)
