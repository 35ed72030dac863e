"""Every command of README and docs is run, or planned, or needs what no test has.

Run: `collateral ...`, in a copy of the finished smoke experiment; the reader's own names stand for
files that are put there. Planned: what runs for minutes or hours, by snakemake's dry run; so is
what `make` hands to snakemake. Collected: pytest's, whose tests are run as part of all tests.
What is left needs a GPU, a cluster, the internet or hours, and its page says so
(tests/unit/test_docs_commands.py).
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY, Project
from docs_commands import NEEDS, SHELL, Command, commands, need_of
from markdown_reading import blocks
from PIL import Image
from test_plugin import code_in_guide

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
HERE = Path(__file__).parent
DOCS = REPOSITORY / "docs"
TUTORIAL, UPSTREAM = DOCS / "tutorial.md", DOCS / "upstream.md"
Words = tuple[str, ...]
WAYS = {
    "run": "here",
    "planned": "by snakemake, here",
    "drawn": "here, into a folder of its own",
    "collected": "by pytest, here",
    "walked": "by test_walk.py",
    "tested": "it is what runs these tests",
    "shell": "a folder, an editor, a link, a count: nothing of ours",
    **{need: f"needs {need}; its page says so" for need in NEEDS},
}
# Targets of make by what their commands are.
OF_MAKE = {"run": "planned", "figures": "planned", "schema": "collected", "test": "tested"}
# What commands in sentences leave out.
LEFT_OUT = {
    ("collateral", "estimate"): ("config.yaml",),
    ("collateral", "init"): ("my-images", "--out", "init.yaml"),
    ("collateral", "bundle"): ("results/smoke", "--out", "smoke.tar"),
    ("collateral", "unbundle"): ("smoke.tar", "--config", "configs/smoke.yaml"),
    ("collateral", "export"): ("smoke/digit_3-50", "ltd", "--out", "ltd.safetensors"),
    ("make", "figures"): ("CONFIG=configs/smoke.yaml",),
    # Of many cells: there are no more batches than files.
    ("snakemake", "--batch", "gather=1/4"): ("--configfile", "configs/paper.yaml"),
}
# What stands for something of the reader's.
STANDS_FOR = {
    "my-images/": "my-pictures/",  # of another page: init writes a config for each folder once
    "docs/data/NAME": "results/smoke",
    "results/digits": "results/smoke",
    "results/field": "results/smoke",
    "digits/digit_3-50": "smoke/digit_3-50",
    "<benchmark>": "digits",
}
# The Snakefile of a page that is about snakemake itself.
OF_UPSTREAM = ("--snakefile", "upstream/Snakefile", "--directory", "upstream")
OLD = tuple(f"--assume-old=.venv/{name}" for name in (".done", ".figures"))


def way_of(command: Command) -> str:
    """Return how a command is tried, or what it needs; nothing where nobody thought of it."""
    program, first = command.words[0], command.words[1]
    if program in SHELL:
        return "shell"
    if command.page == TUTORIAL and command.is_whole and first in {"init", "docs/walk.py"}:
        return "walked"
    if command.words[-2:] == ("--for", "cluster"):
        return "cluster"  # elsewhere it ends with 1, as it should
    if program == "make":
        return OF_MAKE.get(first) or need_of(command)
    if first == "docs/make_pictures.py":
        return "drawn"
    return {"collateral": "run", "snakemake": "planned"}.get(program) or (
        need_of(command) or ("collected" if program == "pytest" else "")
    )


def steps_of(command: Command) -> Iterator[Words]:
    """Yield what is typed in its place, whole and with everything that stands for something."""
    words = command.words
    if not command.is_whole:
        words += LEFT_OUT.get(words, ())
    for name, value in STANDS_FOR.items():
        words = tuple(word.replace(name, value) for word in words)
    if command.page == UPSTREAM and words[0] == "snakemake":
        words += OF_UPSTREAM
    yield from map(planned, made_by(words[1:]) if words[0] == "make" else [words])


def planned(words: Words) -> Words:
    """Return a command that only plans, where it is snakemake's."""
    is_real = words[0] == "snakemake" and "--dry-run" not in words
    return (*words, "--dry-run") if is_real else words


@cache
def made_by(targets: Words) -> list[Words]:
    """Return what make runs, after it has made the environment."""
    done = subprocess.run(
        ["make", "--dry-run", *OLD, *targets],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [tuple(line.split()) for line in done.stdout.splitlines()]
    return [words for words in lines if words[0] in {"collateral", "snakemake", "pytest"}]


COMMANDS = commands()


def tried(*ways: str) -> list[Command]:
    return [command for command in COMMANDS if way_of(command) in ways]


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_no_command_falls_through(command):
    assert way_of(command) in WAYS, f"{command}: run it, plan it, or say what it needs"


def test_every_way_is_somebodys():
    assert {way_of(command) for command in COMMANDS} == WAYS.keys()


@pytest.fixture(scope="module")
def folder(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the finished experiment, with what a reader has."""
    copy = tmp_path_factory.mktemp("docs") / "project"
    shutil.copytree(finished.folder, copy, symlinks=True)
    write_pictures(copy / "my-images")
    write_pictures(copy / "my-pictures")
    write_digits(copy / "data")
    write(copy / "withdrawn.txt", "cat/1.png\n")
    for name, kind in {"mine": "forget", "my-plugins": "models"}.items():
        shutil.copytree(REPOSITORY / "tests/contract/plugins" / kind, copy / name / kind)
    for file, code in code_in_guide().items():
        write(copy / "my_methods/last_layer" / file, code)
    write(copy / "upstream/Snakefile", next(blocks(UPSTREAM, "python")).replace("1000", "10"))
    (copy / "docs/images").mkdir(parents=True)
    shutil.copy(DOCS / "make_pictures.py", copy / "docs")
    return Project(copy)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_digits(root: Path) -> None:
    """Write files as docs/reproduction.md makes them for configs/svhn-part.yaml."""
    root.mkdir(exist_ok=True)
    labels = np.repeat(np.arange(10), [30] * 9 + [60])
    names = [f"digit_{digit}" for digit in range(10)]
    images = np.random.default_rng(0).integers(0, 256, (330, 32, 32, 3), dtype=np.uint8)
    for part in ("train", "test"):
        kept = {"images": images, "labels": labels, "class_names": names}
        np.savez(root / f"svhn_330_{part}.npz", **kept)


def write_pictures(root: Path) -> None:
    """Write images of two classes, and the table of the ten persons in them."""
    rows = ["file,subject"]
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for number in range(10):
            pixels = rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{number}.png")
            rows.append(f"{name}/{number}.png,0{17 + number}")
    write(root / "people.csv", "\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def outcomes(folder: Project) -> dict[Words, tuple[int, str]]:
    """What came of every command, by exit code and what it said; each is run once."""
    steps = {step for command in tried("run", "planned") for step in steps_of(command)}
    ordered = sorted(steps)  # `bundle` before `unbundle`
    done = python(folder, str(HERE / "forked.py"), input=json.dumps(ordered))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {step: (one["code"], one["said"]) for step, one in zip(ordered, found, strict=True)}


def python(folder: Project, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder, with the folder's package."""
    options = {"cwd": folder.folder, "env": folder.environment(), "text": True} | how
    return subprocess.run([sys.executable, *words], capture_output=True, check=False, **options)


@pytest.mark.parametrize("command", tried("run"), ids=str)
def test_a_command_runs(outcomes, command):
    for step in steps_of(command):
        code, said = outcomes[step]
        assert code == 0, said


@pytest.mark.parametrize("command", tried("planned"), ids=str)
def test_a_long_run_is_planned(outcomes, command):
    for step in steps_of(command):
        code, said = outcomes[step]
        assert code == 0, said
        if step[0] == "snakemake":
            assert "This was a dry-run" in said or "Nothing to be done" in said


@pytest.mark.parametrize("command", tried("drawn"), ids=str)
def test_a_picture_is_drawn(folder, command):
    if "tour" in command.words and not shutil.which("chromium"):
        pytest.skip("no chromium")
    (words,) = steps_of(command)
    done = python(folder, *words[1:])
    assert done.returncode == 0, done.stderr
    assert [*(folder.folder / "docs/images").glob(f"{command.words[2]}*.png")]


@pytest.fixture(scope="module")
def collected(folder: Project) -> str:
    """Return the names of all tests in the files that commands name, by one pytest a conftest."""
    files = {file for command in tried("collected") for file in files_of(command)}
    in_contract = {file for file in files if file.startswith("tests/contract/")}
    plugins = [str(folder.folder / name) for name in ("mine", "my-plugins", "my_methods")]
    return names_in(in_contract, "--plugins", *plugins) + names_in(files - in_contract, "--fix")


def files_of(command: Command) -> list[str]:
    (words,) = steps_of(command)
    return [word for word in words if word.startswith("tests/")]


def names_in(files: set[str], *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", *sorted(files), *options],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("command", tried("collected"), ids=str)
def test_tests_are_found(collected, command):
    assert files_of(command)
    for file in files_of(command):
        assert f"{file}::" in collected
