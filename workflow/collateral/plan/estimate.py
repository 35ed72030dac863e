"""Estimate the cost of a config before anything runs: jobs, hours and disk space.

Hours are images divided by images per second. Images are epochs times the examples that a job
touches (contract/work.py). Speeds are those that finished jobs measured on this machine and wrote
to cost.json, or those of a short calibration. For all other models, one number per device is
assumed; Snakemake's planning uses only finished jobs and this number.

The limits of a job for a scheduler follow from the same numbers. They are rough; each further
attempt doubles them, and resumes from the checkpoint of the one before. A workstation does not use
them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from math import prod
from pathlib import Path
from statistics import median
from typing import NamedTuple

from collateral.config.schema import Config
from collateral.contract.params import TrainingParams
from collateral.contract.work import FLOAT32, OWN
from collateral.jobs import kinds, list_jobs
from collateral.jobs._job import Planned
from collateral.models._metadata import Shape
from collateral.plan import paths
from collateral.plan.grid import Benchmark, build_grid
from collateral.plan.work import FLOAT_BYTES, SizeUnknownError, Workload, find_workload
from collateral.plugins.find import DATA
from collateral.results import layout
from collateral.results.provenance import read_signed
from collateral.results.record import SPEED, processor_name

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
FINISHED = "measured by finished jobs"
SLOWNESS = 4  # time limit of a job divided by its estimated time
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
UNKNOWN_SHAPE = (32, 32, 3)  # assumed shape of images if the size of the data set is unknown
LEAST_MB = 4000  # main memory of torch with CUDA, of Python, and of small models, in MB
# Main memory of the job that reads the data set: MB without the images, and number of copies of the
# images. If it reads the images in pieces: MB in all, and bytes of path and metadata per image.
LEAST_DATA_MB, IMAGE_COPIES = 1000, 3
PIECES_MB, ROW_BYTES = 500, 1500
WEIGHT_COPIES = 8  # weights, gradients, the optimizer's moments, the base, and those of a method
# Float32 copies of features and logits of all examples, while a model is evaluated: those of
# batches, and all together.
OUTPUT_COPIES = 2
# Float32 copies of what a method's `prepare` makes: the tensors, and the bytes of their file. An
# attack without a GPU has images, gradients and steps in main memory too.
PREPARED_COPIES, PREPARED_COPIES_ON_CPU = 2, 8
# Bytes of activations per pixel value of a batch in training: 64 float32 values. ResNet-18 at 224
# pixels has 209 bytes. Others have up to 20 times as many, which LEAST_MB covers for small images.
ACTIVATION_BYTES = 4 * 64


class TrainedModel(NamedTuple):
    """A model as it is trained: its name, the shape of its images, and the precision."""

    name: str
    shape: Shape
    precision: str

    def __str__(self) -> str:
        """Return the model as text, such as `resnet8 on 32x32x3`."""
        precision = "" if self.precision == FLOAT32 else f" in {self.precision}"
        return f"{self.name} on {'x'.join(map(str, self.shape))}{precision}"


class Speed(NamedTuple):
    """Training speed of a model."""

    images_per_second: float
    source: str  # how it was measured, or that it is assumed


@dataclass(frozen=True)
class Speeds:
    """Training speeds of models on one device."""

    device: str
    is_gpu: bool
    # Assumed speed of all models that were not measured, in pixel values of images per second.
    values_per_second: float
    measured: Mapping[TrainedModel, Speed] = field(default_factory=dict)

    def find(self, model: TrainedModel) -> Speed:
        """Return the measured or, if there is none, the assumed training speed of a model."""
        assumed = f"assumed: {self.values_per_second:,.0f} pixel values/s, whatever the model"
        speed = Speed(self.values_per_second / prod(model.shape), assumed)
        return self.measured.get(model, speed)

    def seconds(self, work: Iterable[tuple[TrainedModel, float]]) -> float:
        """Return the seconds of training each of these models on its number of images."""
        return sum(images / self.find(model).images_per_second for model, images in work)


# A100: ResNet-56 trains on 6,400 images per second, as the paper's Retrain times imply.
SHIPPED = {
    "a100": Speeds("A100", is_gpu=True, values_per_second=6_400.0 * 32 * 32 * 3),
    "cpu": Speeds("one CPU thread", is_gpu=False, values_per_second=1e6),
}


def trained_models(job: Planned) -> list[tuple[TrainedModel, float]]:
    """Return the models that a job trains or evaluates, each with its number of images."""
    shape = job.workload.size.shape
    own = TrainedModel(job.model, shape, job.precision)
    return [
        (own if name == OWN else TrainedModel(name, shape, FLOAT32), images)
        for name, images in job.work.images.items()
    ]


def list_models(config: Config) -> dict[TrainedModel, TrainingParams]:
    """Return all models that the jobs of a config train, with the hyper-parameters of `base:`."""
    jobs = [job for benchmark in build_grid(config).values() for job in list_jobs(benchmark)]
    return {model: job.benchmark.config.base for job in jobs for model, _ in trained_models(job)}


def finished_speeds(results: Path, *, is_gpu: bool) -> dict[TrainedModel, Speed]:
    """Return the training speeds of finished base models, on a GPU or on a processor like this one.

    Of several base models, the median counts.
    """
    found: dict[TrainedModel, list[float]] = defaultdict(list)
    for path in results.glob(f"*/{layout.BASE.format(seed='*')}/{layout.COST}"):
        # A file that is damaged, or that an older version wrote, has no speed.
        with suppress(KeyError, TypeError, ValueError):
            cost = read_signed(path)
            name, shape, precision = cost[SPEED]["model"]
            is_alike = is_gpu or cost["processor"] == processor_name()
            if is_alike and is_gpu == (cost["device"] == "cuda"):
                model = TrainedModel(name, tuple(shape), precision)
                found[model].append(cost[SPEED]["images_per_second"])
    return {model: Speed(median(speeds), FINISHED) for model, speeds in found.items()}


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

    speeds: Speeds
    workloads: list[Workload]
    in_flight: int  # maximum number of jobs that run at the same time
    of_rule: dict[str, Sum] = field(default_factory=dict)
    trained: set[TrainedModel] = field(default_factory=set)  # by all jobs

    def add(self, rule: str, part: Sum) -> None:
        """Add the cost of some jobs of a rule."""
        self.of_rule[rule] = self.of_rule.get(rule, Sum()) + part

    def add_job(self, job: Planned) -> None:
        """Add the seconds and the disk space of one job."""
        seconds, work = job.seconds, trained_models(job)
        if work:
            seconds = start_seconds(self.speeds) + self.speeds.seconds(work)
        gpu_seconds = seconds if self.speeds.is_gpu and work else 0.0
        self.add(job.rule, Sum(1, gpu_seconds, seconds, job.bytes))
        self.trained |= {model for model, _ in work}

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


def estimate(config: Config, speeds: Speeds, in_flight: int) -> Estimate:
    """Return the estimated cost of a config; at most `in_flight` jobs run at the same time."""
    benchmarks = [*build_grid(config).values()]
    found = Estimate(speeds, [*map(find_workload, benchmarks)], in_flight)
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


def start_seconds(speeds: Speeds) -> float:
    """Return the seconds that a job takes to start; few on a CPU, because a server forks jobs."""
    return START_SECONDS if speeds.is_gpu else WARM_START_SECONDS


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


def memory_mb(job: Planned, attempt: int, *, has_gpu: bool) -> int:
    """Return the main memory of a job with a model, in MB.

    Images are mapped from their file, so that they need none. With a GPU, activations are there.
    """
    workload = job.workload
    try:
        size, facts = workload.size, workload.facts
        values, needed = prod(size.shape), WEIGHT_COPIES * facts.bytes(size.num_classes)
        outputs = size.num_examples * (facts.features + size.num_classes)
        needed += OUTPUT_COPIES * FLOAT_BYTES * outputs
    except SizeUnknownError:
        values, needed = prod(UNKNOWN_SHAPE), 0
    with suppress(SizeUnknownError):
        copies = PREPARED_COPIES if has_gpu else PREPARED_COPIES_ON_CPU
        needed += copies * FLOAT_BYTES * job.prepared_numbers
    if not has_gpu:
        needed += ACTIVATION_BYTES * job.benchmark.config.base.batch_size * values
    return _megabytes(LEAST_MB, needed, attempt)


def data_mb(benchmark: Benchmark, attempt: int) -> int:
    """Return the main memory of the job that reads the data set, in MB."""
    module = DATA.load(benchmark.config.data["name"])
    is_in_pieces = hasattr(module, "open_pieces")
    least = getattr(module, "MEMORY_MB", PIECES_MB if is_in_pieces else LEAST_DATA_MB)
    try:
        size = find_workload(benchmark).size
        each = ROW_BYTES if is_in_pieces else IMAGE_COPIES * size.image_bytes
        needed = each * size.num_examples
    except SizeUnknownError:
        needed = 0
    return _megabytes(least, needed, attempt)


def minutes(job: Planned, attempt: int) -> int:
    """Return the time limit of a training job, in minutes."""
    try:
        seconds = planned_speeds().seconds(trained_models(job))
    except SizeUnknownError:
        seconds = 0.0
    planned = max(round(SLOWNESS * seconds / 60), LEAST_MINUTES)
    return min(_doubled(planned, attempt), MOST_MINUTES)


@cache
def planned_speeds() -> Speeds:
    """Return the speeds for time limits: of finished jobs on GPUs, else the assumed one."""
    measured = finished_speeds(Path(paths.RESULTS), is_gpu=True)
    return replace(SHIPPED["a100"], measured=measured)


def _megabytes(least: int, needed: int, attempt: int) -> int:
    return _doubled(round(least + needed / 2**20), attempt)


def _doubled(amount: int, attempt: int) -> int:
    return amount << (attempt - 1)
