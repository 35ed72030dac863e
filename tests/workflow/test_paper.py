"""The paper's tables and figures: a miniature of its config writes each of them."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import REPOSITORY, TORCH_RULES, Project, copy_project, read_yaml

from collateral.plugins.find import params_class

with (REPOSITORY / "docs/paper-files.csv").open() as opened:
    ROWS = list(csv.DictReader(opened))
FILES = {row["paper"]: row["file"] for row in ROWS}
PER_CLASS, SIZE = 16, 8
SMALL = {"batch_size": 16, "epochs": 1, "k": 32, "teacher_epochs": 5}


def test_the_list_has_all_of_them_once():
    assert sorted(row["paper"] for row in ROWS) == sorted(
        [f"Table {n}" for n in range(1, 24)] + [f"Figure {n}" for n in range(1, 30)]
    )


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The paper's config with tiny images, one seed, one epoch and nothing tuned, run."""
    pytest.importorskip("torch")
    project = copy_project(tmp_path_factory.mktemp("paper"))
    config = read_yaml(project.folder / "configs/paper.yaml")
    for name, benchmark in config["benchmarks"].items():
        shrink(benchmark, project.folder / f"{name}.npz")
    (project.folder / "miniature.yaml").write_text(yaml.safe_dump(config))
    planned = project.planned("paper", "--configfile", "miniature.yaml")
    assert sum(planned.get(rule, 0) for rule in TORCH_RULES) <= 200
    done = project.snakemake("paper", "--configfile", "miniature.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.mark.workflow
@pytest.mark.slow
def test_each_of_them_is_written(miniature):
    missing = {
        name: file
        for name, file in FILES.items()
        if not (path := miniature.folder / "results" / file).is_file() or not path.stat().st_size
    }
    assert not missing


@pytest.mark.workflow
@pytest.mark.slow
def test_the_whole_config_is_planned(fresh):
    planned = fresh.planned("paper", "--configfile", "configs/paper.yaml")
    assert planned["unlearn"] + planned["track"] == 530  # docs/scale.md


def shrink(benchmark: dict[str, Any], images: Path) -> None:
    """Make everything in a benchmark small, and change nothing about what it consists of."""
    draw_images(images, class_names(benchmark))
    benchmark["data"] = {"name": "arrays", "path": str(images)}
    benchmark["model"] = "mlp"
    benchmark["base"] = {**benchmark["base"], "epochs": 1, "batch_size": 16, "checkpoint": "last"}
    benchmark["seeds"] = [0]
    for name, given in benchmark["methods"].items():
        benchmark["methods"][name] = small(name, given or {})
    for cell in benchmark.get("cells", {}).values():
        cell["methods"] = {}
    for sweep in benchmark.get("sweeps", {}).values():
        key, values = next(iter(sweep["vary"].items()))
        if key == "k":
            sweep["vary"][key] = [SMALL["k"] + step for step in range(len(values))]
    if "support_size" in benchmark:
        benchmark["support_size"]["k"] = [16, 32]


def small(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return a method's parameters with the first value of every grid, and little to do."""
    fields = params_class(given.get("uses", name)).model_fields
    first = {key: value[0] if isinstance(value, list) else value for key, value in given.items()}
    little = {key: value for key, value in SMALL.items() if key in fields}
    return first | little | ({"steps": 2} if "steps" in given else {})


def class_names(benchmark: dict[str, Any]) -> list[str]:
    """Return the classes that are forgotten, and two more to fill up."""
    forgotten = [cell["forget"]["class"] for cell in benchmark.get("cells", {}).values()]
    return list(dict.fromkeys([*benchmark.get("classes", []), *forgotten, "other", "another"]))


def draw_images(path: Path, names: list[str]) -> None:
    """Write noisy images around a random mean for each class."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(names)), PER_CLASS)
    means = rng.uniform(0.2, 0.8, (len(names), SIZE, SIZE, 3))
    parts = {}
    for part in ("train", "test"):
        noisy = means[labels] + rng.normal(0, 0.1, (len(labels), SIZE, SIZE, 3))
        parts[f"{part}_images"] = noisy.clip(0, 1).astype(np.float32)
        parts[f"{part}_labels"] = labels
    np.savez(path, **parts, class_names=np.array(names))
