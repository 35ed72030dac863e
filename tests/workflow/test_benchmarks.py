"""The benchmarks still run, at sizes that say nothing about speed."""

import csv
import os
import subprocess
import sys
from math import isfinite
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
# A word of each target in benchmarks/README.md, and how many rows have it.
TARGETS = {
    "input pipeline": 2,
    "base training": 2,
    "evaluation of a model": 2,
    "metrics, 60 + 40 examples": 4,
    "membership attack": 2,
    "IU": 5,
    "AMUN": 6,
    "outputs of a CIFAR-100 run": 1,
    "configs/paper.yaml": 1,
    "10 jobs of 0 s": 2,
}
# All but `run`, `chain` and `cell`, which are experiments once more, and `training`, the longest.
ONLY = ("input", "evaluation", "metrics", "mia", "iu", "amun", "memory", "schedule")


def test_all_benchmarks_run_and_make_one_table(tmp_path):
    command = [sys.executable, "benchmarks/all.py", "--quick", "--only", *ONLY]
    command += ["--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True)
    with (tmp_path / "bench.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    counts = {word: sum(word in row["what"] for row in rows) for word in TARGETS}
    assert counts == TARGETS
    assert len(rows) == sum(TARGETS.values())
    for row in rows:
        low, middle, high = (float(row[name].replace(",", "")) for name in ("from", "median", "to"))
        assert 0 <= low <= middle <= high and isfinite(high), row
    lines = (tmp_path / "bench.md").read_text().splitlines()
    assert sum(line.startswith("| ") for line in lines) == 1 + len(rows)
