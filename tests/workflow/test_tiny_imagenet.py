"""Tiny-ImageNet's official layout with ten classes: from the folder to the page."""

import csv
import json

import numpy as np
import pytest
from conftest import Project, copy_project
from PIL import Image

pytest.importorskip("torch")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
WNIDS = [f"n{1443537 + 7 * k:08d}" for k in range(10)]
NUM_TRAIN, NUM_VAL = 24, 60
RESULTS = "results/tiny"
CONFIG = {
    "benchmarks": {
        "tiny": {
            "data": {
                "name": "folder",
                "path": "tiny-imagenet-200",
                "test_labels": "tiny-imagenet-200/val/val_annotations.txt",
                "size": 20,
                "crop": 16,
                "flip": True,
                "imbalance": 3,
            },
            "model": "resnet8",
            "base": {"epochs": 6, "lr": 0.05, "batch_size": 32},
            "seeds": [0, 1],
            "classes": [WNIDS[2]],
            "fractions": [0.5],
            "methods": {"ft": {"epochs": 1}, "ga": {"epochs": 1}},
        }
    }
}


def write_picture(path, wnid, seed):
    """Write a colour picture of 64 pixels whose colour is that of its class."""
    rng = np.random.default_rng([WNIDS.index(wnid), seed])
    shade = np.array([(37 * WNIDS.index(wnid) + 61 * c) % 256 for c in range(3)])
    pixels = np.clip(shade + rng.normal(0, 30, (64, 64, 3)), 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, quality=90)


def write_tiny(root):
    for wnid in WNIDS:
        for k in range(NUM_TRAIN):
            write_picture(root / f"train/{wnid}/images/{wnid}_{k}.JPEG", wnid, k)
        rows = [f"{wnid}_{k}.JPEG\t0\t0\t63\t63\n" for k in range(NUM_TRAIN)]
        (root / f"train/{wnid}/{wnid}_boxes.txt").write_text("".join(rows))
    rows = []
    for k in range(NUM_VAL):
        wnid = WNIDS[(3 * k + 1) % 10]
        write_picture(root / f"val/images/val_{k}.JPEG", wnid, 1000 + k)
        rows.append(f"val_{k}.JPEG\t{wnid}\t0\t0\t63\t63\n")
    (root / "val/val_annotations.txt").write_text("".join(rows))
    for k in range(5):
        write_picture(root / f"test/images/test_{k}.JPEG", WNIDS[k], 2000 + k)
    (root / "wnids.txt").write_text("\n".join(WNIDS[::-1]))
    (root / "words.txt").write_text("".join(f"{wnid}\ta thing\n" for wnid in WNIDS))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_project(tmp_path_factory.mktemp("tiny"))
    write_tiny(project.folder / "tiny-imagenet-200")
    (project.folder / "tiny.yaml").write_text(json.dumps(CONFIG))
    done = project.snakemake(f"{RESULTS}/check.done", "--configfile", "tiny.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def test_the_data_are_those_of_the_folder_and_its_annotations(made):
    with np.load(made.folder / RESULTS / "dataset.npz") as data:
        assert data["class_names"].tolist() == WNIDS
        assert data["train_images"].shape[1:] == (20, 20, 3)
        assert data["test_labels"].tolist() == [
            (3 * int(name) + 1) % 10 for name in sorted(map(str, range(NUM_VAL)))
        ]
        # 24 of the first class, a third of them of the last; 24 * 3 ** (-k / 9), rounded down.
        assert np.bincount(data["train_labels"]).tolist() == [24, 21, 18, 16, 14, 13, 11, 10, 9, 8]
        assert int(data["crop"]) == 16


def test_models_learn_and_the_page_shows_them(made):
    with (made.folder / RESULTS / "metrics.csv").open() as file:
        rows = [
            row for row in csv.DictReader(file) if (row["run"], row["metric"]) == ("original", "ta")
        ]
    # Guessing gives 0.1; a model whose labels were mixed up would not be better.
    assert len(rows) == 2
    assert min(float(row["value"]) for row in rows) > 0.25
    assert WNIDS[2] in (made.folder / RESULTS / "report.html").read_text()
