"""Names that a shell would run: each arrives at its stage as one word, and nothing runs."""

import json

import numpy as np
import pytest
import yaml
from conftest import Project
from test_reruns import PRETEND

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
RUNS = """$(touch pwned) `touch pwned` ; touch pwned & '"\\ > pwned"""
CLASS = f"<script>{RUNS}</script> ../../x {{cell}} {{{{"
DATA = f"data {RUNS}.npz".replace("/", "")
PLUGINS = f"plug-ins {RUNS}"
MODEL = "line; touch pwned"
# Tells what it is called with, before it makes its files.
LISTEN = """
import json
with open("words.jsonl", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
"""


@pytest.fixture
def project(fresh: Project) -> Project:
    """A checkout whose config has hostile names wherever names are free, and a stand-in to run."""
    folder = fresh.folder
    labels = np.arange(400) % 2
    arrays = {"train_images": np.zeros((400, 8, 8), np.uint8), "train_labels": labels}
    arrays |= {"test_images": arrays["train_images"], "test_labels": labels}
    np.savez(folder / DATA, class_names=[CLASS, "other"], **arrays)
    (folder / PLUGINS / "models").mkdir(parents=True)
    (folder / PLUGINS / "models" / f"{MODEL}.py").write_text("def build(info): ...\n")
    program = folder / "bin/collateral"
    program.parent.mkdir()
    program.write_text(PRETEND + LISTEN)
    program.chmod(0o755)
    forget = {"kind": "class_part", "class": CLASS, "fraction": 0.5}
    benchmark = {
        "data": {"name": "arrays", "path": DATA},
        "model": MODEL,
        "seeds": [0],
        "cells": {"mine": {"forget": forget}},
        "methods": {"ft": {"lr": [0.1, 0.2]}, "ltd": {"k": 100}},
    }
    config = {"plugins": [PLUGINS], "benchmarks": {"small": benchmark}}
    (folder / "hostile.yaml").write_text(yaml.safe_dump(config))
    return fresh


def test_shell_commands_in_names_of_a_config_are_never_executed(project):
    before = {path.name for path in project.folder.iterdir()}
    done = project.snakemake("--configfile", "hostile.yaml", programs=project.folder / "bin")
    assert done.returncode == 0, done.stdout + done.stderr
    new = {path.name for path in project.folder.iterdir()} - before
    assert new == {".snakemake", "logs", "results", "words.jsonl"}
    assert not [*project.folder.rglob("pwned")]
    told = [json.loads(line) for line in (project.folder / "words.jsonl").read_text().splitlines()]
    jobs = {json.loads(words[1])["kind"]: (json.loads(words[1]), words) for words in told}
    assert {"data", "split", "base", "tune", "unlearn", "metrics", "report"} <= jobs.keys()
    assert jobs["split"][0]["params"]["class"] == CLASS
    (checked,) = json.loads(after("--beside", jobs["data"][1]))["forget"]
    assert checked["params"]["class"] == CLASS
    assert jobs["data"][0]["options"]["path"] == DATA
    assert after("--plugins", jobs["unlearn"][1]) == PLUGINS
    assert {jobs[kind][0]["model"] for kind in ("base", "tune", "unlearn")} == {MODEL}


def after(option: str, words: list[str]) -> str:
    return words[words.index(option) + 1]
