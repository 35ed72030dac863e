"""The settings of configs/suite: they load and plan, state their hours, and stand in the docs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import suite
from plug_ins import forgotten_after
from test_defaults import has

from collateral.config.load import load
from collateral.config.yaml import read_file
from collateral.plan.estimate import SHIPPED, estimate
from collateral.plugins.find import add_plugins, params_class

pytest.importorskip("PIL")
NAMES = suite.names()
PAGE = Path(__file__).parents[2] / "docs/settings.md"
# Rows of docs/published.csv that a benchmark of a setting follows: method, its name there, source.
FOLLOWED = {
    ("cifar10", "cifar10_ssd"): [
        ("ft", "ft", "SSD's code"),
        ("rl", "amnesiac", "SSD's code"),
        ("ssd", "ssd", "authors' code"),
        ("unsir", "unsir", "SSD's code"),
    ],
    ("cifar20", "cifar20"): [
        ("ft", "ft", "SSD's code"),
        ("rl", "amnesiac", "SSD's code"),
        ("ssd", "ssd", "authors' code"),
        ("unsir", "unsir", "SSD's code", "SSD's code, CIFAR-20 subclass"),
    ],
    ("faces", "pins"): [
        ("ssd", "ssd", "authors' code", "authors' code, Pins"),
        ("unsir", "unsir", "SSD's code"),
    ],
    ("faces", "mufac"): [("ssd", "ssd", "authors' code")],
    ("vit", "vit_small"): [("ssd", "ssd", "authors' code", "authors' code, ViT, random")],
    ("imagenet100", "imagenet100"): [("l1_sparse", "l1_sparse", "DEL"), ("ft", "ft", "DEL")],
}
OWN_NOISE = {"noises", "copies"}  # the heads say so


@pytest.fixture(autouse=True)
def forget_plugins():
    with forgotten_after():
        yield


def test_there_are_eleven_settings():
    assert len(NAMES) == 11


@pytest.mark.parametrize("name", NAMES)
def test_the_head_and_the_page_state_the_estimated_hours(name):
    hours = suite.in_words(suite.estimate_hours(name))
    assert suite.stated_hours(name) == hours
    assert f"| `{name}.yaml` | {hours.split()[0]} |" in PAGE.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_miniature_plans_with_the_files_that_are_made(name, tmp_path, monkeypatch):
    """All runs of the setting are planned, on few images of the official layout."""
    pytest.importorskip("pyarrow")
    # A pretended file is enough for a plan; the slow tests make real weights.
    monkeypatch.setattr(suite, "make_weights", lambda path, _: touch(path))
    config = suite.make_miniature(name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    small = json.loads(config.read_text())
    add_plugins([Path(folder) for folder in small.get("plugins", [])])
    found = estimate(load(small), SHIPPED["cpu"], 1)
    whole = read_file(suite.SUITE / f"{name}.yaml")["benchmarks"]
    assert [work.benchmark.name for work in found.workloads] == [*whole]
    for work in found.workloads:
        # For torchvision the plan has the official number of images, whatever files there are.
        assert 40 <= work.size.num_train <= (3680 if name == "clip" else 1200)
        assert {*work.benchmark.config.methods} == {*whole[work.benchmark.name]["methods"]}
        for cell in work.benchmark.cells.values():
            assert 0 < work.sizes(cell).forget < work.sizes(cell).retain
    assert found.of_rule["unlearn"].jobs > 0


@pytest.mark.parametrize(
    ("name", "benchmark", "method", "key", "sources"),
    [(*where, *row[:2], row[2:]) for where, rows in FOLLOWED.items() for row in rows],
)
def test_a_setting_has_the_published_values_it_names(name, benchmark, method, key, sources):
    chosen = read_file(suite.SUITE / f"{name}.yaml")["benchmarks"][benchmark]["methods"][key]
    kind = params_class(method)
    params = kind.model_validate({k: v for k, v in chosen.items() if k != "uses"})
    said = {k: v for source in sources for k, v in kind.published[source].items()}
    for field in said.keys() - OWN_NOISE:
        assert has(said[field], getattr(params, field)), field


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_what_two_benchmarks_share_is_made_small_once():
    small = suite.shrink(read_file(suite.SUITE / "imagenet100.yaml"))
    sizes = [(b["data"]["size"], b["data"]["crop"]) for b in small["benchmarks"].values()]
    assert sizes == [(32, 28), (20, 16)]
    assert {b["model"] for b in small["benchmarks"].values()} == {"timm/resnet10t"}


def test_parts_of_a_method_are_small_too():
    small = suite.shrink(read_file(suite.SUITE / "cifar10.yaml"))["benchmarks"]
    parts = small["cifar10_rum"]["methods"]["rum_neggrad"]
    assert [parts[part]["epochs"] for part in ("low", "mid", "high")] == [2, 2, 2]
    assert parts["high"]["lr"] == 0.001
    assert small["cifar10_sfron"]["methods"]["sfron"]["steps"] == 4


def test_images_of_cifar_20_have_the_labels_of_both_kinds(tmp_path):
    suite.make_miniature("cifar20", tmp_path / "made")
    with np.load(tmp_path / "made/data/cifar20.npz") as data:
        fine, coarse = data["fine"], data["train_labels"]
        rockets = data["class_names"][coarse[fine == "rocket"]]
        assert {*rockets.tolist()} == {"vehicles_2"} and len(rockets) == 4
        assert data["test_fine"].shape == data["test_labels"].shape == (100,)


def test_the_recipe_in_the_docs_leads_to_the_model_of_clip():
    guide = (PAGE.parent / "your-data.md").read_text().partition("## CLIP")[2]
    link = re.search(r"\]\((\S+\.py)\)", guide)
    assert link is not None
    assert (PAGE.parent / link[1]).samefile(suite.SUITE / "clip/models/clip.py")


def test_an_unknown_setting_is_refused(capsys):
    with pytest.raises(SystemExit):
        suite.main(["no-such-setting"])
    assert "no-such-setting" in capsys.readouterr().err
    assert not (suite.ROOT / "build/suite/no-such-setting").exists()
