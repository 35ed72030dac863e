"""What a training job asks a scheduler for, by the size of its data, its model and its work.

Limits, not estimates: enough for a GPU a quarter as fast as an A100, and doubled by each further
attempt, which goes on from the checkpoint of the one before. A workstation asks for none of it.
"""

from math import prod

from collateral.plan.rates import A100
from collateral.plan.workload import Workload

WORKLOADS = {name: Workload(benchmark) for name, benchmark in GRID.items()}
SLOWNESS = 4
# The MB that a batch of 256 images of 32 x 32 takes while it trains on a CPU; others: as ResNet-56.
BATCH_MB = {"resnet8": 400, "resnet14": 600, "resnet20": 700, "resnet56": 1500, "vit_tiny": 3000}
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
# torch with CUDA may take 3 GB of main memory before it works. Images are there once as
# bytes, padded batch by batch, and in parts as floats of four bytes: four times is room for all.
LEAST_MB, COPIES = 4000, 4


# Jobs of seconds to minutes that need no GPU, and the download, which may need the internet.
localrules:
    all,
    paper,
    data,
    split,
    splits,
    original,
    neighbours,
    metrics,
    theory,
    tables,
    figures,
    report,


def workload_of(w):
    return WORKLOADS[w.benchmark]


def memory(wildcards, attempt):
    """Return the main memory of a training job, in MB."""
    config = benchmark_of(wildcards).config
    batch = BATCH_MB.get(config.model, BATCH_MB["resnet56"]) * max(1, config.base.batch_size / 256)
    try:
        size = workload_of(wildcards).size
    except ValueError:  # the user's files are not sound, which the data job will say
        images = 0
    else:
        height, width, _ = size.shape
        batch *= height * width / 32**2
        images = size.num_examples * prod(size.shape) / 2**20
    return round(LEAST_MB + batch + COPIES * images) * 2 ** (attempt - 1)


remember_signatures([memory])


def minutes(work):
    """Return a resource function: the time limit of a job that computes so much."""

    def limit(wildcards, attempt):
        try:
            seconds = A100.seconds(work(wildcards), workload_of(wildcards).size.shape)
        except ValueError:  # as above, or the forget set's
            seconds = 0
        planned = max(round(SLOWNESS * seconds / 60), LEAST_MINUTES)
        return min(planned * 2 ** (attempt - 1), MOST_MINUTES)

    remember_signatures([limit])
    return limit


def base_work(w):
    return workload_of(w).base()


def retrain_work(w):
    return workload_of(w).retrain(cell_of(w))


def diagnose_work(w):
    return workload_of(w).diagnose(cell_of(w))


def tune_work(w):
    return workload_of(w).tune(cell_of(w), cell_of(w).runs[w.method])


def run_work(w):
    return workload_of(w).run(cell_of(w), run_of(w), int(w.seed))
