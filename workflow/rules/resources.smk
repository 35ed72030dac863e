"""What a training job asks a scheduler for, by the size of its data, its model and its work.

Limits, not estimates: enough for a GPU a quarter as fast as an A100, and doubled by each further
attempt, which goes on from the checkpoint of the one before. A workstation asks for none of it.
"""

# One pass of a ResNet-56 over one MB of images. The paper's Retrain time on an A100 (200 epochs of
# 49,750 images of 3 kB in 1,559 s) makes 0.05 s; a quarter of that speed is taken for granted.
SECONDS_PER_MB = 0.2
# Time of a pass, ResNet-56 being 1. A small network's time goes with its depth, not its arithmetic.
MODEL_COST = {"resnet8": 0.15, "resnet14": 0.25, "resnet20": 0.4, "vit_tiny": 3}
# Passes that a method may need besides its epochs: embeddings, teacher, attack, final outputs.
OTHER_PASSES = 20
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
# torch with CUDA may take 3 GB of main memory before it works. Images are there up to four times:
# as read, as padded, and in parts as floats.
LEAST_MB, COPIES = 4000, 4


# Jobs of seconds, and the download, which may need the internet: none is worth a place in a queue.
localrules:
    all,
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


def megabytes(file):
    return os.path.getsize(file) / 2**20


def memory(wildcards, input, attempt):
    """Return the main memory of a training job, in MB."""
    return round(LEAST_MB + COPIES * megabytes(input.data)) * 2 ** (attempt - 1)


def minutes(passes):
    """Return a resource function: the time limit of a job that passes over the data so often."""

    def limit(wildcards, input, attempt):
        cost = MODEL_COST.get(benchmark_of(wildcards).config.model, 1)
        seconds = passes(wildcards) * megabytes(input.data) * cost * SECONDS_PER_MB
        return min(max(round(seconds / 60), LEAST_MINUTES) * 2 ** (attempt - 1), MOST_MINUTES)

    return limit


def training_passes(w):
    return benchmark_of(w).config.base.epochs + 1


def run_passes(w):
    run = run_of(w)
    # A tracked run passes over all data once more an epoch, forward alone.
    return epochs_of(run) * (2 if run.tracked else 1) + OTHER_PASSES


def tune_passes(w):
    run = cell_of(w).runs[w.method]
    # The defaults are tried beside the grid; every trial is evaluated.
    return (len(run.method.trials()) + 1) * (epochs_of(run) + 2) + OTHER_PASSES


def diagnose_passes(w):
    return len(benchmark_of(w).config.support_size.k) * OTHER_PASSES


def epochs_of(run):
    """Return a method's passes over the data; one that counts otherwise has none to tell."""
    return getattr(run.params, "epochs", 0)
