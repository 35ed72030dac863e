"""Names of all files and folders below a benchmark's folder, for rules and for readers.

Patterns have Snakemake's wildcards in braces.
"""

from pathlib import Path

DATA = "dataset.npz"
LABELS = "labels.npz"
PLAN = "plan.json"
METRICS = "metrics.csv"
COSTS = "costs.csv"
PROBLEMS = "problems.json"  # findings that raised
GATES = "gates.json"  # sanity checks
REPORT = "report.html"
REPORT_PROBLEMS = "report-problems.json"
GLANCE = "glance.json"  # summary of a page, for the index
CHECKED = "check.done"  # no finding raised an error
TABLES = "tables"
FIGURES = "figures"
CAPTIONS = "captions.json"  # in the figures' folder of a cell

BASE = "base/seed-{seed}"
CELL = "{cell}"
SPLIT = f"{CELL}/split.json"
NEIGHBOURS = f"{CELL}/neighbours.npz"
PICTURES = f"{CELL}/pictures.npz"
ROW_CACHE = f"{CELL}/.numbers"  # cache of metrics per run
TUNE = f"{CELL}/tune/{{method}}"
TEACHER = f"{CELL}/local_teacher"  # the teacher of the selection rule `teacher`
SUPPORT_SIZE = f"{CELL}/support_size/seed-{{seed}}"
PROBE = f"{CELL}/probe/seed-{{seed}}"  # probes of all runs of a seed
SHADOW = "shadows/member-{member}"  # a model trained on a random part of the train set
EXPOSURE = f"{CELL}/exposure/{{run}}"  # a method applied to every shadow model
RUN = f"{CELL}/seed-{{seed}}/{{run}}"
RETRAIN = "retrain"  # the reference
ORIGINAL = "original"  # the control that is the base model; the reference without Retrain

MODEL = "model.safetensors"
OUTPUTS = "outputs.npz"
EMBEDDINGS = "embeddings.npz"
HISTORY = "history.csv"
EPOCHS = "epochs.npz"  # outputs of a tracked run after every epoch
RECORD = "record.json"  # of a job with its own folder
COST = "cost.json"
PREPARED = "prepared"  # in the folder of a run or a tuning: results of `prepare`, by name
PREPARED_TENSORS = "prepared.safetensors"
PREPARED_REPORT = "report.json"
TRIALS = "trials.csv"
SELECTED = "selected.json"
TEACHER_RESULT = "teacher.json"
SUPPORT_SIZES = "support_sizes.npz"
PROBE_RESULT = "probe.npz"
MARGINS = "margins.npz"  # of a shadow model
EXPOSURE_MARGINS = "exposure.npz"  # margins of all shadow models before and after unlearning
DATA_RECORD = "data.json"
NEIGHBOURS_RECORD = f"{CELL}/neighbours.json"
PICTURES_RECORD = f"{CELL}/pictures.json"
METRICS_RECORD = "metrics.json"
COSTS_RECORD = "costs.json"
# In the folder of the theory, beside those of benchmarks.
THEORY_POINTS = "theory.csv"  # values of the figures
THEORY_FINDINGS = "findings.csv"  # claims
THEORY_CHECKS = "checks.csv"
THEORY_FIGURES = ("synthetic", "retain-residual", "support")
# Records of files whose jobs share a folder, by the names of the files.
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
# Outputs of a job that trains a model.
RUN_FILES = {
    "model": MODEL,
    "outputs": OUTPUTS,
    "history": HISTORY,
    "record": RECORD,
    "cost": COST,
}

# JSON files that contain their own hash.
SIGNED = {RECORD, COST, PLAN, Path(SPLIT).name, *RECORDS.values()}


def run_folder(run: str) -> str:
    """Return the pattern of a run's folder; Original has the folder of the base model."""
    return BASE if run == ORIGINAL else RUN


def record_path(path: Path) -> Path:
    """Return the path of the record that lists a file."""
    is_shared = path.parent.name in (TABLES, FIGURES)  # folders with one record for all files
    return path.parent / (RECORD if is_shared else RECORDS.get(path.name, RECORD))


def paths_to_delete(path: Path) -> list[Path]:
    """Return the files and folders to delete so that a run makes this file again."""
    for above in path.parents:
        # A run that misses prepared files prepares them itself.
        if above.parent.name == PREPARED or above.name in (TABLES, FIGURES):
            return [above]
    return [path]
