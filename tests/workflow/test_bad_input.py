"""What is wrong is said before any training, in one message, and nothing is written."""

import numpy as np
import pytest
import yaml
from conftest import Project, read_yaml

pytestmark = pytest.mark.workflow


def run_with(project: Project, change) -> str:
    """Run the smoke experiment with a changed config; return what was said."""
    config = read_yaml(project.folder / "configs/smoke.yaml")
    change(config["benchmarks"]["smoke"])
    (project.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    done = project.snakemake("--configfile", "changed.yaml")
    assert done.returncode != 0
    return done.stdout + done.stderr


def test_a_misspelt_method_is_named_before_any_job(fresh):
    said = run_with(fresh, lambda benchmark: benchmark["methods"].update(fft={}))
    assert "benchmarks.smoke.methods.fft: no method 'fft'" in said
    assert "did you mean ft?" in said
    assert not (fresh.folder / "results").exists()


def test_an_unknown_class_is_named_before_any_job(fresh):
    said = run_with(fresh, lambda benchmark: benchmark.update(classes=["digit_33"]))
    assert "benchmarks.smoke.classes[0]: no class 'digit_33'" in said
    assert not (fresh.folder / "results").exists()


def test_a_forget_set_without_an_example_stops_before_training(fresh):
    said = run_with(fresh, lambda benchmark: benchmark.update(fractions=[0.001]))
    assert "fraction: 0.001" in said
    assert not list((fresh.folder / "results").rglob("model.safetensors"))


LISTED = {"listed": {"forget": {"kind": "index_file", "path": "listed.txt"}}}


def test_a_list_of_indices_that_is_not_there_is_named_before_any_job(fresh):
    said = run_with(fresh, lambda benchmark: benchmark.update(cells=LISTED))
    assert "benchmarks.smoke.cells.listed.forget.path: 'listed.txt': there is no such file" in said
    assert not (fresh.folder / "results").exists()


def test_an_index_out_of_range_stops_before_training(fresh):
    (fresh.folder / "listed.txt").write_text("3\n240\n")
    said = run_with(fresh, lambda benchmark: benchmark.update(cells=LISTED))
    assert "path: 'listed.txt': 240: no train example has this index" in said
    assert not list((fresh.folder / "results").rglob("model.safetensors"))


def test_a_changed_list_of_indices_is_split_again(fresh):
    config = read_yaml(fresh.folder / "configs/smoke.yaml")
    config["benchmarks"]["smoke"].update(cells=LISTED)
    (fresh.folder / "changed.yaml").write_text(yaml.safe_dump(config))
    options = ("results/smoke/listed/split.json", "--configfile", "changed.yaml")
    (fresh.folder / "listed.txt").write_text("3\n4\n")
    done = fresh.snakemake(*options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert fresh.planned(*options) == {}
    (fresh.folder / "listed.txt").write_text("3\n5\n")
    assert fresh.planned(*options) == {"split": 1}


def test_labels_out_of_range_stop_the_data_job(fresh):
    images, labels = np.zeros((8, 8, 8), np.uint8), np.array([0, 1] * 4)
    np.savez(
        fresh.folder / "own.npz",
        train_images=images, train_labels=labels, test_images=images, test_labels=labels - 5,
    )  # fmt: skip
    own = {"name": "arrays", "path": "own.npz"}
    said = run_with(fresh, lambda benchmark: benchmark.update(data=own, classes=[1]))
    assert "test_labels" in said
    assert not (fresh.folder / "results/smoke/dataset.npz").exists()
