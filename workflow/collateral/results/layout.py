"""Where everything lies below a benchmark's folder; rules and readers take the names from here.

Patterns have Snakemake's wildcards in braces.
"""

DATA = "dataset.npz"
LABELS = "labels.npz"
PLAN = "plan.json"
METRICS = "metrics.csv"
COSTS = "costs.csv"
PROBLEMS = "problems.json"  # findings that raised
REPORT = "report.html"
REPORT_PROBLEMS = "report-problems.json"
GLANCE = "glance.json"  # what the index says of a page
TABLES = "tables"
FIGURES = "figures"
CAPTIONS = "captions.json"  # in the figures' folder of a cell

BASE = "base/seed-{seed}"
CELL = "{cell}"
SPLIT = f"{CELL}/split.json"
NEIGHBOURS = f"{CELL}/neighbours.npz"
TUNE = f"{CELL}/tune/{{method}}"
SUPPORT_SIZE = f"{CELL}/support_size/seed-{{seed}}"
RUN = f"{CELL}/seed-{{seed}}/{{run}}"
RETRAIN = "retrain"  # the run that all others are compared with
ORIGINAL = "original"  # the control that is the base model itself

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
SUPPORT_SIZES = "support_sizes.npz"
# What a job that makes a model writes.
RUN_FILES = {
    "model": MODEL,
    "outputs": OUTPUTS,
    "history": HISTORY,
    "record": RECORD,
    "cost": COST,
}
