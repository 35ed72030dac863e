"""Plug-ins in a config: found, checked, and named when they are wrong."""

import json
import subprocess
import sys

import pytest
from plug_ins import ONE_PHASE, QUESTION, forgotten_after, write_files, write_method
from small_config import complaint, complaints, config

from collateral.config.load import load
from collateral.config.methods import resolve
from collateral.plan.grid import build_grid
from collateral.plugins.find import METHOD, add_plugins


@pytest.fixture
def plugins(tmp_path):
    with forgotten_after():
        yield write_method(tmp_path / "plugins", "mine")


def with_plugins(folder, **changes):
    return {**config(**changes), "plugins": [str(folder)]}


def test_a_folder_of_plug_ins_that_is_not_there_is_named(tmp_path):
    folder = tmp_path / "nowhere"
    assert complaints(with_plugins(folder)) == [f"plugins: '{folder}': there is no such folder"]


def test_a_plug_in_is_found_and_runs_in_every_cell(plugins):
    methods = {"mine": {"strength": [1, 2]}, "other": {"uses": "mine", "kind": "hard"}}
    cell = build_grid(load(with_plugins(plugins, methods=methods)))["b"].cells["digit_3-50"]
    assert list(cell.runs) == ["mine", "other", "original"]
    assert [run.label for run in cell.runs.values()] == ["Mine", "Mine (other)", "Original"]
    assert list(cell.tuned) == ["mine"]
    assert cell.runs["other"].params.kind == "hard"


def test_parameters_of_a_plug_in_are_checked(plugins):
    (line,) = complaints(with_plugins(plugins, methods={"mine": {"strenght": 1}}))
    assert line == (
        "benchmarks.b.methods.mine.strenght: unknown key (value 1); allowed: strength, kind; "
        "did you mean strength?"
    )


def test_all_plug_ins_with_a_name_that_is_taken_are_named(plugins):
    write_method(plugins, "ft")
    write_method(plugins, "original")
    assert complaints(with_plugins(plugins)) == [
        f"plugins: '{plugins / 'ft'}': a method of the package has this name",
        f"plugins: '{plugins / 'original'}': a control of the package has this name",
    ]


def test_an_empty_folder_of_plug_ins_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "hollow/methods/mine").mkdir(parents=True)
    expected = "methods/, data/, forget/, models/, findings/ or folders with a params.py"
    for folder in (tmp_path / "empty", tmp_path / "hollow"):
        (line,) = complaints(with_plugins(folder))
        assert line == f"plugins: '{folder}': no plug-in in it; expected {expected}"


def test_a_folder_that_lacks_what_makes_it_a_method_is_named(plugins):
    (plugins / "hollow").mkdir()
    (line,) = complaints(with_plugins(plugins, methods={"hollow": {}}))
    assert line.startswith("benchmarks.b.methods.hollow: no method 'hollow'; known: ")
    assert line.endswith(f"; '{plugins / 'hollow'}' has no params.py")


BROKEN = {
    "a syntax error": (ONE_PHASE + "class ???", "line 11: SyntaxError: invalid syntax"),
    "an error": ("\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
    "an import": ("import nothing_of_this_name", "line 1: ModuleNotFoundError: No module named"),
    "a null byte": ("\x00", "null bytes"),
    "a bad field": (ONE_PHASE.replace("ge=0", "ge='x'"), "Error: "),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_parameters_of_a_plug_in_that_cannot_be_imported_are_named_in_one_line(tmp_path, broken):
    params, said = BROKEN[broken]
    with forgotten_after():
        folder = write_method(tmp_path, "broken", params)
        (line,) = complaints(with_plugins(folder, methods={"ft": {}, "mine": {"uses": "broken"}}))
    assert line.startswith("plugins: ")
    assert said in line


def test_parameters_of_a_plug_in_that_no_benchmark_uses_may_be_broken(plugins):
    write_method(plugins, "draft", "class ???")
    assert load(with_plugins(plugins, methods={"mine": {}}))


@pytest.mark.parametrize(
    ("params", "lacking"),
    [
        ("", "Params"),
        (ONE_PHASE.replace("class Params", "class Parms"), "Params"),
        (ONE_PHASE.replace("label: ", "name: "), "Params.label"),
        (ONE_PHASE.replace("touches: ", "reads: "), "Params.touches"),
    ],
)
def test_a_plug_in_without_what_every_method_has_is_named(tmp_path, params, lacking):
    with forgotten_after():
        folder = write_method(tmp_path, "bare", params)
        (line,) = complaints(with_plugins(folder, methods={"bare": {}}))
    place = folder / "bare/params.py"
    assert line == f"plugins: '{place}': has no {lacking}, which every method has"


@pytest.mark.parametrize(
    "touches", ['frozenset({"retain", "forget image"})', '"retain"', "None", '[["retain"]]']
)
def test_an_unknown_kind_of_data_in_touches_is_named(tmp_path, touches):
    params = ONE_PHASE.replace('frozenset({"retain"})', touches)
    with forgotten_after():
        folder = write_method(tmp_path, "greedy", params)
        (line,) = complaints(with_plugins(folder, methods={"greedy": {}}))
    assert line.startswith(f"plugins: '{folder / 'greedy/params.py'}': Params.touches: ")
    assert line.endswith("should be a frozenset of some of retain, forget images, forget labels")


@pytest.mark.parametrize(
    ("file", "key", "value", "said"),
    [
        ("data/own.py", "data", {"name": "own"}, "has no INFO, which every data set has"),
        (
            "forget/own.py",
            "cells",
            {"c": {"forget": {"kind": "own"}}},
            "has no Params, which every",
        ),
        ("findings/own/__init__.py", "track", [], None),
    ],
)
def test_plug_ins_of_other_kinds_are_looked_at_too(tmp_path, file, key, value, said):
    with forgotten_after():
        folder = write_files(tmp_path / "a", {file: ""})
        raw = with_plugins(folder, **{key: value})
        if said is None:
            assert load(raw)
        else:
            assert said in complaints(raw)[0]
    with forgotten_after():
        folder = write_files(tmp_path / "b", {file.replace("own", "other"): "1 / 0"})
        raw = json.loads(
            json.dumps(with_plugins(folder, **{key: value})).replace('"own"', '"other"')
        )
        assert complaints(raw)[0].endswith("line 1: ZeroDivisionError: division by zero")


def asking(metric: str) -> str:
    """Return the __init__.py of a finding with this metric."""
    return QUESTION.replace('"right"', f'"{metric}"')


def test_a_metric_of_a_name_that_a_finding_of_the_package_has_is_named(tmp_path):
    with forgotten_after():
        folder = write_files(tmp_path, {"findings/mine/__init__.py": asking("ua")})
        (line,) = complaints(with_plugins(folder))
    place = folder / "findings/mine/__init__.py"
    said = "the finding accuracy has a metric of this name; rename it"
    assert line == f"plugins: '{place}': METRICS: 'ua': {said}"


def test_a_metric_of_two_plug_ins_is_named(tmp_path):
    files = {f"{a}/findings/of_{a}/__init__.py": asking("mine") for a in "ab"}
    with forgotten_after():
        write_files(tmp_path, files)
        raw = with_plugins(tmp_path / "a")
        raw["plugins"] = [str(tmp_path / "a"), str(tmp_path / "b")]
        (clash,) = complaints(raw)
    assert str(tmp_path / "b/findings/of_b/__init__.py") in clash
    assert "METRICS: 'mine': the finding of_a has a metric of this name" in clash


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"examples")', '"percent")', "unit: 'percent' is not allowed; allowed: ['%', 'points', "),
        (
            '"examples")',
            '"%", "higher")',
            "ideal: 'higher' is not allowed; allowed: [None, ",
        ),
        ("METRICS = {", "METRICS = [1] or {", "METRICS: should be a dictionary of Metric by name"),
    ],
)
def test_a_metric_that_nobody_can_show_is_named_before_any_job(tmp_path, old, new, said):
    with forgotten_after():
        text = QUESTION.replace(old, new)
        assert text != QUESTION
        folder = write_files(tmp_path, {"findings/mine/__init__.py": text})
        (line,) = complaints(with_plugins(folder))
    assert str(folder / "findings/mine/__init__.py") in line
    assert said in line


def test_names_of_metrics_are_compared_without_numpy(tmp_path):
    folder = write_files(tmp_path, {"findings/mine/__init__.py": asking("mine")})
    code = (
        "import json, sys; from collateral.config.load import load\n"
        "load(json.loads(sys.argv[1])); print(*sys.modules)"
    )
    words = [sys.executable, "-c", code, json.dumps(with_plugins(folder))]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert {"collateral.findings.mine", "collateral.findings.accuracy"} <= {*loaded}
    assert not {"numpy", "pandas", "torch"} & {*loaded}


def test_a_plug_in_is_unknown_where_its_folder_is_not_named(plugins):
    assert complaint(methods={"mine": {}}).startswith("methods.mine: no method 'mine'; known: ")


def test_plug_ins_of_one_test_are_unknown_in_the_next():
    assert "mine" not in METHOD.names()


def test_a_value_without_a_default_has_no_default_trial(plugins):
    required = ONE_PHASE.replace("Field(1.0,", "Field(")
    add_plugins([write_method(plugins, "required", required)])
    spec = resolve("required", {"strength": [1, 2]}, ("methods", "required"))
    assert spec.default_trial() is None
