"""Every command of README and docs is one: program, flags, files and targets are there.

Here parsers are asked, the real ones, and make what it would do; tests/workflow runs and plans
them (test_docs_commands_run.py). What needs a GPU, a cluster, the internet or hours must stand on
a page that says so.
"""

import ast
import re
import shlex
import subprocess
import tomllib
from argparse import ArgumentParser
from functools import cache
from typing import NoReturn

import pytest
from docs_commands import NEEDS, PROGRAMS, SHELL, Command, commands, need_of
from markdown_reading import ROOT

from collateral.cli import main, make_parser
from collateral.config.load import load
from collateral.config.yaml import read_file
from collateral.contract.plugins import COMMAND, STAGE

LACKING = "the following arguments are required"


class BadCommand(Exception):
    """What a parser objects to."""


def parse(parser: ArgumentParser, command: Command, words: tuple[str, ...]) -> None:
    """Let the real parser read the words; within a sentence, required ones may be missing."""

    def refuse(message: str) -> NoReturn:
        raise BadCommand(message)

    parser.error, parser.allow_abbrev = refuse, False  # type: ignore[method-assign]
    try:
        parser.parse_args(words)
    except BadCommand as error:
        if command.is_whole or LACKING not in str(error):
            raise


# What is asked of each program.


def check_make(command: Command) -> None:
    targets = [word for word in command.words[1:] if "=" not in word]
    for variable in [word.split("=")[0] for word in command.words[1:] if "=" in word]:
        assert f"\n{variable} ?=" in (ROOT / "Makefile").read_text()
    done = subprocess.run(
        ["make", "-n", *targets], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@cache
def snakemake_rules() -> set[str]:
    files = [ROOT / "Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
    return {rule for file in files for rule in re.findall(r"^rule (\w+):", file.read_text(), re.M)}


def check_snakemake(command: Command) -> None:
    cli = pytest.importorskip("snakemake.cli")
    parser = cli.get_argument_parser()
    parse(parser, command, command.words[1:])
    words = dict(zip(command.words[1:], command.words[2:], strict=False))
    if config := words.get("--configfile"):
        load(read_file(ROOT / config))
    if profile := words.get("--workflow-profile"):
        assert (ROOT / profile / "config.yaml").is_file()
    if batch := words.get("--batch"):
        assert batch.split("=")[0] in snakemake_rules()
    if len(command.words) > 1 and not command.words[1].startswith(("-", "results/")):
        assert command.words[1] in snakemake_rules()


def check_collateral(command: Command) -> None:
    _, stage, *words = command.words
    if stage == "STAGE":
        return
    assert COMMAND.has(stage) or STAGE.has(stage)
    parse(make_parser(stage), command, tuple(words))


def check_pytest(command: Command) -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    markers = {marker.split(":")[0] for marker in options["markers"]}
    parser = ArgumentParser()
    parser.add_argument(
        "paths", nargs="*", type=lambda path: (ROOT / path).exists() or refused(path)
    )
    parser.add_argument("-m", choices=markers)
    parser.add_argument("-q", "-v", "-x", action="store_true")
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--plugins", nargs="+")
    parse(parser, command, command.words[1:])


def refused(path: str) -> NoReturn:
    raise BadCommand(f"there is no {path}")


def check_python(command: Command) -> None:
    """Check that the script is there and declares the options."""
    script = ROOT / command.words[1]
    nodes = ast.walk(ast.parse(script.read_text()))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert {word for word in command.words[2:] if word.startswith("--")} <= texts


def check_pip(command: Command) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = re.findall(r"\[(.*?)\]", " ".join(command.words))
    assert extras
    assert set(",".join(extras).split(",")) <= set(project["optional-dependencies"])


def check_pip_audit(command: Command) -> None:
    assert (ROOT / command.words[command.words.index("-r") + 1]).is_file()


def check_cluster(command: Command) -> None:
    script = (ROOT / "envs/slurm/cluster").read_text()
    cases = re.findall(r"^([a-z |]+)\)", script, re.M)
    assert command.words[1] in {case for line in cases for case in line.split(" | ")}


def check_sbatch(command: Command) -> None:
    inner = shlex.split(command.words[command.words.index("--wrap") + 1])
    assert inner[0] == "snakemake"


def check_shell(command: Command) -> None:
    """Check that a file of this repository that is edited is there."""
    assert command.words[0] != "nano" or (ROOT / command.words[1]).is_file()


def check_git(command: Command) -> None:
    assert command.words[1] == "clone"


CHECKS = {
    "make": check_make,
    "snakemake": check_snakemake,
    "collateral": check_collateral,
    "pytest": check_pytest,
    "python": check_python,
    "pip": check_pip,
    "pip-audit": check_pip_audit,
    "envs/slurm/cluster": check_cluster,
    "sbatch": check_sbatch,
    "git": check_git,
    **dict.fromkeys(SHELL, check_shell),
}
COMMANDS = commands()


def test_commands_are_found():
    assert len(COMMANDS) > 50
    assert {command.words[0] for command in COMMANDS} >= PROGRAMS
    assert CHECKS.keys() == PROGRAMS | SHELL


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_command_is_one(command):
    assert command.words[0] in CHECKS, f"no test knows the program {command.words[0]}"
    CHECKS[command.words[0]](command)


@pytest.mark.parametrize("command", [*filter(need_of, COMMANDS)], ids=str)
def test_a_page_says_what_its_commands_need(command):
    assert re.search(NEEDS[need_of(command)], command.page.read_text())


def listings() -> list[tuple[str, ...]]:
    """Return the commands that only print what there is, without plug-ins of the reader's own."""
    every = (c.words[1:] for c in COMMANDS if c.words[:2] == ("collateral", "list"))
    return sorted({words for words in every if "--plugins" not in words})


@pytest.mark.parametrize("words", listings(), ids=" ".join)
def test_a_listing_prints(words, capsys):
    main(list(words))
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("make", "runn"), AssertionError),
        (("snakemake", "--configfil", "configs/smoke.yaml"), BadCommand),
        (("snakemake", "al"), AssertionError),
        (("collateral", "verify", "--fixx"), BadCommand),
        (("collateral", "verifi"), AssertionError),
        (("pytest", "tests/none.py"), BadCommand),
        (("python", "benchmarks/all.py", "--onlyy"), AssertionError),
        (("pip", "install", "collateral[anm]"), AssertionError),
    ],
    ids=str,
)
def test_a_command_that_is_none_is_seen(words, said):
    with pytest.raises(said):
        CHECKS[words[0]](Command(ROOT / "README.md", words, is_whole=True))
