"""File names: patterns with Snakemake's wildcards, logs and checkpoints."""

import re

from collateral.plan import paths

PATTERNS = {
    name: value
    for name, value in vars(paths).items()
    if isinstance(value, str) and value.startswith(f"{paths.RESULTS}/")
}


def test_patterns_are_filled_in_by_snakemakes_wildcards_alone():
    assert {"DATA", "BASE", "SPLIT", "RUN", "TUNE", "METRICS", "REPORT"} <= set(PATTERNS)
    wildcards = set(re.findall(r"{(.*?)}", " ".join(PATTERNS.values())))
    assert wildcards == {"benchmark", "cell", "seed", "run", "method"}


def test_no_two_patterns_are_the_same():
    assert len(set(PATTERNS.values())) == len(PATTERNS)


def test_the_files_of_a_run_are_in_its_folder():
    assert paths.run_files("some/folder") == {
        "model": "some/folder/model.safetensors",
        "outputs": "some/folder/outputs.npz",
        "history": "some/folder/history.csv",
        "record": "some/folder/record.json",
        "cost": "some/folder/cost.json",
    }


def test_a_log_has_the_stages_folder_and_a_wildcard_a_level():
    assert paths.log("theory") == "logs/theory.log"
    assert paths.log("base", "benchmark", "seed") == "logs/base/{benchmark}/{seed}.log"


def test_checkpoints_are_outside_the_folder_that_is_declared():
    assert paths.checkpoints("results/b/results/seed-0") == "results/.checkpoints/b/results/seed-0"
