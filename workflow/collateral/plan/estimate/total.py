"""All jobs of a config, their seconds and their bytes, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from collateral.config.schema import Config
from collateral.models._facts import Shape
from collateral.plan.estimate.disk import SHARED_BYTES, benchmark_bytes, checkpoint_bytes
from collateral.plan.estimate.jobs import Jobs, benchmark_jobs, shared_jobs
from collateral.plan.grid import build_grid
from collateral.plan.rates import Rates
from collateral.plan.workload import Workload

# Of a job that trains: Snakemake, the data, the last write; on a cluster, torch's import as well.
START_SECONDS, WARM_START_SECONDS = 10.0, 1.0


@dataclass
class Sum:
    """What the jobs of one kind take."""

    jobs: int = 0
    gpu_seconds: float = 0.0
    cpu_seconds: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Sum) -> Sum:
        """Return both together."""
        return Sum(
            self.jobs + other.jobs,
            self.gpu_seconds + other.gpu_seconds,
            self.cpu_seconds + other.cpu_seconds,
            self.bytes + other.bytes,
        )


@dataclass
class Estimate:
    """The sums by rule, and what they were made of."""

    rates: Rates
    workloads: list[Workload]
    in_flight: int  # jobs at a time
    of_rule: dict[str, Sum] = field(default_factory=dict)
    trained: set[tuple[str, Shape]] = field(default_factory=set)  # models, and what they see

    @property
    def total(self) -> Sum:
        """Everything together."""
        return sum(self.of_rule.values(), Sum())

    @property
    def checkpoint_bytes(self) -> float:
        """What the checkpoints of the jobs at work may take, besides the results."""
        at_work = min(self.in_flight, sum(part.jobs for part in self.of_rule.values()))
        return at_work * max(map(checkpoint_bytes, self.workloads))

    @property
    def peak_bytes(self) -> float:
        """The most that is on disk at one time."""
        return self.total.bytes + self.checkpoint_bytes


def estimate(config: Config, rates: Rates, in_flight: int) -> Estimate:
    """Add up what a config takes on a device, with so many jobs at a time."""
    workloads = [Workload(benchmark) for benchmark in build_grid(config).values()]
    found = Estimate(rates, workloads, in_flight)
    _add(found, shared_jobs(), (0, 0, 0))
    for workload in workloads:
        _add(found, benchmark_jobs(workload), workload.size.shape)
        for rule, taken in benchmark_bytes(workload).items():
            found.of_rule[rule] = found.of_rule.get(rule, Sum()) + Sum(bytes=taken)
    found.of_rule["index"] += Sum(bytes=SHARED_BYTES)
    return found


def job_seconds(job: Jobs, shape: Shape, rates: Rates) -> float:
    """Return how long one of these jobs takes."""
    if not job.trains:
        return job.seconds
    return start_seconds(rates) + rates.seconds(job.work, shape)


def start_seconds(rates: Rates) -> float:
    """Return what a job that trains takes besides; on a CPU, workers that stay warm run it."""
    return START_SECONDS if rates.is_gpu else WARM_START_SECONDS


def _add(found: Estimate, jobs: Iterable[Jobs], shape: Shape) -> None:
    for job in jobs:
        seconds = job.count * job_seconds(job, shape, found.rates)
        gpu_seconds = seconds if job.trains and found.rates.is_gpu else 0.0
        found.of_rule[job.rule] = found.of_rule.get(job.rule, Sum()) + Sum(
            job.count, gpu_seconds, seconds
        )
        found.trained |= {(model, shape) for model in job.work.models}
