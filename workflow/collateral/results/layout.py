"""Names of all files and folders below a benchmark's folder.

Patterns have Snakemake's wildcards in braces.
"""

from pathlib import Path

DATA = "dataset.npz"
LABELS = "labels.npz"
PLAN = "plan.json"
METRICS = "metrics.csv"
COSTS = "costs.csv"
PROBLEMS = "problems.json"  # file with the errors that findings raised
GATES = "gates.json"  # file with the outcomes of sanity checks
REPORT = "report.html"
REPORT_PROBLEMS = "report-problems.json"
GLANCE = "glance.json"  # file with the summary of a benchmark that the index page shows
CHECKED = "check.done"  # empty file, written if no finding raised an error
TABLES = "tables"
FIGURES = "figures"
CAPTIONS = "captions.json"  # file with the captions of a cell's figures

BASE = "base/seed-{seed}"
CELL = "{cell}"
SPLIT = f"{CELL}/split.json"
NEIGHBOURS = f"{CELL}/neighbours.npz"
# File with the forecast of `collateral forecast`, made before anything was unlearned.
FORECAST = f"{CELL}/forecast.json"
PICTURES = f"{CELL}/pictures.npz"
ROW_CACHE = f"{CELL}/.numbers"  # folder with cached metrics of each run
TUNE = f"{CELL}/tune/{{method}}"
# Folder of the LTD teacher that tuning uses if its selection rule is `teacher`.
TEACHER = f"{CELL}/local_teacher"
SUPPORT_SIZE = f"{CELL}/support_size/seed-{{seed}}"
PROBE = f"{CELL}/probe/seed-{{seed}}"  # folder with the probe results of all runs of a seed
SHADOW = "shadows/member-{member}"  # folder of a shadow model, trained on a random part of the data
EXPOSURE = f"{CELL}/exposure/{{run}}"  # folder of a method's results on all shadow models
RUN = f"{CELL}/seed-{{seed}}/{{run}}"
RETRAIN = "retrain"  # name of the run retrained without the forget set, the usual reference
# Name of the base model as a run: a control, or the reference if Retrain is not run.
ORIGINAL = "original"
# Name of Retrain of the same seed as a run, where Retrain of another seed is the reference.
RETRAINED = "retrained"

MODEL = "model.safetensors"
OUTPUTS = "outputs.npz"
EMBEDDINGS = "embeddings.npz"
HISTORY = "history.csv"
EPOCHS = "epochs.npz"  # file with the outputs of a tracked run after every epoch
LOGS, THEORY = "logs", "theory"  # folders beside those of benchmarks
RECORD = "record.json"  # name of the record of a job that has its own folder
COST = "cost.json"
PREPARED = "prepared"  # folder with results of `prepare`, in the folder of a run or of tuning
PREPARED_TENSORS = "prepared.safetensors"
PREPARED_REPORT = "report.json"
TRIALS = "trials.csv"
SELECTED = "selected.json"
TEACHER_RESULT = "teacher.json"
SUPPORT_SIZES = "support_sizes.npz"
PROBE_RESULT = "probe.npz"
MARGINS = "margins.npz"  # file with the margins of a shadow model
# File with margins of all shadow models before and after unlearning.
EXPOSURE_MARGINS = "exposure.npz"
DATA_RECORD = "data.json"
NEIGHBOURS_RECORD = f"{CELL}/neighbours.json"
PICTURES_RECORD = f"{CELL}/pictures.json"
METRICS_RECORD = "metrics.json"
COSTS_RECORD = "costs.json"
# Files in the folder of the theory, which is beside the folders of benchmarks.
THEORY_POINTS = "theory.csv"  # file with the values of the theory's figures
THEORY_FINDINGS = "findings.csv"  # file with the claims of the theory
THEORY_CHECKS = "checks.csv"
THEORY_STATEMENTS = "statements.json"  # file with a sentence per proposition: does it hold?
THEORY_FIGURES = ("synthetic", "retain-residual", "support")
# Names of the files and folders that are derived from several runs.
# CELL_NUMBERS are in the folder of a cell, PRESENTED in the folder of a benchmark.
CELL_NUMBERS = (METRICS, METRICS_RECORD, COSTS, COSTS_RECORD, PROBLEMS)
PRESENTED = (
    *(PLAN, *CELL_NUMBERS, GATES, TABLES, FIGURES),
    *(REPORT, REPORT_PROBLEMS, GLANCE),
)
# Name of the record that lists a file, by file name.
# It is for folders into which several jobs write.
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
# Names of the files that a record in their folder, or above it, must list.
RECORDED = {
    *(MODEL, OUTPUTS, HISTORY, EPOCHS, EMBEDDINGS, MARGINS, EXPOSURE_MARGINS, SUPPORT_SIZES),
    *(TRIALS, SELECTED, TEACHER_RESULT, PROBE_RESULT, PREPARED_TENSORS, *RECORDS),
}
# Names of folders, which no benchmark, cell or run may have.
RESERVED = {
    *(TABLES, FIGURES, RETRAIN, LOGS, THEORY),
    *(
        part
        for folder in (BASE, TUNE, TEACHER, SUPPORT_SIZE, PROBE, SHADOW, EXPOSURE)
        for part in folder.split("/")
        if "{" not in part
    ),
}
# Output files of a job that trains a model; RUN_FILES also has its record and its cost.
MODEL_FILES = {"model": MODEL, "outputs": OUTPUTS, "history": HISTORY}
RUN_FILES = {**MODEL_FILES, "record": RECORD, "cost": COST}

# Records that are results themselves: what was made is at the top level, for readers.
OPEN_RECORDS = {Path(SPLIT).name, GLANCE}
# JSON files that contain their own hash.
SIGNED = {RECORD, COST, PLAN, Path(SPLIT).name, Path(FORECAST).name, *RECORDS.values()}


def is_sweep(run: str) -> bool:
    """Tell whether a run belongs to a sweep: `ltd@k=50` is LTD with another value of k."""
    return "@" in run


def run_folder(run: str) -> str:
    """Return the path pattern of a run's folder; for Original, that of the base model's folder."""
    if run == RETRAINED:
        return RUN.replace("{run}", RETRAIN)
    return BASE if run == ORIGINAL else RUN


def record_path(path: Path) -> Path:
    """Return the path of the record that lists a file."""
    # All files in the folder of tables, or of figures, are listed in one record.
    is_shared = path.parent.name in (TABLES, FIGURES)
    return path.parent / (RECORD if is_shared else RECORDS.get(path.name, RECORD))


def paths_to_delete(path: Path) -> list[Path]:
    """Return the files and folders to delete so that the next run makes a given file again."""
    for above in path.parents:
        # Folders of tables, of figures, and of one call of `prepare` are deleted as a whole.
        if above.parent.name == PREPARED or above.name in (TABLES, FIGURES):
            return [above]
    return [path]
