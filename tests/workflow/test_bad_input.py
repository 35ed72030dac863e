"""What is wrong is said before any training, in one message, and nothing is written."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import REPOSITORY, Project, copy_project, read_yaml
from safetensors.numpy import save_file

pytestmark = pytest.mark.workflow

# Dry runs of the smoke experiment, one thing changed in the text of its config: what is said.
SMOKE = (REPOSITORY / "configs/smoke.yaml").read_text()
AT = "benchmarks.smoke"
WRONG = {
    # What Snakemake's own reader loses, blames on tabs, or ends at with a traceback.
    "a key twice": (
        "model: resnet8",
        "model: resnet8\n    model: mlp",
        'line 7: while constructing a mapping: found duplicate key "model"',
    ),
    "code": ("benchmarks:", "__use_yte__: true\nbenchmarks:", "__use_yte__: not allowed"),
    # Numbers.
    "a yes": ("[0, 1]", "[true]", "{at}.seeds[0]: True: should be a number"),
    "a seed": (
        "[0, 1]",
        f"[{10**29}]",
        f"{{at}}.seeds[0]: {10**29}: should be less than 4294967296",
    ),
    "epochs": ("epochs: 8", f"epochs: {10**12}", "should be less than or equal to 1000000"),
    "k": ("k: 60", "k: 6000", "{at}.methods.ltd.k: 6000: only 210 examples are retained in"),
    "a value of a sweep": ("beta: [1, 2]", "k: [1, 211]", "vary.k: 211: only 210 examples are"),
    "a leading zero": ("[0, 1]", "[010]", "line 8: 010: a number with a leading zero; put"),
    "yes": ("epochs: 8", "epochs: 8, augment: yes", "augment: 'yes': should be true or false"),
    "a fraction": ("fractions: [0.5]", "fractions: [0.001]", "{at}.fractions: 0.001 of the"),
    "a mean": (
        "per_class: 60",
        "mean: [0, 1], std: [1, 1]",
        "{at}.data.mean: [0.0, 1.0]: 2 numbers",
    ),
    "no effect": (
        "epochs: 8",
        "epochs: 8, validation_share: 0.2",
        "validation_share: without effect",
    ),
    # Names and paths.
    "a model of timm": ("model: resnet8", "model: resnet18", "did you mean timm/resnet18?"),
    "no arrays": (
        "name: digits",
        "name: arrays, path: no.npz",
        "data.path: no.npz: no .npz file of numpy.savez there",
    ),
    "no parquet": (
        "name: digits",
        "name: parquet, path: no",
        "data.path: no .parquet file at 'no'",
    ),
    "a way out": ("smoke:", "../smoke:", "benchmarks.../smoke: not usable as a folder's name"),
    "a class": ("classes: [digit_3]", "classes: [数字]", "{at}.classes[0]: no class '数字'"),
    "a home": ("name: digits", "name: mnist, root: ~no-one/x", "root: '~no-one/x': not a path: "),
    # Plug-ins.
    "an empty folder": ("methods:", "methods:", "plugins: 'mine': no plug-in in it; expected"),
    "parameters that raise": ("methods:", "methods:\n      mine:", "line 2: ZeroDivisionError"),
    "a syntax error": ("methods:", "methods:\n      mine:", "method.py', line 3: SyntaxError"),
    "no method.py": (
        "methods:",
        "methods:\n      mine:",
        "/mine/mine': has no method.py",
    ),
    "no such package": (
        "methods:",
        "methods:\n      mine:",
        "the package no_such is not installed",
    ),
}
# Cases that every test run tries; the others are slow, and cases of tests/unit/bad_configs too.
FEW = ("a key twice", "k", "no such package")
PARAMS = """
from typing import ClassVar
from collateral.contract.params import MethodParams


class Params(MethodParams):
    label: ClassVar[str] = "Mine"
    touches: ClassVar[frozenset[str]] = frozenset()
"""
PLUG_INS = {
    "an empty folder": {},
    "parameters that raise": {"params.py": "\n1 / 0", "method.py": ""},
    "a syntax error": {"params.py": PARAMS, "method.py": "\n\ndef unlearn(:"},
    "no method.py": {"params.py": PARAMS},
    "no such package": {"params.py": PARAMS, "method.py": "import no_such\ndef unlearn(): ..."},
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A checkout for dry runs: nothing is written in it."""
    return copy_project(tmp_path_factory.mktemp("untouched"))


def write_plug_in(folder: Path, files: dict[str, str]) -> None:
    """Let a folder of plug-ins have one method of these files, or be empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, code in files.items():
        (folder / "mine").mkdir(exist_ok=True)
        (folder / "mine" / name).write_text(code)


@pytest.mark.parametrize(
    "wrong", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in WRONG]
)
def test_a_dry_run_reports_each_error_in_one_line(untouched, wrong):
    old, new, said = WRONG[wrong]
    assert SMOKE.count(old) >= 1
    text = SMOKE.replace(old, new, 1)
    if wrong in PLUG_INS:
        write_plug_in(untouched.folder / "mine", PLUG_INS[wrong])
        text = f"plugins: [mine]\n{text}"
    (untouched.folder / "wrong.yaml").write_text(text)
    done = untouched.snakemake("--dry-run", "--configfile", "wrong.yaml")
    assert done.returncode == 1
    assert "The config is not valid:" in done.stdout + done.stderr
    assert said.format(at=AT) in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not (untouched.folder / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0, 1]", "!!python/object:os.system [0]", "python/object:os.system' is not allowed"),
        ("    seeds", "\tseeds", "wrong.yaml: line 8: "),
    ],
    ids=["a tag", "a tab"],
)
def test_a_file_that_snakemake_cannot_read_is_named_by_line_by_the_doctor(
    untouched, old, new, said
):
    """Snakemake reads `--configfile` itself, before the Snakefile, and names no line."""
    (untouched.folder / "wrong.yaml").write_text(SMOKE.replace(old, new, 1))
    done = untouched.snakemake("--dry-run", "--configfile", "wrong.yaml")
    assert done.returncode == 1 and "Config file is not valid JSON or YAML" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    found = untouched.collateral("doctor", "wrong.yaml")
    assert found.returncode != 0 and said in found.stdout + found.stderr


def test_twenty_wrong_configs_are_tried():
    assert len(WRONG) >= 20


@pytest.mark.slow
def test_without_our_logger_the_snakefile_looks_at_the_files(untouched):
    (untouched.folder / "wrong.yaml").write_text(SMOKE.replace("  smoke:", "  smoke: {}\n  smoke:"))
    options = ("--dry-run", "--workflow-profile", "none", "--configfile", "wrong.yaml")
    done = untouched.snakemake(*options)
    assert done.returncode == 1
    assert 'line 5: while constructing a mapping: found duplicate key "smoke"' in done.stdout


@pytest.mark.slow
def test_the_default_config_is_looked_at_before_it_is_read(untouched):
    default = untouched.folder / "config.yaml"
    right = default.read_text()
    default.write_text(right.replace("  digits:", "  digits: {}\n  digits:", 1))
    for options in ((), ("--workflow-profile", "none")):
        done = untouched.snakemake("--dry-run", *options)
        assert done.returncode == 1
        assert 'found duplicate key "digits"' in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
    default.write_text(right)


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


LISTED = {"listed": {"forget": {"kind": "index_file", "path": "listed.txt"}}}


@pytest.mark.slow
def test_a_list_of_indices_that_is_not_there_is_named_before_any_job(fresh):
    said = run_with(fresh, lambda benchmark: benchmark.update(cells=LISTED))
    assert "benchmarks.smoke.cells.listed.forget.path: 'listed.txt': there is no such file" in said
    assert not (fresh.folder / "results").exists()


@pytest.mark.slow
def test_an_index_out_of_range_is_named_before_any_job(fresh):
    (fresh.folder / "listed.txt").write_text("3\n240\n")
    said = run_with(fresh, lambda benchmark: benchmark.update(cells=LISTED))
    assert "cells.listed.forget.path: 'listed.txt': 240; expected different indices" in said
    assert not (fresh.folder / "results").exists()


@pytest.mark.slow
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


@pytest.mark.slow
def test_labels_out_of_range_are_named_before_any_job(fresh):
    images, labels = np.zeros((8, 8, 8), np.uint8), np.array([0, 1] * 4)
    np.savez(
        fresh.folder / "own.npz",
        train_images=images, train_labels=labels, test_images=images, test_labels=labels - 5,
    )  # fmt: skip
    own = {"name": "arrays", "path": "own.npz"}
    said = run_with(fresh, lambda benchmark: benchmark.update(data=own, classes=[1]))
    assert "benchmarks.smoke.data.path: own.npz: test_labels: -5; expected 0 to 1" in said
    assert not (fresh.folder / "results").exists()


@pytest.mark.slow
def test_weights_that_do_not_fit_are_named_before_any_job(fresh):
    save_file({"fc.weight": np.zeros(2, np.float32)}, fresh.folder / "mine.safetensors")
    said = run_with(fresh, lambda benchmark: benchmark["base"].update(weights="mine.safetensors"))
    assert "benchmarks.smoke.base.weights: 'mine.safetensors' does not fit the model" in said
    assert not (fresh.folder / "results").exists()
