"""Plug-ins of every kind: found because their files are there, and refused where names clash."""

import os
import shutil
import subprocess
import sys

import pytest
from drive import run_stage
from plug_ins import ONE_OF_EACH, ONE_PHASE, forgotten_after, write_files
from test_finding_compute import CELL

from collateral.cli import main
from collateral.config.load import load
from collateral.contract.rows import Row
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import cell_numbers
from collateral.jobs.data import DataJob
from collateral.jobs.split import SplitJob
from collateral.plugins.find import (
    COMMAND,
    CONTROL,
    DATA,
    FINDING,
    FORGET,
    KINDS,
    METHOD,
    MODEL,
    STAGE,
    PluginError,
    add_plugins,
    find_folder_problems,
)
from collateral.plugins.modules import FOLDER
from collateral.results.dataset import Dataset, Labels
from collateral.results.files import read_json

# Kind, what makes one called `x`, one of the package.
PLACES = [
    (METHOD, "methods/{}/params.py", "ft"),
    (DATA, "data/{}.py", "digits"),
    (FORGET, "forget/{}.py", "class_part"),
    (MODEL, "models/{}.py", "resnet20"),
    (FINDING, "findings/{}/__init__.py", "accuracy"),
]
ids = [kind.folder for kind, _, _ in PLACES]


@pytest.fixture
def plugins(tmp_path):
    with forgotten_after():
        yield write_files(tmp_path / "plugins", ONE_OF_EACH)


def run(*arguments):
    main([str(argument) for argument in arguments])


def test_every_kind_that_can_be_plugged_in_is_tested():
    assert [kind for kind in KINDS if kind.folder] == [kind for kind, _, _ in PLACES]
    assert [kind for kind in KINDS if not kind.folder] == [CONTROL]


# Names.


@pytest.mark.parametrize(("kind", "file", "known"), PLACES, ids=ids)
def test_a_plug_in_with_the_name_of_one_in_the_package_is_refused(tmp_path, kind, file, known):
    folder = write_files(tmp_path, {file.format(known): ""})
    (said,) = find_folder_problems([folder])
    place = folder / kind.folder / known
    assert said == f"'{place}': a {kind.what} of the package has this name"


@pytest.mark.parametrize(("kind", "file", "known"), PLACES, ids=ids)
def test_two_plug_in_folders_with_a_file_of_one_name_are_refused(tmp_path, kind, file, known):
    one, two = (write_files(tmp_path / name, {file.format("mine"): ""}) for name in "ab")
    (said,) = find_folder_problems([one, two])
    assert said == (
        f"'{two / kind.folder / 'mine'}': a {kind.what} in '{one / kind.folder}' has this name"
    )


def test_a_method_beside_methods_and_one_in_it_may_not_have_one_name(tmp_path):
    files = {"mine/params.py": ONE_PHASE, "methods/mine/params.py": ONE_PHASE}
    (said,) = find_folder_problems([write_files(tmp_path, files)])
    assert said == f"'{tmp_path / 'methods/mine'}': a method in '{tmp_path}' has this name"


def test_a_method_may_not_have_the_name_of_a_control(tmp_path):
    (said,) = find_folder_problems([write_files(tmp_path, {"methods/original/params.py": ""})])
    assert said.endswith("/original': a control of the package has this name")


@pytest.mark.parametrize(
    "file", ["models/resnet.py", "data/forget.py", "findings/registry/__init__.py"]
)
def test_a_file_of_the_package_would_be_imported_in_its_place(tmp_path, file):
    (said,) = find_folder_problems([write_files(tmp_path, {file: ""})])
    assert said.endswith("of the package has this name")


def test_a_plug_in_with_the_name_of_the_shipped_plug_in_is_refused(tmp_path):
    (said,) = find_folder_problems([write_files(tmp_path, {"findings/paper/__init__.py": ""})])
    assert said.endswith("/paper': a finding of the package has this name")


def test_the_package_works_without_the_plug_in_that_ships(tmp_path):
    names = {*STAGE.names(), *COMMAND.names()}
    assert {"claims", "theory"} < names
    shutil.copytree(FOLDER, tmp_path / FOLDER.name, ignore=shutil.ignore_patterns("__p*"))
    code = "from collateral.cli import commands, main; "
    code += "from collateral.plugins.find import STAGE; print(*commands(), *STAGE.names());"
    code += "main(['list', 'findings'])"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-B", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    found, findings = done.stdout.split("\n", 1)
    assert names - {*found.split()} == {"claims", "theory"}
    assert "\nlocality " in findings and "\npaper " not in findings


def test_two_kinds_may_share_a_name(plugins):
    files = {file.format("same"): "" for _, file, _ in PLACES}
    assert list(find_folder_problems([write_files(plugins, files)])) == []


def test_whoever_adds_them_refuses_them(tmp_path):
    folder = write_files(tmp_path, {"models/mlp.py": ""})
    with pytest.raises(ValueError, match=r"plugins: .*/mlp': a model of the package has this name"):
        add_plugins([folder])
    with pytest.raises(SystemExit, match=r"collateral list: plugins: .*there is no such folder"):
        run("list", "models", "--plugins", tmp_path / "nowhere")


def test_names_that_begin_with_an_underscore_are_no_plug_ins(plugins):
    add_plugins([write_files(plugins, {"data/_help.py": "", "methods/_help/params.py": ""})])
    assert "_help" not in DATA.names() + METHOD.names()


def test_one_that_cannot_be_imported_ends_a_stage_in_one_line(tmp_path):
    folder = write_files(tmp_path, {"methods/broken/params.py": "\n1 / 0"})
    place = folder / "methods/broken/params.py"
    said = f"collateral list: plugins: '{place}', line 2: ZeroDivisionError: division by zero"
    with forgotten_after(), pytest.raises(SystemExit) as error:
        run("list", "methods", "broken", "--plugins", folder)
    assert str(error.value) == said


def test_an_error_in_what_a_plug_in_imports_is_told_by_the_line_that_imports_it(tmp_path):
    folder = write_files(tmp_path, {"data/own.py": "import json\njson.loads('[')\n"})
    with forgotten_after():
        add_plugins([folder])
        with pytest.raises(PluginError, match=r"/data/own.py', line 2: JSONDecodeError: Expecting"):
            DATA.load("own")


# From end to end.


def test_the_config_knows_all_of_them(plugins):
    benchmark = {
        "data": {"name": "stripes", "shade": 100},
        "model": "line",
        "seeds": [0],
        "cells": {"some": {"forget": {"kind": "every", "step": 5}}},
        "methods": {"mine": {"strength": 2}},
    }
    loaded = load({"benchmarks": {"b": benchmark}, "plugins": [str(plugins)]})
    assert loaded.benchmarks["b"].model == "line"


def test_a_data_set_and_a_forget_set_go_through_their_stages(plugins, tmp_path):
    add_plugins([plugins])
    options = {"shade": 100, "per_class": 10}
    run_stage(DataJob, tmp_path, name="stripes", options=options)
    assert Dataset.load(tmp_path / "dataset.npz").train_images.max() == 100
    assert Labels.load(tmp_path / "labels.npz").class_names == ("horizontal", "vertical")
    run_stage(SplitJob, tmp_path, cell="c", forget="every", params={"step": 5})
    found = read_json(tmp_path / "c/split.json")
    assert found["forget"] == [0, 5, 10, 15]
    assert found["chosen"] == {"kind": "every", "step": 5}


def test_a_model_is_built(plugins):
    torch = pytest.importorskip("torch")
    from collateral.contract.data import ImageInfo  # noqa: PLC0415
    from collateral.models._build import build_model  # noqa: PLC0415

    add_plugins([plugins])
    info = ImageInfo(num_classes=2, shape=(4, 4, 1), mean=(0.5,), std=(0.25,))
    assert build_model("line", info)(torch.zeros(3, 1, 4, 4)).shape == (3, 2)


def test_a_finding_of_a_plug_in_is_computed_and_its_metrics_are_known(plugins, tmp_path):
    add_plugins([plugins])
    cell = CELL.write(tmp_path / "b")
    rows, failed = cell_numbers(cell)
    right = (cell.result("retrain", 0).test.prediction == cell.labels.test).sum()
    assert Row("retrain", "right", right, 0) in rows
    assert failed == []
    assert find_metric("right").label == "Right"


# `collateral list`.


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("methods", "mine", ["Mine; reads: retained examples", "strength = 1.0: How much of it."]),
        ("data", "stripes", ["source: computed; licence", "shade = 200: Of the light stripes."]),
        ("forget", "every", ["Every so many examples.", "step = 10: How far apart they are."]),
        ("models", "line", ["A linear model on the pixels."]),
        ("findings", "anybody", ["Is anybody right", "has: numbers", "right, Right (examples): "]),
    ],
)
def test_each_is_listed_with_its_file_and_parameters(plugins, capsys, kind, name, said):
    run("list", kind, name, "--plugins", plugins)
    found = capsys.readouterr().out
    assert found.startswith(f"{name}, from {plugins / kind / name}")
    assert all(text in found for text in said)
