"""Every command of README and docs is tried once, in one way.

Run: `collateral ...`, in a copy of the finished smoke experiment; the reader's own names stand for
files that are put there. Planned: what runs for minutes or hours, by snakemake's dry run; so is
what `make` hands to snakemake. Collected: pytest's, whose tests are run as part of all tests.
Commands that need a GPU, a cluster, the internet or hours are only read: programs, options and
files must exist, and the page must say what they need.
"""

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from conftest import REPOSITORY, Project, fork_server, run_forked, write_weights
from docs_commands import NEEDS, PROGRAMS, SHELL, Command, commands, need_of
from make_pictures import PICTURES
from PIL import Image
from test_plugin import code_in_guide

from collateral.cli import make_parser

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
DOCS = REPOSITORY / "docs"
TUTORIAL = DOCS / "tutorial.md"
Words = tuple[str, ...]
WAYS = {
    "run": "here",
    "planned": "by snakemake, here",
    "drawn": "here, into a folder of its own",
    "collected": "by pytest, here",
    "walked": "by test_walk.py",
    "tested": "by make or by another test",
    "shell": "a folder, an editor, a link, a count: nothing of ours",
    **{need: f"needs {need}: it is read, and its page says so" for need in NEEDS},
}
# Targets of make by what their commands are.
OF_MAKE = {"run": "planned", "figures": "planned", "schema": "tested", "test": "tested"}
OF_MAKE |= {"test-all": "tested", "lint": "tested", "board": "tested"}
# Scripts of docs/ likewise; tests/unit/test_generated_files.py does the work of the second.
OF_SCRIPTS = {"docs/make_pictures.py": "drawn", "docs/generate.py": "tested"}
OF_SCRIPTS |= {"docs/generators/borders.py": "tested"}  # by tests/unit/test_borders.py
# What commands in sentences leave out.
LEFT_OUT = {
    ("collateral", "estimate"): ("config.yaml",),
    ("collateral", "forecast"): ("config.yaml",),
    ("collateral", "init"): ("my-images", "--out", "init.yaml"),
    ("collateral", "unbundle"): ("smoke.tar", "--config", "configs/smoke.yaml"),
    ("collateral", "export"): ("smoke/digit_3-50", "ltd", "--out", "ltd.safetensors"),
    ("collateral", "publish"): ("smoke", "--out", "published-smoke"),
    ("make", "figures"): ("CONFIG=configs/smoke.yaml",),
    # Of many cells: there are no more batches than files.
    ("snakemake", "--batch", "gather=1/4"): ("--configfile", "configs/paper.yaml"),
}
# What stands for something of the reader's.
STANDS_FOR = {
    "my-images/": "my-pictures/",  # of another page: init writes a config for each folder once
    "docs/data/NAME": "results/smoke",
    "results/digits": "results/smoke",
    "digits/untypical_3": "smoke/digit_3-50",
    "<benchmark>": "digits",
    "suite/NAME": "suite/cifar20",  # needs no files for a plan
}
# Modules that are imported once for all commands.
IMPORTED = ("collateral.cli", "collateral.config.load", "collateral.jobs")
OLD = tuple(f"--assume-old=.venv/{name}" for name in (".done", ".figures"))


def way_of(command: Command) -> str:
    """Return how a command is tried, or what it needs; nothing where nobody thought of it."""
    program, first = command.words[0], command.words[1]
    if program in SHELL:
        return "shell"
    if (
        command.page == TUTORIAL
        and command.is_whole
        and first in {"init", "evidence", "docs/tutorial_files.py"}
    ):
        return "walked"
    if command.words[-2:] == ("--for", "cluster"):
        return "cluster"  # elsewhere it ends with 1, as it should
    if program == "make":
        return OF_MAKE.get(first) or need_of(command)
    if first in OF_SCRIPTS:
        return OF_SCRIPTS[first]
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


def test_every_command_has_a_way_and_every_way_a_command():
    assert len(COMMANDS) > 50
    assert {command.words[0] for command in COMMANDS} >= PROGRAMS
    lost = [str(command) for command in COMMANDS if way_of(command) not in WAYS]
    assert lost == [], "run them, plan them, or say what they need"
    assert {way_of(command) for command in COMMANDS} == WAYS.keys()


@pytest.fixture(scope="module")
def folder(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the finished experiment, with what a reader has."""
    copy = tmp_path_factory.mktemp("docs") / "project"
    shutil.copytree(finished.folder, copy, symlinks=True)
    write_pictures(copy / "my-images")
    write_pictures(copy / "my-pictures")
    write_digits(copy / "data")
    write_weights(copy / "data/cifar100_resnet56-f2eff4c8.pt", "resnet56", 100, (32, 32, 3))
    write(copy / "withdrawn.txt", "cat/1.png\n")
    write(copy / "unseen.txt", "cat/2.png\ndog/2.png\n")
    write_timm_weights(copy / "my-model.safetensors", "resnet18", num_classes=2)
    for name, kind in {"mine": "forget", "my-plugins": "models"}.items():
        shutil.copytree(REPOSITORY / "tests/contract/plugins" / kind, copy / name / kind)
    for file, code in code_in_guide().items():
        write(copy / "my_methods/last_layer" / file, code)
    (copy / "docs/images").mkdir(parents=True)
    shutil.copy(DOCS / "make_pictures.py", copy / "docs")
    for name in ("generators", "data"):
        shutil.copytree(DOCS / name, copy / "docs" / name)
    bundled = Project(copy).collateral("bundle", "results/smoke", "--out", "smoke.tar")
    assert bundled.returncode == 0, bundled.stderr
    return Project(copy)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_digits(root: Path) -> None:
    """Write files as docs/results.md makes them for configs/svhn-part.yaml."""
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


def in_turn(step: Words) -> tuple[int, Words]:
    """Return the sort key of a step: `submit` before `judge`, `bundle` before `unbundle`."""
    first = ("submit", "judge")  # `board`, before both by name, reads what they write
    return (first.index(step[1]) if step[1] in first else len(first)), step


@pytest.fixture(scope="module")
def outcomes(folder: Project) -> dict[Words, tuple[int, str]]:
    """Exit code and output of every command by its words; each is run once."""
    environment = folder.environment()
    server = fork_server(environment["PYTHONPATH"], *IMPORTED)
    steps = {step for command in tried("run", "planned") for step in steps_of(command)}
    found = {}
    for step in sorted(steps, key=in_turn):
        done = run_forked([*step], folder.folder, environment, server)
        found[step] = (done.returncode, done.stdout + done.stderr)
    return found


def write_timm_weights(path: Path, model: str, num_classes: int) -> None:
    """Write weights by timm's own names, by a process of its own: torch is not imported here."""
    program = f"""
import timm
from safetensors.torch import save_file
save_file(timm.create_model({model!r}, num_classes={num_classes}).state_dict(), {str(path)!r})
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def python(folder: Project, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder, with the folder's package."""
    options = {"cwd": folder.folder, "env": folder.environment(), "text": True} | how
    return subprocess.run([sys.executable, *words], capture_output=True, check=False, **options)


@pytest.mark.parametrize("command", tried("run", "planned"), ids=str)
def test_a_command_runs_or_is_planned(outcomes, command):
    for step in steps_of(command):
        code, said = outcomes[step]
        assert code == 0, said
        if step[0] == "snakemake":
            assert "This was a dry-run" in said or "Nothing to be done" in said


@pytest.mark.parametrize("command", tried("drawn"), ids=str)
def test_pictures_are_drawn_of_results_that_are_there_and_others_are_named(folder, command):
    (words,) = steps_of(command)
    done = python(folder, *words[1:])
    assert done.returncode == 0, done.stderr
    chosen = [name for name in PICTURES if name.startswith(words[2:] or ("",))]
    staying = [name for name in chosen if f"docs/images/{name}.png stays: " in done.stdout]
    drawn = [name for name in chosen if (folder.folder / f"docs/images/{name}.png").exists()]
    assert chosen
    assert {*staying, *drawn} == {*chosen}
    if len(words) == 2:
        assert "cifar-small-trajectory-50" in drawn
        assert "docs/images/methods.png stays: results/field has no results" in done.stdout


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


# Commands that are only read.


class BadCommand(Exception):
    """The objection of a parser."""


def check_make(words: Words) -> None:
    targets = [word for word in words if "=" not in word]
    for variable in [word.split("=")[0] for word in words if "=" in word]:
        assert f"\n{variable} ?=" in (REPOSITORY / "Makefile").read_text()
    done = subprocess.run(
        ["make", "--dry-run", *targets], cwd=REPOSITORY, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def parse(parser: ArgumentParser, words: Words) -> None:
    """Let a parser read the words; raise BadCommand where it objects."""

    def refuse(message: str) -> NoReturn:
        raise BadCommand(message)

    parser.error, parser.allow_abbrev = refuse, False  # type: ignore[method-assign]
    parser.parse_args(words)


def check_collateral(words: Words) -> None:
    parse(make_parser(words[0]), words[1:])


def check_python(words: Words) -> None:
    """Check that the script exists and declares the options."""
    nodes = ast.walk(ast.parse((REPOSITORY / words[0]).read_text()))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert {word for word in words[1:] if word.startswith("--")} <= texts


def check_pytest(words: Words) -> None:
    options = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["pytest"]
    markers = {marker.split(":")[0] for marker in options["ini_options"]["markers"]}
    parser = ArgumentParser()
    parser.add_argument("paths", nargs="*")
    parser.add_argument("-m", choices=markers)
    parser.add_argument("-v", action="store_true")
    parse(parser, words)
    assert all((REPOSITORY / word).exists() for word in words if word.startswith("tests/"))


def check_pip(words: Words) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = re.findall(r"\[(.*?)\]", " ".join(words))
    assert extras
    assert set(",".join(extras).split(",")) <= set(project["optional-dependencies"])


def check_pip_audit(words: Words) -> None:
    assert (REPOSITORY / words[words.index("-r") + 1]).is_file()


def check_cluster(words: Words) -> None:
    script = (REPOSITORY / "envs/slurm/cluster").read_text()
    cases = re.findall(r"^([a-z |]+)\)", script, re.M)
    assert words[0] in {case for line in cases for case in line.split(" | ")}


def check_sbatch(words: Words) -> None:
    inner = shlex.split(words[words.index("--wrap") + 1])
    assert inner[0] == "snakemake"


def check_git(words: Words) -> None:
    assert words[0] in ("clone", "worktree")


def check_editor(words: Words) -> None:
    assert (REPOSITORY / words[0]).is_file()


CHECKS: dict[str, Callable[[Words], None]] = {
    "make": check_make,
    "collateral": check_collateral,
    "python": check_python,
    "pytest": check_pytest,
    "pip": check_pip,
    "pip-audit": check_pip_audit,
    "envs/slurm/cluster": check_cluster,
    "sbatch": check_sbatch,
    "git": check_git,
    "nano": check_editor,
    **dict.fromkeys(SHELL - {"nano"}, lambda words: None),
}


@pytest.mark.parametrize("command", tried(*NEEDS, "shell", "tested"), ids=str)
def test_a_command_that_is_not_run_could_be_and_its_page_says_what_it_needs(command):
    program, *words = command.words
    CHECKS[program](tuple(words))
    if way_of(command) in NEEDS:
        assert re.search(NEEDS[way_of(command)], command.page.read_text())


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("make", "runn"), AssertionError),
        (("collateral", "doctor", "--fixx"), BadCommand),
        (("pytest", "tests/none.py"), AssertionError),
        (("python", "benchmarks/all.py", "--onlyy"), AssertionError),
        (("pip", "install", "collateral[anm]"), AssertionError),
    ],
    ids=str,
)
def test_a_wrong_command_is_refused(words, error):
    with pytest.raises(error):
        CHECKS[words[0]](words[1:])
