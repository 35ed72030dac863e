"""What would end a job is said before the first one, as far as the plan can tell."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from plug_ins import LINE, NUMBERS, ONE_PHASE, QUESTION, forgotten_after, write_files
from safetensors.numpy import save_file
from small_grid import grid

from collateral.config.errors import ConfigError
from collateral.plan import fingerprint
from collateral.plan.preflight import check_plan
from collateral.plugins import check
from collateral.plugins.modules import find_module

FOUND = "def unlearn(model, task, params, run): ...\n"
ONE_RUN = {"classes": ["digit_3"], "fractions": [0.5], "seeds": [4]}


def complaints(benchmark, **options) -> list[str]:
    """Return the lines that are said against a plan."""
    with pytest.raises(ConfigError) as error:
        check_plan({"b": benchmark}, **options)
    return str(error.value).splitlines()


# Weights of the user's own.


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": {"weights": "mine.pt"}}, "base.weights: 'mine.pt'"),
        ({"base": {"weights": "mine-{seed}.pt"}, "seeds": [4]}, "base.weights: 'mine-4.pt'"),
        ({"init": {"weights": "mine.pt"}}, "init.weights: 'mine.pt'"),
        ({"retrain": {"weights": "{cell}.pt"}}, "retrain.weights: 'digit_3-50.pt'"),
        ({"given": {"its": {"weights": "{cell}.pt"}}}, "given.its.weights: 'digit_3-50.pt'"),
    ],
)
def test_weights_that_are_missing_are_named_unless_all_is_trained(
    tmp_path, monkeypatch, changes, said
):
    monkeypatch.chdir(tmp_path)
    benchmark = grid(classes=["digit_3"], fractions=[0.5], **{"seeds": [4], **changes})
    (line,) = complaints(benchmark)
    assert line == f"benchmarks.b.{said}: there is no such file{looked_for(tmp_path, said)}"
    for place in ("base/seed-4", "digit_3-50/seed-4/retrain", "digit_3-50/seed-4/its"):
        (tmp_path / "results/b" / place).mkdir(parents=True)
        (tmp_path / "results/b" / place / "outputs.npz").touch()
    check_plan({"b": benchmark})


def looked_for(folder, said):
    """Return the end of a message on a file that is missing: where it was looked for."""
    name = said.split("'")[1]
    return f"; paths start at the working folder: looked for '{folder / name}'"


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_weights_to_start_from_are_looked_for_where_shadow_models_start_from_them(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    results, changes = tmp_path / "results/b", {"shadows": {"count": 6}, **ONE_RUN}
    benchmark = grid(**changes, init={"weights": "mine.pt"})
    touch(results / "base/seed-4/outputs.npz")
    touch(results / "digit_3-50/seed-4/retrain/outputs.npz")
    (line,) = complaints(benchmark)
    assert line.startswith("benchmarks.b.init.weights: 'mine.pt': there is no such file; paths ")
    for member in range(6):
        touch(results / f"shadows/member-{member}/margins.npz")
    check_plan({"b": benchmark})


MINE = {"weights": "mine.safetensors"}


@pytest.mark.skipif(find_spec("torch") is None, reason="no torch: nobody can compare")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": MINE}, "base.weights: 'mine.safetensors' does not fit the model; missing: "),
        ({"init": MINE}, "init.weights: 'mine.safetensors' does not fit the model; missing: "),
        (
            {"retrain": {**MINE, "rename": {"net.": ""}}},
            "retrain.weights: rename: 'net.': no name in the file begins so; the first is 'fc.",
        ),
        (
            {"given": {"its": {**MINE, "rename": {"fc.": "", "other.": ""}}}},
            "given.its.weights: rename: 'fc.bias' and 'other.bias' would both become 'bias'",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named_before_any_job(tmp_path, monkeypatch, changes, said):
    monkeypatch.chdir(tmp_path)
    names = ("fc.weight", "fc.bias", "other.bias")
    save_file({name: np.zeros(2, np.float32) for name in names}, "mine.safetensors")
    benchmark, before = grid(model="mlp", **ONE_RUN, **changes), {*sys.modules}
    (line,) = complaints(benchmark)
    assert line.startswith(f"benchmarks.b.{said}")
    assert not any(name.startswith("torch") for name in {*sys.modules} - before)
    # Neither the jobs of a run ask again, nor those who only draw.
    check_plan({"b": benchmark}, is_first=False)
    for place in ("base/seed-4", "digit_3-50/seed-4/retrain", "digit_3-50/seed-4/its"):
        touch(tmp_path / "results/b" / place / "outputs.npz")
    check_plan({"b": benchmark})


# More than is retained: of 1,347 digits, 137 are threes.


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"methods": {"ltd": {"k": 1280}}}, "methods.ltd.k: 1280: only 1279"),
        ({"methods": {"ltd": {"k": [5, 2000, 3000]}}}, "methods.ltd.k: 3000: only 1279"),
        ({"methods": {"ltd": {"k_each": 1280}}}, "methods.ltd.k_each: 1280: only 1279"),
        ({"methods": {"neighbor": {"k": 10**8}}}, "methods.neighbor.k: 100000000: only 1279"),
        (
            {
                "methods": {"near": {"uses": "neighbor", "k": 5}},
                "sweeps": {"size": {"method": "near", "vary": {"k": [3, 5, 1280]}}},
            },
            "sweeps.size.vary.k: 1280: only 1279",
        ),
        (
            {"methods": {"ltd": {}}, "support_size": {"k": [10, 1280, 1290]}},
            "support_size.k: 1280: only 1279",
        ),
    ],
)
def test_more_examples_than_are_retained_are_told_how_many_there_are(changes, said):
    (line,) = complaints(grid(classes=["digit_3"], fractions=[0.5], **changes))
    assert line == f"benchmarks.b.{said} examples are retained in digit_3-50"


def test_more_examples_than_a_shadow_model_retains_are_told_how_many_these_are():
    """Half of 1279 are 640, and at worst 71 fewer; a sweep, which they are not asked, may."""
    sweeps = {"size": {"method": "ltd", "vary": {"k": [5, 1000]}}}
    changes = {"classes": ["digit_3"], "fractions": [0.5], "sweeps": sweeps, "shadows": {}}
    check_plan({"b": grid(**changes, methods={"ltd": {"k": 560}})})
    (line,) = complaints(grid(**changes, methods={"ltd": {"k": 600}}))
    assert line == (
        "benchmarks.b.methods.ltd.k: 600: a shadow model may retain only 567 examples in "
        "digit_3-50; ask for fewer, or leave `shadows` out"
    )


def test_what_one_cell_asks_for_is_named_there():
    forget = {"kind": "class_part", "class": "digit_3", "fraction": 1}
    cells = {"all": {"forget": forget, "methods": {"ltd": {"k": 1211}}}}
    (line,) = complaints(grid(cells=cells, methods={"ltd": {"k": 3}}))
    assert line == (
        "benchmarks.b.cells.all.methods.ltd.k: 1211: only 1210 examples are retained in all"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"methods": {"ltd": {"k": 1279}}},
        {"methods": {"ltd": {"k": 5000, "min_similarity": 0.5}}},
        {"methods": {"ltd": {"k": "auto"}}},
        {"methods": {"ltd": {}}, "support_size": {"k": [10, 1000, 5000]}},
        # The paper's 1000 where a method is not told: as many as there are.
        {"methods": {"ltd": {}, "neighbor": {}}, "data": {"name": "digits", "per_class": 20}},
    ],
)
def test_a_k_of_all_retained_examples_is_allowed(changes):
    check_plan({"b": grid(**{"classes": ["digit_3"], "fractions": [0.5], **changes})})


def test_where_the_files_stayed_behind_any_number_may_be_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = {"name": "arrays", "path": "no.npz"}
    benchmark = grid(data=data, methods={"ltd": {"k": 10**8}}, **ONE_RUN)
    (complaint,) = complaints(benchmark)
    assert complaint.startswith("benchmarks.b.data.path: no.npz: no .npz file of numpy.savez")
    touch(tmp_path / "results/b/labels.npz")
    check_plan({"b": benchmark})


# The user's own data, by their files' heads and labels.


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the options of a file with 20 grey cats and 4 dogs to train on."""
    monkeypatch.chdir(tmp_path)
    labels = np.array([0] * 20 + [1] * 4)
    images = np.zeros((24, 8, 8), np.uint8)
    arrays = {"train_images": images, "train_labels": labels, "class_names": ["cat", "dog"]}
    np.savez("own.npz", test_images=images, test_labels=labels, **arrays)
    return {"name": "arrays", "path": "own.npz"}


RED = {"kind": "random_part", "fraction": 0.01}
BOTH = {"kind": "classes_part", "classes": {"cat": 0.5, "dog": 0.1}}
TYPO = {"kind": "class_part", "class": "dgo", "fraction": 0.5}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classes": ["cta"]}, "classes: no class 'cta'; known: cat, dog; did you mean cat?"),
        ({"classes": [2]}, "classes: no class 2; there are 2, 0 to 1"),
        (
            {"classes": ["dog"], "fractions": [0.2]},
            "fractions: 0.2 of the 4 train examples of 'dog' is no example; expected at least one",
        ),
        (
            {"cells": {"red": {"forget": RED}}},
            "cells.red.forget.fraction: 0.01 of the 24 train examples is no example; expected at "
            "least one",
        ),
        (
            {"cells": {"both": {"forget": BOTH}}},
            "cells.both.forget.classes: 0.1 of the 4 train examples of 'dog' is no example; "
            "expected at least one",
        ),
        (
            {"cells": {"typo": {"forget": TYPO}}},
            "cells.typo.forget.class: no class 'dgo'; known: cat, dog; did you mean dog?",
        ),
        (
            {"cells": {"listed": {"forget": {"kind": "index_file", "path": "listed.txt"}}}},
            "cells.listed.forget.path: 'listed.txt': 24; expected different indices of train "
            "examples, 0 to 23",
        ),
    ],
)
def test_a_forget_set_that_the_users_data_have_not_is_named(own, changes, said):
    Path("listed.txt").write_text("3\n24\n")
    right = {"classes": ["cat"], "fractions": [0.5], "seeds": [4]}
    check_plan({"b": grid(data=own, **right)})
    assert complaints(grid(data=own, **{**right, **changes})) == [f"benchmarks.b.{said}"]


def grade(**forget):
    return {"classes": [], "fractions": [], "cells": {"a": {"forget": forget}}}


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classes": [2]}, "classes: {2}"),
        ({"classes": [3]}, "classes: {3}"),
        ({"data": {"classes": [2, 1]}, "classes": ["2"]}, "data.classes: {2}"),
        (grade(kind="class_part", **{"class": 1}, fraction=0.5), "cells.a.forget.class: {1}"),
        (grade(kind="hardest", **{"class": 2}, share=0.5), "cells.a.forget.class: {2}"),
        (grade(kind="classes_part", classes={1: 0.5, "3": 0.2}), "cells.a.forget.classes: {1}"),
        ({"groups": ["sex"], "positive": 2}, "positive: {2}"),
    ],
)
def test_a_number_that_is_the_name_of_another_class_is_refused(own, changes, said, exists):
    """Grades are folders 1, 2 and 3: index 2 is the class 3."""
    with np.load("own.npz") as file:
        labels, sex = np.arange(24) % 3, {"sex": np.arange(24) % 2}
        np.savez(
            "own.npz", **{**file, "train_labels": labels, "class_names": ["1", "2", "3"]}, **sex
        )
    right = {"classes": ["2"], "fractions": [0.5], "seeds": [4], "groups": ["sex"], "positive": "2"}
    check_plan({"b": grid(data=own, **right)})
    if exists:  # such as that of "2", where the config now says 2
        for cell in ("2-50", "3-50", "a"):
            write_files(Path("results/b") / cell, {"split.json": "{}"})
    by_index = {1: "class '2'", 2: "class '3'", 3: "no class"}
    (number,) = (number for number in by_index if f"{{{number}}}" in said)
    reading = (
        f"{number}: by name class '{number}', by index (from 0) {by_index[number]}; put the name "
        "of the class that you mean in quotes"
    )
    changes = {**changes, "data": {**own, **changes.get("data", {})}}
    (line, *_) = complaints(grid(**{**right, **changes}))
    assert line == f"benchmarks.b.{said.replace(f'{{{number}}}', reading)}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mean": [0.1, 0.2], "std": [1, 1]}, "data.mean: [0.1, 0.2]: 2 numbers; expected 1, one"),
        ({"classes": ["cat", "dgo"]}, "data.classes: no class 'dgo'; known: cat, dog; did you"),
        ({"path": "no.npz"}, "data.path: no.npz: no .npz file"),
        ({"test_path": "own.npz"}, "data.path: cannot read own.npz: arrays: test_images, "),
        ({"path": "wrong.npz"}, "data.path: wrong.npz: test_labels: -5; expected 0"),
        ({"name": "parquet", "path": "no"}, "data.path: no .parquet file at 'no'"),
    ],
)
def test_options_that_do_not_fit_the_users_data_are_named(own, changes, said):
    with np.load("own.npz") as file:
        np.savez("wrong.npz", **{**file, "test_labels": file["test_labels"] - 5})
    benchmark = grid(data={**own, **changes}, classes=["cat"], fractions=[0.5], seeds=[4])
    (line,) = complaints(benchmark)
    assert line.startswith(f"benchmarks.b.{said}")


# Files.


def test_a_list_of_indices_that_is_missing_is_named_with_the_place_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = {"mine": {"forget": {"kind": "index_file", "path": "nowhere.txt"}}}
    (line,) = complaints(grid(cells=cells))
    said = "benchmarks.b.cells.mine.forget.path: 'nowhere.txt'"
    assert line == f"{said}: there is no such file{looked_for(tmp_path, said)}"


def test_of_an_absolute_path_the_place_is_not_said_again(tmp_path):
    cells = {"mine": {"forget": {"kind": "index_file", "path": str(tmp_path / "nowhere.txt")}}}
    (line,) = complaints(grid(cells=cells))
    assert line.endswith("nowhere.txt': there is no such file")


# Code of plug-ins.


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """Return a function: what is said of a method that is plugged in with this code."""
    monkeypatch.chdir(tmp_path)
    if not find_spec("torch"):
        pytest.skip("no torch: packages are not looked for")

    def look(method, files=None, changes=None, **options):
        find_module.cache_clear()
        monkeypatch.setattr(fingerprint, "_known", {})
        written = {"mine/params.py": ONE_PHASE, **(files or {})}
        written |= {"mine/method.py": method} if method is not None else {}
        folder = write_files(tmp_path / "plugins", written)
        benchmark = grid(folder, methods={"mine": {}}, **(changes or {}))
        try:
            check_plan({"b": benchmark}, **options)
        except ConfigError as error:
            return str(error).replace(str(tmp_path / "plugins"), "...")
        return ""

    with forgotten_after():
        yield look
    find_module.cache_clear()


def test_a_method_without_method_py_is_named(plugged):
    assert plugged(None) == "plugins: '.../mine': has no method.py"


def test_a_method_with_a_syntax_error_is_named_with_its_line(plugged):
    said = plugged("\ndef unlearn(:\n")
    assert said == "plugins: '.../mine/method.py', line 2: SyntaxError: invalid syntax"


def test_a_method_without_unlearn_is_named(plugged):
    said = plugged("def unlern(model): ...")
    assert said == "plugins: '.../mine/method.py': has no function unlearn"


@pytest.mark.parametrize(
    "code", [FOUND, "unlearn = lambda *a: 0", "from collateral.methods.ft.method import unlearn"]
)
def test_a_method_whose_unlearn_is_there_is_right(plugged, code):
    assert plugged(code) == ""


ABSENT = "the package nothing_of_this_name is not installed"


@pytest.mark.parametrize(
    "code",
    [
        "import nothing_of_this_name",
        "import torch, nothing_of_this_name.inner as n",
        "from nothing_of_this_name.inner import n",
    ],
)
def test_a_package_that_a_method_imports_and_is_not_there_is_named(plugged, code):
    line = next(i for i, text in enumerate(code.splitlines(), 1) if "nothing" in text)
    assert plugged(f"{code}\n{FOUND}") == f"plugins: '.../mine/method.py', line {line}: {ABSENT}"


@pytest.mark.parametrize(
    "code",
    [
        "import torch, numpy.linalg, json, collateral.training.run",
        "try:\n    import nothing_of_this_name\nexcept ImportError: ...",
        "if TYPE_CHECKING:\n    import nothing_of_this_name",
        "def later():\n    import nothing_of_this_name",
    ],
)
def test_packages_that_are_there_or_may_lack_are_right(plugged, code):
    assert plugged(f"{code}\n{FOUND}") == ""


def test_torch_is_not_imported_to_find_out(plugged):
    before = {*sys.modules}
    assert plugged(f"import torch.nonsense\n{FOUND}") == ""
    assert not any(name.startswith("torch") for name in {*sys.modules} - before)


@pytest.mark.parametrize(
    "how", ["from collateral.methods.mine.help import x", "from .help import x"]
)
def test_files_that_a_method_imports_are_looked_at_too(plugged, how):
    said = plugged(f"{how}\n{FOUND}", {"mine/help.py": "x = 1\nimport nothing_of_this_name"})
    assert said == f"plugins: '.../mine/help.py', line 2: {ABSENT}"


def test_a_module_of_the_package_that_is_not_there_is_named(plugged):
    said = plugged(f"import json\nfrom collateral.trainings import run\n{FOUND}")
    assert said.endswith("/method.py', line 2: there is no module collateral.trainings")
    inside = FOUND.replace("...", "import collateral.trainings")
    assert "no module collateral.trainings" in plugged(inside)


def test_packages_do_not_matter_where_no_job_of_the_method_runs(plugged, tmp_path):
    code, cell = f"import nothing_of_this_name\n{FOUND}", tmp_path / "results/b/digit_3-50"
    assert plugged(code, changes=ONE_RUN, runs_here=False) == ""
    assert ABSENT in plugged(code, changes=ONE_RUN)
    touch(cell / "seed-4/mine/outputs.npz")
    assert plugged(code, changes=ONE_RUN) == ""
    assert ABSENT in plugged(code, changes={**ONE_RUN, "shadows": {"count": 6}})
    touch(cell / "exposure/mine/exposure.npz")
    assert plugged(code, changes={**ONE_RUN, "shadows": {"count": 6}}) == ""


def test_without_torch_figures_are_drawn_from_the_cache_of_any_method(plugged, monkeypatch):
    monkeypatch.setattr(check, "find_spec", lambda name: None)
    assert plugged(f"import torch, nothing_of_this_name\n{FOUND}") == ""


def test_a_model_is_looked_at_too(tmp_path):
    with forgotten_after():
        files = {"models/line.py": LINE.replace("def build", "def biuld"), "models/right.py": LINE}
        folder = write_files(tmp_path, files)
        (line,) = complaints(grid(folder, model="line"))
        assert line == f"plugins: '{folder / 'models/line.py'}': has no function build"
        assert complaints(grid(folder, methods={"ltd": {"teacher": "line"}})) == [line]
        check_plan({"b": grid(folder, model="right")})
    find_module.cache_clear()


def test_a_finding_that_cannot_be_read_is_named(tmp_path):
    files = {"findings/who/__init__.py": QUESTION, "findings/who/numbers.py": NUMBERS}
    with forgotten_after():
        folder = write_files(tmp_path, {**files, "findings/who/views.py": "1 +"})
        (line,) = complaints(grid(folder))
    place = folder / "findings/who/views.py"
    assert line == f"plugins: '{place}', line 1: SyntaxError: invalid syntax"
    find_module.cache_clear()


# Precision.


def test_a_precision_that_this_machine_lacks_is_named_if_jobs_run_here(tmp_path, monkeypatch):
    """No CPU trains in float16, and not all in bfloat16; a login node says nothing of others."""
    if pytest.importorskip("collateral.training.devices").available_device() != "cpu":
        pytest.skip("needs a machine without a GPU")
    monkeypatch.chdir(tmp_path)
    methods = {"ft": {}, "rl": {"precision": "bfloat16"}}
    benchmark = grid(**ONE_RUN, base={"precision": "float16"}, methods=methods)
    check_plan({"b": benchmark})
    first, *others = complaints(benchmark, on_this_machine=True)
    assert first == (
        "benchmarks.b.base.precision: float16: not on a device of type cpu; use float32"
    )
    if others:
        assert others[0].startswith("benchmarks.b.methods.rl.precision: bfloat16: this CPU has")
    for run in ("retrain", "ft", "rl"):
        (tmp_path / f"results/b/digit_3-50/seed-4/{run}").mkdir(parents=True)
        (tmp_path / f"results/b/digit_3-50/seed-4/{run}/outputs.npz").touch()
    (tmp_path / "results/b/base/seed-4").mkdir(parents=True)
    (tmp_path / "results/b/base/seed-4/outputs.npz").touch()
    check_plan({"b": benchmark}, on_this_machine=True)
