"""The disk space of models and their outputs, by formula."""

from __future__ import annotations

from collateral.plan.grid import Cell, RunSpec
from collateral.plan.work import Workload, num_tracked

LABEL_BYTES = 8
FLOAT_BYTES = 4
# For each example in outputs.npz: float16 logits (of many classes the ten largest with their
# classes, and one for the rest), the confidence and the prediction.
LOGIT_BYTES, OUTPUT_BYTES = 2, 4 + 8
MANY_CLASSES, SHORT_BYTES = 256, 10 * (2 + 2) + 2
TRACKED_BYTES = 4 + 2  # and in epochs.npz, for each epoch: the confidence and the prediction
BLOCK = 4096  # the smallest size of a file on disk
# History, record, cost and log of a run, and Snakemake's metadata of each of its five files.
RUN_BLOCKS = 4 + 5


def run_bytes(workload: Workload) -> int:
    """Return the bytes of a run's files: weights, outputs and small ones."""
    size = workload.size
    is_short = size.num_classes > MANY_CLASSES
    logits = SHORT_BYTES if is_short else LOGIT_BYTES * size.num_classes
    outputs = size.num_examples * (logits + OUTPUT_BYTES)
    return workload.facts.bytes(size.num_classes) + outputs + RUN_BLOCKS * BLOCK


def tracked_bytes(workload: Workload, cell: Cell, run: RunSpec) -> int:
    """Return the bytes of epochs.npz, which a tracked run writes."""
    return TRACKED_BYTES * workload.size.num_examples * num_tracked(run, workload.sizes(cell))
