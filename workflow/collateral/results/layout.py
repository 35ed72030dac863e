"""Where everything lies below a benchmark's folder; rules and readers take the names from here.

Patterns have Snakemake's wildcards in braces.
"""

from pathlib import Path

DATA = "dataset.npz"
LABELS = "labels.npz"
PLAN = "plan.json"
METRICS = "metrics.csv"
COSTS = "costs.csv"
PROBLEMS = "problems.json"  # findings that raised
GATES = "gates.json"  # what must be so for the numbers to mean anything
REPORT = "report.html"
REPORT_PROBLEMS = "report-problems.json"
GLANCE = "glance.json"  # what the index says of a page
CHECKED = "check.done"  # all findings could be made
TABLES = "tables"
FIGURES = "figures"
CAPTIONS = "captions.json"  # in the figures' folder of a cell

BASE = "base/seed-{seed}"
CELL = "{cell}"
SPLIT = f"{CELL}/split.json"
NEIGHBOURS = f"{CELL}/neighbours.npz"
PICTURES = f"{CELL}/pictures.npz"
KEPT = f"{CELL}/.numbers"  # of single runs, for the next time
TUNE = f"{CELL}/tune/{{method}}"
TEACHER = f"{CELL}/local_teacher"  # by which tuning chooses, where the config asks for it
SUPPORT_SIZE = f"{CELL}/support_size/seed-{{seed}}"
PROBE = f"{CELL}/probe/seed-{{seed}}"  # of all runs of the seed
SHADOW = "shadows/member-{member}"  # a model on a random share of the train set
EXPOSURE = f"{CELL}/exposure/{{run}}"  # a method on every one of them
RUN = f"{CELL}/seed-{{seed}}/{{run}}"
RETRAIN = "retrain"  # the run that all others are compared with
ORIGINAL = "original"  # the control that is the base model itself; without Retrain, the reference

MODEL = "model.safetensors"
OUTPUTS = "outputs.npz"
EMBEDDINGS = "embeddings.npz"
HISTORY = "history.csv"
EPOCHS = "epochs.npz"  # of a tracked run: what its model says after every epoch
RECORD = "record.json"  # of all files of a job that has a folder to itself
COST = "cost.json"
PREPARED = "prepared"  # in the folder of a run or a tuning: what it prepared, by name
PREPARED_TENSORS = "prepared.safetensors"
PREPARED_REPORT = "report.json"
TRIALS = "trials.csv"
SELECTED = "selected.json"
TEACHER_SAYS = "teacher.json"
SUPPORT_SIZES = "support_sizes.npz"
PROBE_SHOWS = "probe.npz"
MARGINS = "margins.npz"  # of a shadow model
EXPOSED = "exposure.npz"  # those of all, before a method unlearned from each and after
DATA_RECORD = "data.json"
NEIGHBOURS_RECORD = f"{CELL}/neighbours.json"
PICTURES_RECORD = f"{CELL}/pictures.json"
METRICS_RECORD = "metrics.json"
COSTS_RECORD = "costs.json"
# In the theory's folder, which is no benchmark's.
THEORY_POINTS = "theory.csv"  # what is drawn
THEORY_FINDINGS = "findings.csv"  # what is claimed
THEORY_CHECKS = "checks.csv"
THEORY_FIGURES = ("synthetic", "retain-residual", "support")
# The records of files whose jobs share a folder, by the files' names.
RECORDS = {
    DATA: DATA_RECORD,
    LABELS: DATA_RECORD,
    Path(NEIGHBOURS).name: Path(NEIGHBOURS_RECORD).name,
    Path(PICTURES).name: Path(PICTURES_RECORD).name,
    METRICS: METRICS_RECORD,
    PROBLEMS: METRICS_RECORD,
    GATES: METRICS_RECORD,
    COSTS: COSTS_RECORD,
    REPORT: GLANCE,
    REPORT_PROBLEMS: GLANCE,
}
# What a job that makes a model writes.
RUN_FILES = {
    "model": MODEL,
    "outputs": OUTPUTS,
    "history": HISTORY,
    "record": RECORD,
    "cost": COST,
}

# JSON files that carry a hash of themselves.
SEALED = {RECORD, COST, PLAN, Path(SPLIT).name, *RECORDS.values()}


def folder_of(run: str) -> str:
    """Return the pattern of a run's folder; that of Original is the base model's."""
    return BASE if run == ORIGINAL else RUN


def record_of(path: Path) -> Path:
    """Return the record that says what a file is: beside it."""
    is_folders = path.parent.name in (TABLES, FIGURES)  # a folder that is all one job's
    return path.parent / (RECORD if is_folders else RECORDS.get(path.name, RECORD))


def remade_without(path: Path) -> list[Path]:
    """Return what to delete so that a run makes this file again, if it is needed."""
    for above in path.parents:
        # What others do not find prepared they prepare for themselves.
        if above.parent.name == PREPARED or above.name in (TABLES, FIGURES):
            return [above]
    return [path]
