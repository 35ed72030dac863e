"""The smoke experiment, published: others compute its numbers again from the folder alone."""

import hashlib
import shutil
from pathlib import Path

import pytest
from conftest import REPOSITORY, read_yaml
from recomputing import compare_with_table, recompute

from collateral.config.load import read

pytestmark = pytest.mark.workflow
pytest.importorskip("pyarrow")
NUM_RUNS = 12  # Retrain, the base model, eight methods, the control Ideal, and a sweep's run


def publish(project, out, *options):
    done = project.collateral("publish", "smoke", "--out", out, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_others_compute_the_numbers_of_a_real_run_again(finished, tmp_path):
    said = publish(finished, tmp_path / "out", "--logits")
    assert "config" not in said  # it is there, and is that of the results
    folder = shutil.copytree(tmp_path / "out", tmp_path / "elsewhere")
    counts = compare_with_table(folder, recompute(folder))
    by_seed = dict.fromkeys(("ua", "ra", "ta", "mia"), 2 * NUM_RUNS)
    others = NUM_RUNS - 1
    assert counts == {**by_seed, "near_loss": 2 * 2 * others, "avg_gap": others}


def test_the_folder_of_a_real_run_is_valid_and_names_no_place(finished, tmp_path):
    mlc = pytest.importorskip("mlcroissant")
    folder = tmp_path / "out"
    publish(finished, folder, "--images", "--creator", "A. Person", "--url", "https://example.org")
    data = mlc.Dataset(jsonld=folder / "croissant.json")
    assert (data.metadata.ctx.issues.errors, data.metadata.ctx.issues.warnings) == (set(), set())
    for one in data.metadata.record_sets:
        assert next(iter(data.records(one.uuid)))
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    for line in lines:
        digest, _, name = line.partition("  ")
        content = (folder / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        places = (finished.folder, tmp_path, REPOSITORY, Path.home() / ".")
        assert not any(f"{place}/".encode() in content for place in places), name
    assert len(lines) + 1 == len([path for path in folder.rglob("*") if path.is_file()])


def test_the_published_config_is_that_of_the_run(finished, tmp_path):
    publish(finished, tmp_path / "out")
    copy = tmp_path / "out/results/smoke/config.yaml"
    assert read(copy) == read(finished.folder / "configs/smoke.yaml")
    assert read_yaml(copy)["benchmarks"].keys() == {"smoke"}
