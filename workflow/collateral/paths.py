"""Every file's name, in one place: patterns for the rules, with Snakemake's wildcards in braces."""

import re
from collections.abc import Mapping
from typing import Any

RESULTS = "results"
LOGS = "logs"
RESERVED = frozenset({"base", "diagnose", "figures", "tables", "theory", "logs", "tune", "retrain"})

BENCHMARK = f"{RESULTS}/{{benchmark}}"
DATA = f"{BENCHMARK}/dataset.npz"
LABELS = f"{BENCHMARK}/labels.npz"
BASE = f"{BENCHMARK}/base/seed-{{seed}}"
CELL = f"{BENCHMARK}/{{cell}}"
SPLIT = f"{CELL}/split.json"
SPLITS_DONE = f"{BENCHMARK}/splits.done"
NEIGHBOURS = f"{CELL}/neighbours.npz"
CELL_METRICS = f"{CELL}/metrics.csv"
CELL_COSTS = f"{CELL}/costs.csv"
CELL_TUNING = f"{CELL}/tuning.csv"
TUNE = f"{CELL}/tune/{{method}}"
DIAGNOSE = f"{CELL}/diagnose/seed-{{seed}}"
RUN = f"{CELL}/seed-{{seed}}/{{run}}"
RETRAIN = f"{CELL}/seed-{{seed}}/retrain"
ORIGINAL = f"{CELL}/seed-{{seed}}/original"
METRICS = f"{BENCHMARK}/metrics.csv"
COSTS = f"{BENCHMARK}/costs.csv"
TABLES = f"{BENCHMARK}/tables"
FIGURES = f"{BENCHMARK}/figures"
REPORT = f"{RESULTS}/report.html"

MODEL = "model.safetensors"
OUTPUTS = "outputs.npz"
EMBEDDINGS = "embeddings.npz"
HISTORY = "history.csv"
RECORD = "record.json"
COST = "cost.json"
PREPARED = "prepared"  # in the folder of a run or a tuning: what it prepared, by name
PREPARED_TENSORS = "prepared.safetensors"
PREPARED_REPORT = "report.json"
TRIALS = "trials.csv"
SELECTED = "selected.json"
DIAGNOSIS = "diagnosis.npz"
# What a job that makes a model writes, by the name of its command-line option.
RUN_FILES = {
    "model": MODEL,
    "outputs": OUTPUTS,
    "history": HISTORY,
    "record": RECORD,
    "cost": COST,
}


def run_files(folder: str) -> dict[str, str]:
    """Return the files of a base, retrained or unlearned model by option name."""
    return {option: f"{folder}/{name}" for option, name in RUN_FILES.items()}


def log(stage: str, *wildcards: str) -> str:
    """Return the log file's pattern of a stage."""
    return "/".join([LOGS, stage, *(f"{{{wildcard}}}" for wildcard in wildcards)]) + ".log"


def is_slug(name: str) -> bool:
    """Tell whether `name` may stand in a path as it is, and on a command line."""
    return re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", name) is not None


def slug(name: str) -> str:
    """Turn a true name into one that may stand in a path."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-.") or "x"


def short(value: Any) -> str:
    """Return a parameter's value as it stands in the name of a sweep's run."""
    return format(value, "g") if isinstance(value, float) else str(value).lower()


def varied(values: Mapping[str, Any]) -> list[str]:
    """Return what the name of a sweep's run has after the method's, part by part."""
    return [f"{key}={short(value)}" for key, value in values.items()]


def checkpoints(folder: str) -> str:
    """Return where a job keeps its checkpoints: outside `folder`, which Snakemake may clear."""
    return folder.replace(RESULTS, f"{RESULTS}/.checkpoints", 1)
