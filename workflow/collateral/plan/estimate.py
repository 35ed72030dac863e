"""Estimate the cost of a config before anything runs: jobs, hours (± 50 %) and disk space.

Hours are images divided by images per second. Images are epochs times the examples that a job
touches (contract/work.py); speeds of models that were not measured are scaled by multiply-adds.

The limits of a job for a scheduler follow from the same numbers. They are rough: enough for a GPU
a quarter as fast as an A100. Each further attempt doubles them, and resumes from the checkpoint of
the one before. A workstation does not use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from collateral.config.schema import Config
from collateral.contract.work import NO_WORK, Work
from collateral.jobs import kinds, list_jobs
from collateral.jobs._job import Planned
from collateral.models._metadata import Shape, find_metadata
from collateral.plan.grid import Benchmark, build_grid
from collateral.plan.work import SizeUnknownError, Workload, find_workload
from collateral.plugins.find import MODEL

MEASURED_SHAPE = (32, 32, 3)  # image shape with which the shipped training speeds were measured
FORWARD = 3.0  # assumed speed of evaluation divided by speed of training
# Maximum number of training images per second, even for a very small network.
MOST_ON_A_GPU, MOST_ON_A_CPU = 50_000.0, 250_000.0
# CPU seconds of the jobs that make the tables, figures and page of a benchmark.
PRESENTING_SECONDS = {
    "plan": 0.5,
    "gather": 0.3,
    "tables": 0.3,
    "figures": 2.0,
    "report": 2.0,
    "check": 0.1,
}
# CPU seconds that each cell adds to the job of a rule, measured with 1 to 20 cells.
CELL_SECONDS = {"gather": 0.03, "tables": 0.05, "figures": 1.0, "report": 0.1}
# CPU seconds of the jobs that run once for all benchmarks.
SHARED_SECONDS = {"theory": 4.0, "index": 0.5}
SHARED_BYTES = 2_000_000  # bytes of the index page and of the results of the rule `theory`
# Seconds of a job besides training: on a GPU, where each job imports torch, and on a CPU.
START_SECONDS, WARM_START_SECONDS = 10.0, 0.2
SLOWNESS = 4  # time limit of a job divided by its estimated time on an A100
# Bytes per activation in training: float32 before and after batch norm, each with its gradient.
STEP_BYTES = 4 * 2 * 2
UNKNOWN_SHAPE = (32, 32, 3)  # assumed shape of images if the size of the data set is unknown
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
# Torch with CUDA needs up to 3 GB of main memory; images need at most four times their size.
LEAST_MB, COPIES = 4000, 4


@dataclass(frozen=True)
class Rate:
    """Training and evaluation speed of one model in images per second, for one image shape."""

    model: str
    shape: Shape
    training: Annotated[float, Field(gt=0)]  # images per second while training
    looking: Annotated[float, Field(gt=0)]  # images per second while evaluating


@dataclass(frozen=True)
class Rates:
    """Training and evaluation speed of all measured models on one device."""

    device: str
    is_gpu: bool
    source: str  # how the speeds were measured
    measured: Annotated[tuple[Rate, ...], Field(min_length=1)]

    def seconds(self, work: Work, shape: Shape) -> float:
        """Return the seconds that `work` takes on the device, for images of this shape."""
        rates = {model: self.find_rate(model, shape) for model in work.models}
        trained = sum(images / rates[model].training for model, images in work.trained.items())
        return trained + sum(images / rates[model].looking for model, images in work.seen.items())

    def find_rate(self, model: str, shape: Shape) -> Rate:
        """Return the speed of a model: measured, or estimated from its number of multiply-adds."""
        anchor = self.anchor(model, shape)
        if (anchor.model, anchor.shape) == (model, shape):
            return anchor
        ratio = _multiply_adds(anchor.model, anchor.shape) / _multiply_adds(model, shape)
        training, looking = ratio * anchor.training, ratio * anchor.looking
        most = self.most
        return Rate(model, shape, min(training, most), min(looking, FORWARD * most))

    @property
    def most(self) -> float:
        """Maximum that is assumed for training speeds that were not measured."""
        return MOST_ON_A_GPU if self.is_gpu else MOST_ON_A_CPU

    def anchor(self, model: str, shape: Shape) -> Rate:
        """Return the measured speed of this model or, if there is none, of the most similar model.

        The most similar model is of the same family, if one was measured; among several, it is the
        one with the most similar number of multiply-adds.
        """

        def difference(rate: Rate) -> tuple[bool, bool, float]:
            ratio = _multiply_adds(rate.model, rate.shape) / _multiply_adds(model, shape)
            is_related = MODEL.module(rate.model) == MODEL.module(model)
            return rate.model != model, not is_related, max(ratio, 1 / ratio)

        return min(self.measured, key=difference)

    def to_json(self) -> bytes:
        """Return the training speeds as JSON, in the format that `read_rates` reads."""
        return TypeAdapter(Rates).dump_json(self, indent=2)


def read_rates(path: Path) -> Rates:
    """Read the training speeds of models from a file that `--calibrate --save` wrote."""
    try:
        rates = TypeAdapter(Rates).validate_json(path.read_bytes())
    except ValidationError:
        raise ValueError(f"--rates: {path}: not a file that --calibrate --save wrote") from None
    for rate in rates.measured:
        if not MODEL.has(rate.model):
            raise ValueError(f"--rates: {path}: {MODEL.no_such(rate.model)}")
    return rates


def _multiply_adds(model: str, shape: Shape) -> int:
    return find_metadata(model, shape).multiply_adds


def _shipped(rates: Mapping[str, float]) -> tuple[Rate, ...]:
    return tuple(Rate(name, MEASURED_SHAPE, n, FORWARD * n) for name, n in rates.items())


A100 = Rates(
    "A100",
    is_gpu=True,
    source="implied by the paper's Retrain times",
    # ResNet-56: 200 epochs of 49,750 images in 1,559 s. ViT-Tiny: 100 epochs of 70,928 in 2,115 s.
    measured=_shipped({"resnet56": 6_400.0, "vit_tiny": 3_350.0}),
)
CPU = Rates(
    "one CPU thread",
    is_gpu=False,
    source="measured on an AMD EPYC with AVX-512, in float32, batches of 128",
    measured=_shipped(
        {
            "mlp": 19_000.0,
            "mnist_cnn": 4_000.0,
            "resnet8": 960.0,
            "resnet14": 490.0,
            "resnet20": 330.0,
            "resnet56": 116.0,
            "small_cnn": 750.0,
            "vit_tiny": 30.0,
        }
    ),
)
SHIPPED = {"a100": A100, "cpu": CPU}


@dataclass
class Sum:
    """The cost of the jobs of one rule."""

    jobs: int = 0
    gpu_seconds: float = 0.0
    cpu_seconds: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Sum) -> Sum:
        """Return the sum of two costs."""
        return Sum(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Estimate:
    """Estimated cost of each rule, and the training speeds and data sizes used to compute it."""

    rates: Rates
    workloads: list[Workload]
    in_flight: int  # maximum number of jobs that run at the same time
    of_rule: dict[str, Sum] = field(default_factory=dict)
    # Names of all models that jobs train or evaluate, each with the shape of its images.
    trained: set[tuple[str, Shape]] = field(default_factory=set)

    def add(self, rule: str, part: Sum) -> None:
        """Add the cost of some jobs of a rule."""
        self.of_rule[rule] = self.of_rule.get(rule, Sum()) + part

    def add_job(self, job: Planned) -> None:
        """Add the seconds and the disk space of one job."""
        work, shape, seconds = job.work, job.workload.size.shape, job.seconds
        if work is not NO_WORK:
            seconds = start_seconds(self.rates) + self.rates.seconds(work, shape)
        gpu_seconds = seconds if self.rates.is_gpu and work is not NO_WORK else 0.0
        self.add(job.rule, Sum(1, gpu_seconds, seconds, job.bytes))
        self.trained |= {(model, shape) for model in work.models}

    @property
    def total(self) -> Sum:
        """Sum of the estimates of all Snakemake rules."""
        return sum(self.of_rule.values(), Sum())

    @property
    def checkpoint_bytes(self) -> float:
        """Disk space of the checkpoints of all jobs that run at the same time, in bytes."""
        running = min(self.in_flight, sum(part.jobs for part in self.of_rule.values()))
        return running * max(map(checkpoint_bytes, self.workloads))

    @property
    def peak_bytes(self) -> float:
        """Largest disk space during a run, of results and checkpoints together, in bytes."""
        return self.total.bytes + self.checkpoint_bytes


def estimate(config: Config, rates: Rates, in_flight: int) -> Estimate:
    """Return the estimated cost of a config; at most `in_flight` jobs run at the same time."""
    benchmarks = [*build_grid(config).values()]
    found = Estimate(rates, [*map(find_workload, benchmarks)], in_flight)
    found.of_rule |= {rule: Sum() for rule in (*kinds(), "track")}
    found.of_rule |= {rule: Sum(1, 0.0, seconds) for rule, seconds in SHARED_SECONDS.items()}
    found.of_rule["index"].bytes = SHARED_BYTES
    for benchmark in benchmarks:
        for rule in PRESENTING_SECONDS:
            found.add(rule, Sum(1, 0.0, presenting_seconds(rule, len(benchmark.cells))))
        for job in list_jobs(benchmark):
            found.add_job(job)
    return found


def presenting_seconds(rule: str, num_cells: float) -> float:
    """Return the CPU seconds of a job that makes tables, figures or a page of a benchmark."""
    return PRESENTING_SECONDS[rule] + CELL_SECONDS.get(rule, 0.0) * num_cells


def start_seconds(rates: Rates) -> float:
    """Return the seconds that a job takes to start; few on a CPU, because a server forks jobs."""
    return START_SECONDS if rates.is_gpu else WARM_START_SECONDS


def checkpoint_bytes(workload: Workload) -> int:
    """Return the bytes of a checkpoint: four copies of the weights, and a tracked run's outputs."""
    # Copies of the weights: current ones, those of the best epoch, and two moments of AdamW.
    cells = workload.benchmark.cells.values()
    runs = ((cell, run) for cell in cells for run in cell.unlearned.values() if run.tracked)
    tracked = (workload.tracked_bytes(*one) for one in runs)
    return 4 * workload.facts.bytes(workload.size.num_classes) + max(tracked, default=0)


def duration(hours: float) -> str:
    """Format hours as minutes, hours or days."""
    if hours < 2:
        return f"{max(1, round(60 * hours))} min"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"


def bytes_in_words(size: float) -> str:
    """Format a number of bytes with a suitable unit, such as 1.5 GB."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.0f} kB"


def memory_mb(benchmark: Benchmark, attempt: int) -> int:
    """Return the main memory of a training job, in MB."""
    config = benchmark.config
    try:
        size = find_workload(benchmark).size
    except SizeUnknownError:
        shape, images = UNKNOWN_SHAPE, 0
    else:
        shape, images = size.shape, size.num_examples
    activations = find_metadata(config.model, shape).activations * config.base.batch_size
    needed = STEP_BYTES * activations + COPIES * images * prod(shape)
    return _doubled(round(LEAST_MB + needed / 2**20), attempt)


def minutes(job: Planned, attempt: int) -> int:
    """Return the time limit of a training job, in minutes."""
    try:
        seconds = A100.seconds(job.work, job.workload.size.shape)
    except SizeUnknownError:
        seconds = 0.0
    planned = max(round(SLOWNESS * seconds / 60), LEAST_MINUTES)
    return min(_doubled(planned, attempt), MOST_MINUTES)


def _doubled(amount: int, attempt: int) -> int:
    return amount << (attempt - 1)
