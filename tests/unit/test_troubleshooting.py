"""docs/troubleshooting.md: messages without a snippet are in the source code."""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from generators.troubleshooting import PRODUCED
from markdown_reading import ROOT

PAGE = ROOT / "docs/troubleshooting.md"
MESSAGE = re.compile(r"```text\n(.*?)```", re.S)
LEAST = 8  # letters of a piece of a message, so that it says something
SNIPPETS = [match[1] for match in PRODUCED.finditer(PAGE.read_text())]


def others() -> list[str]:
    """Return the messages that stand below no snippet."""
    return [" ".join(text.split()) for text in MESSAGE.findall(PRODUCED.sub("", PAGE.read_text()))]


@cache
def texts() -> str:
    """Return all that the package, its rules and Snakemake's lock may say, a line each."""
    snakemake = find_spec("snakemake")
    assert snakemake is not None and snakemake.origin is not None
    files = [
        *(ROOT / "workflow").rglob("*.py"),
        *(ROOT / "workflow").rglob("*.smk"),
        Path(snakemake.origin).with_name("exceptions.py"),
    ]
    return "\n".join(text for file in files for text in _texts(file))


def _texts(file: Path) -> list[str]:
    if file.suffix == ".smk":  # no Python: what stands between quotes
        return re.findall(r'"([^"\n]*)"', file.read_text())
    nodes = ast.walk(ast.parse(file.read_text()))
    strings = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [" ".join(text.split()) for text in strings if isinstance(text, str)]


def pieces(message: str) -> list[str]:
    return [piece for part in message.split("...") if len(piece := part.strip(" ():;,.%")) >= LEAST]


def test_there_are_twenty_at_least():
    assert len(re.findall(r"^### ", PAGE.read_text(), re.M)) >= 20
    assert len(SNIPPETS) + len(others()) == len(re.findall(r"^### ", PAGE.read_text(), re.M))


@pytest.mark.parametrize("message", others())
def test_a_message_is_in_the_code(message):
    pytest.importorskip("snakemake")
    found = pieces(message)
    assert found
    for piece in found:
        assert piece in texts(), piece
