"""What a benchmark's results take on disk, by formula."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from collateral.plan.grid import Cell, RunSpec
from collateral.plan.preparation import preparations_of
from collateral.plan.workload import Workload, num_tracked

LABEL_BYTES = 8
FLOAT_BYTES = 4
# For each example in outputs.npz: float16 logits (of many classes the ten largest with their
# classes, and one for the rest), the confidence and the prediction.
LOGIT_BYTES, OUTPUT_BYTES = 2, 4 + 8
MANY_CLASSES, SHORT_BYTES = 256, 10 * (2 + 2) + 2
TRACKED_BYTES = 4 + 2  # and in epochs.npz, for each epoch: the confidence and the prediction
# For each example of a shadow model: whether it saw it, and its margin; before and after a method.
MARGIN_BYTES, EXPOSED_BYTES = 1 + 4, 1 + 4 + 4
BLOCK = 4096  # the least that a file takes
# History, record, cost and log of a run, and Snakemake's note of each of its five files.
RUN_BLOCKS = 4 + 5
# A cell's metrics, tables and figures; the page, the theory.
CELL_BYTES, SHARED_BYTES = 1_000_000, 2_000_000
# Images in a cell's pictures.npz, at most: near ones, with the forgotten one nearest to each,
# and the forgotten that are most alike, as the stage `neighbours` counts them.
NUM_SHOWN = 2 * (48 + 48) + 12


def benchmark_bytes(workload: Workload) -> dict[str, float]:
    """Return the bytes of a benchmark's files by the rule that writes them."""
    size, benchmark = workload.size, workload.benchmark
    num_seeds, num_cells = len(benchmark.seeds), len(benchmark.cells)
    retrain = benchmark.config.retrain
    embeddings = FLOAT_BYTES * size.num_examples * workload.facts.features
    similarities = FLOAT_BYTES * num_seeds * size.num_examples
    of_rule = {
        "data": size.num_examples * (prod(size.shape) + 2 * LABEL_BYTES),
        "base": len(benchmark.base_seeds()) * (run_bytes(workload) + embeddings),
        "retrain": num_cells * num_seeds * run_bytes(workload) * (retrain is not None),
        "given": num_cells * num_seeds * run_bytes(workload) * len(benchmark.config.given),
        "neighbours": num_cells * similarities,
        "pictures": num_cells * NUM_SHOWN * prod(size.shape),
        "metrics": num_cells * CELL_BYTES,
        "probe": 0.0,
        "shadow": shadow_bytes(workload),
        "expose": 0.0,
        "teacher": 0.0,
        "tune": 0.0,
        "unlearn": 0.0,
        "track": 0.0,
    }
    for cell in benchmark.cells.values():
        for rule, taken in _cell_bytes(workload, cell):
            of_rule[rule] += taken
    return of_rule


def run_bytes(workload: Workload) -> int:
    """Return the bytes of a run's files: weights, outputs and small ones."""
    size = workload.size
    is_short = size.num_classes > MANY_CLASSES
    logits = SHORT_BYTES if is_short else LOGIT_BYTES * size.num_classes
    outputs = size.num_examples * (logits + OUTPUT_BYTES)
    return workload.facts.bytes(size.num_classes) + outputs + RUN_BLOCKS * BLOCK


def shadow_bytes(workload: Workload) -> float:
    """Return the bytes of the shadow pool; nothing where there is none."""
    shadows, size = workload.benchmark.config.shadows, workload.size
    weights = workload.facts.bytes(size.num_classes)
    each = weights + MARGIN_BYTES * size.num_train + RUN_BLOCKS * BLOCK
    return shadows.count * each if shadows else 0.0


def tracked_bytes(workload: Workload, cell: Cell, run: RunSpec) -> int:
    """Return the bytes of what a tracked run keeps of every epoch."""
    return TRACKED_BYTES * workload.size.num_examples * num_tracked(run, workload.sizes(cell))


def checkpoint_bytes(workload: Workload) -> int:
    """Return the bytes of a checkpoint: weights, those of the best epoch, two for AdamW, epochs."""
    cells = workload.benchmark.cells.values()
    runs = ((cell, run) for cell in cells for run in cell.unlearned if run.tracked)
    tracked = (tracked_bytes(workload, *one) for one in runs)
    return 4 * workload.facts.bytes(workload.size.num_classes) + max(tracked, default=0)


def _cell_bytes(workload: Workload, cell: Cell) -> Iterator[tuple[str, float]]:
    num_seeds, sizes = len(workload.benchmark.seeds), workload.sizes(cell)
    preparations = preparations_of(cell)
    if cell.probed:
        # A share by run and example, the logits of an untrained net; record, cost and log.
        numbers = sizes.forget * (len(cell.probed) + sizes.classes)
        yield "probe", num_seeds * (FLOAT_BYTES * numbers + 3 * BLOCK)
    if shadows := workload.benchmark.config.shadows:
        margins = EXPOSED_BYTES * shadows.count * workload.size.num_train
        yield "expose", len(cell.exposed) * (margins + RUN_BLOCKS * BLOCK)
    if cell.teacher:
        yield "teacher", FLOAT_BYTES * cell.teacher.params.prepared_numbers(sizes)
    for name in cell.tuned:
        made = preparations.of_tuning(cell.runs[name]).made
        yield "tune", FLOAT_BYTES * sum(params.prepared_numbers(sizes) for params in made)
    for run in cell.unlearned:
        tracked = tracked_bytes(workload, cell, run) if run.tracked else 0
        yield run.rule, num_seeds * (run_bytes(workload) + tracked)
        for is_first_seed, count in ((True, 1), (False, num_seeds - 1)):
            made = preparations.of_run(run, is_first_seed=is_first_seed).made
            numbers = sum(params.prepared_numbers(sizes) for params in made)
            # It keeps what it prepared for the one choice that it got.
            yield run.rule, count * FLOAT_BYTES * numbers / max(1, len(run.preparations))
