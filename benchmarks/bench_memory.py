"""Memory and disk: base training on CIFAR-100, the files of a run, and the whole paper config.

    python benchmarks/bench_memory.py [--quick]

The stage `train` runs in a process of its own, on as many random images of the same shape as
CIFAR-100 has, with the model and the parameters of configs/paper.yaml. It trains for one epoch of
three steps, because further steps need no more memory, and then evaluates all images. Memory is
measured with all the memory of this machine, and with the limit that SLURM would set for LITTLE_MB,
with which activations are recomputed. The process inherits the thresholds of malloc: `make bench`
sets those of `make run`, which cost memory.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from measure import ROOT, Row, run

from collateral.config.load import read
from collateral.config.schema import Config
from collateral.contract.params import TrainingParams
from collateral.data.cifar100 import CLASS_NAMES
from collateral.jobs.base import BaseJob
from collateral.plan.estimate import SHIPPED, estimate
from collateral.results import layout
from collateral.results.dataset import Dataset, Labels
from collateral.results.provenance import write_record

BENCHMARK = "cifar100"
JOBS = 100  # jobs at a time, as in profiles/slurm
LITTLE_MB = 1500  # memory limit in MB with which activations are recomputed
# The command `collateral` with epochs of three training steps.
FEW_STEPS = """
from itertools import islice
from collateral.cli import main
from collateral.training.examples import Examples
batches = Examples.batches
Examples.batches = lambda *args, **options: islice(batches(*args, **options), 3)
main()
"""


def draw(path: Path, counts: tuple[int, int]) -> None:
    """Write a data set of random images."""
    rng = np.random.default_rng(0)
    images = [rng.integers(256, size=(count, 32, 32, 3), dtype=np.uint8) for count in counts]
    labels = Labels(*(np.arange(count) % len(CLASS_NAMES) for count in counts), CLASS_NAMES)
    Dataset(*images, labels, (0.5,) * 3, (0.25,) * 3, padding=4, flip=True).save(path)
    write_record(layout.record_path(path), {}, root=path.parent, files=[path])


def train(config: Config, folder: Path, quick: bool, **limit: str) -> Path:
    """Run the stage with variables of SLURM that limit its memory; return the results' folder."""
    benchmark = config.benchmarks[BENCHMARK]
    job = BaseJob(
        benchmark=folder.name,
        model="resnet8" if quick else benchmark.model,
        seed=len(limit),
        params={**benchmark.base.model_dump(include={*TrainingParams.model_fields}), "epochs": 1},
    )
    words = ["run", job.text(), "--results", str(folder.parent)]
    stage = [sys.executable, "-c", FEW_STEPS, *words]
    subprocess.run(stage, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **limit})
    return folder / job.out


def read_peak(out: Path) -> float:
    """Return the peak memory of a job in GB."""
    mb: float = json.loads((out / layout.COST).read_text())["peak_rss_mb"]
    return mb * 2**20 / 1e9


def megabytes(files: Iterable[Path]) -> float:
    """Return the size of files in megabytes."""
    return sum(file.stat().st_size for file in files) / 1e6


def measure(quick: bool) -> list[Row]:
    """Measure the memory and the files of training; add up the disk use of the paper's config."""
    config = read(ROOT / "configs" / "paper.yaml")
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name) / "dataset.npz", (600, 100) if quick else (50_000, 10_000))
        little = read_peak(train(config, Path(name), quick, SLURM_MEM_PER_NODE=str(LITTLE_MB)))
        out = train(config, Path(name), quick)
        peak = read_peak(out)
        outputs = megabytes([out / layout.OUTPUTS])
        everything = megabytes(out / file for file in layout.RUN_FILES.values())
    whole = estimate(config, SHIPPED["a100"], JOBS)
    kept = os.environ.get("MALLOC_TRIM_THRESHOLD_", "its default")
    note = f"with checkpoints of {JOBS} jobs: {whole.peak_bytes / 1e9:.1f} GB"
    return [
        Row(
            f"CIFAR-100 base training, peak memory where a job has {LITTLE_MB} MB, GB",
            [little],
            at_most=1.5,
            note=f"malloc's trim threshold: {kept}",
        ),
        Row("CIFAR-100 base training, peak memory, GB", [peak], note="activations are kept"),
        Row(
            "outputs of a CIFAR-100 run, MB",
            [outputs],
            at_most=15,
            note=f"all its files {everything:.1f}; logits of a model of three steps, on noise",
        ),
        Row("configs/paper.yaml, results on disk, GB", [whole.total.bytes / 1e9], note=note),
    ]


if __name__ == "__main__":
    run(measure, __doc__)
