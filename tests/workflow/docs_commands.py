"""What tests read in README and docs: commands, what each needs, and whether its page says so."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_reading import blocks, pages, prose

SPAN = re.compile(r"`([^`\n]+)`")
VARIABLE = re.compile(r"[A-Z_]+=.*")
PARTS = re.compile(r"&&|;|\|")
# What stands for a value of the reader's own.
STANDS_FOR = {"CONFIG": "config.yaml", "NAME": "ltd", "FOLDER": "elsewhere", "COMMIT": "HEAD"}
STANDS_FOR |= {"RESULTS": "results"}
# What `collateral list WHAT NAME` and `collateral list forget KIND` may name.
LISTED = {"controls": "ideal", "data": "digits", "findings": "locality", "metrics": "near_loss"}
LISTED |= {"forget": "class_part"}
SHELL = {"cd", "nano", "source", "ln", "grep"}
PROGRAMS = {"make", "snakemake", "collateral", "pytest", "python", "pip", "pip-audit", "sbatch"}
PROGRAMS |= {"git", "envs/slurm/cluster"}
# What no test has, and the words by which a page says that it is needed.
NEEDS = {
    "gpu": r"\bGPUs?\b",
    "cluster": "SLURM|cluster",
    "internet": "internet|clone|install",
    "hours": r"\b(?:hours?|minutes?|long)\b",
}
FAR = {"git", "pip", "pip-audit"}
# Targets of make and scripts that fetch packages, or take longer than all tests together.
FETCHING = {"setup", "docs", "release"}
LONG = {"bench", "bugs", "mutants", "suite", "torture"}
LONG_SCRIPTS = ("benchmarks/", "tools/mutants.py", "tools/seed_by_seed.py", "tools/suite.py")


class Command(NamedTuple):
    """A command, and where it stands."""

    page: Path
    words: tuple[str, ...]
    is_whole: bool  # in a block; within a sentence, arguments may be left out

    def __str__(self) -> str:
        """Return it as it was written, for the name of its test."""
        return f"{self.page.name}: {' '.join(self.words)}"


def commands() -> list[Command]:
    """Return every command of README and docs, once a page."""
    found = dict.fromkeys(command for page in pages() for command in commands_on(page))
    return sorted(found, key=str)


def commands_on(page: Path) -> Iterator[Command]:
    """Yield the commands of blocks, and of sentences where they have more than one word."""
    for text in blocks(page, "sh", "bash", "console"):
        for line in text.replace("\\\n", " ").splitlines():
            yield from _in(page, line, is_whole=True)
    for span in SPAN.findall(prose(page)):
        words = [word for word in span.split() if not VARIABLE.fullmatch(word)]
        if len(words) > 1 and _name(words[0]) in PROGRAMS:
            yield from _in(page, span, is_whole=False)


def _in(page: Path, line: str, is_whole: bool) -> Iterator[Command]:
    for part in PARTS.split(re.sub(r"(?:^|\s)#.*| 2>&1", "", line)):
        typed = [word for word in shlex.split(part.strip("$ ")) if word != "..."]
        words = [STANDS_FOR.get(word, word) for word in typed]
        if "-m" in words and words[-1].startswith("generators."):  # a module of docs/
            words[-2:] = [f"docs/{words[-1].replace('.', '/')}.py"]
        if typed[1:2] == ["list"] and typed[-1] in ("NAME", "KIND"):
            words[-1] = LISTED.get(typed[2], words[-1])
        while words and VARIABLE.fullmatch(words[0]):
            words = words[1:]
        if words:
            yield Command(page, (_name(words[0]), *words[1:]), is_whole)


def _name(program: str) -> str:
    return program.removeprefix(".venv/bin/")


def need_of(command: Command) -> str:
    """Return which of NEEDS a command has; none, or an empty text."""
    program, *words = command.words
    text = " ".join(command.words)
    if "slurm" in text or program == "sbatch":
        return "cluster"
    if "gpu=" in text or "-m gpu" in text:
        return "gpu"
    if program in FAR or (program == "make" and FETCHING & {*words}):
        return "internet"
    is_long = program == "make" and LONG & {*words}
    if is_long or (program == "python" and words[0].startswith(LONG_SCRIPTS)):
        return "hours"
    return ""
