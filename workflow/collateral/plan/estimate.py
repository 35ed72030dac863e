"""The cost of a config before anything runs: jobs, hours and disk space, by formula."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from collateral.config.schema import Config
from collateral.contract import power
from collateral.contract.work import NO_WORK
from collateral.models._metadata import Shape
from collateral.plan.grid import Benchmark, build_grid
from collateral.plan.jobs import kinds, list_jobs
from collateral.plan.jobs._disk import tracked_bytes
from collateral.plan.jobs._job import Job
from collateral.plan.jobs.metrics import EXAMPLE_SECONDS
from collateral.plan.throughput import Rates
from collateral.plan.work import Workload, workload_of

# CPU seconds of the jobs that make tables, figures and pages, measured on an AMD EPYC: most are
# imports. There is one of each in a benchmark, and one in a config.
PRESENTING_SECONDS = {
    "plan": 3.0,
    "gather": 2.0,
    "tables": 2.0,
    "figures": 15.0,
    "report": 4.0,
    "check": 0.1,
}
SHARED_SECONDS = {"theory": 25.0, "index": 0.5}
SHARED_BYTES = 2_000_000  # of the page and the theory
# Of a job that trains: Snakemake, reading the data, writing; on a cluster also torch's import.
START_SECONDS, WARM_START_SECONDS = 10.0, 1.0


@dataclass
class Sum:
    """The cost of the jobs of one rule."""

    jobs: int = 0
    gpu_seconds: float = 0.0
    cpu_seconds: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Sum) -> Sum:
        """Return the sum of both."""
        return Sum(
            self.jobs + other.jobs,
            self.gpu_seconds + other.gpu_seconds,
            self.cpu_seconds + other.cpu_seconds,
            self.bytes + other.bytes,
        )


@dataclass
class Estimate:
    """The sums by rule, and the rates and sizes behind them."""

    rates: Rates
    workloads: list[Workload]
    in_flight: int  # jobs at a time
    of_rule: dict[str, Sum] = field(default_factory=dict)
    trained: set[tuple[str, Shape]] = field(default_factory=set)  # models, and image shapes

    def add(self, rule: str, part: Sum) -> None:
        """Add jobs of a rule."""
        self.of_rule[rule] = self.of_rule.get(rule, Sum()) + part

    def add_job(self, job: Job) -> None:
        """Add the seconds and the disk space of one job."""
        work, shape = job.work, job.workload.size.shape
        if work is NO_WORK:
            self.add(job.rule, Sum(1, 0.0, job.seconds, job.bytes))
            return
        seconds = start_seconds(self.rates) + self.rates.seconds(work, shape)
        gpu_seconds = seconds if self.rates.is_gpu else 0.0
        self.add(job.rule, Sum(1, gpu_seconds, seconds, job.bytes))
        self.trained |= {(model, shape) for model in work.models}

    @property
    def total(self) -> Sum:
        """Everything together."""
        return sum(self.of_rule.values(), Sum())

    @property
    def checkpoint_bytes(self) -> float:
        """The disk space of the checkpoints of running jobs, besides the results."""
        running = min(self.in_flight, sum(part.jobs for part in self.of_rule.values()))
        return running * max(map(checkpoint_bytes, self.workloads))

    @property
    def peak_bytes(self) -> float:
        """The most that is on disk at one time."""
        return self.total.bytes + self.checkpoint_bytes


def estimate(config: Config, rates: Rates, in_flight: int) -> Estimate:
    """Add up the jobs of a config on a device, with so many jobs at a time."""
    benchmarks = [*build_grid(config).values()]
    found = Estimate(rates, [*map(workload_of, benchmarks)], in_flight)
    found.of_rule |= {rule: Sum() for rule in (*kinds(), "track")}
    found.of_rule |= {rule: Sum(1, 0.0, seconds) for rule, seconds in SHARED_SECONDS.items()}
    found.of_rule["index"].bytes = SHARED_BYTES
    for benchmark in benchmarks:
        for rule, seconds in PRESENTING_SECONDS.items():
            found.add(rule, Sum(1, 0.0, seconds))
        for job in list_jobs(benchmark):
            found.add_job(job)
    return found


def start_seconds(rates: Rates) -> float:
    """Return the seconds that a job takes to start; on a CPU, warm workers run it."""
    return START_SECONDS if rates.is_gpu else WARM_START_SECONDS


def checkpoint_bytes(workload: Workload) -> int:
    """Return the bytes of a checkpoint: weights, those of the best epoch, two for AdamW, epochs."""
    cells = workload.benchmark.cells.values()
    runs = ((cell, run) for cell in cells for run in cell.unlearned if run.tracked)
    tracked = (tracked_bytes(workload, *one) for one in runs)
    return 4 * workload.facts.bytes(workload.size.num_classes) + max(tracked, default=0)


def lead(found: Estimate, cores: int = 1) -> str:
    """Return the main sentence: hours and disk space."""
    total, results = found.total, bytes_in_words(found.total.bytes)
    if found.rates.is_gpu:
        return f"{total.gpu_seconds / 3600:,.1f} GPU-hours, {results} of results."
    hours = total.cpu_seconds / 3600
    return f"About {duration(hours / cores)} on {cores} CPU cores, {results} of results."


def duration(hours: float) -> str:
    """Write hours as minutes, hours or days."""
    if hours < 2:
        return f"{max(1, round(60 * hours))} min"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"


def in_words(found: Estimate, free_bytes: int) -> str:
    """Return the estimate with its assumptions, and a warning if the disk is too small."""
    parts = (
        map(_heading, found.workloads),
        map(_shown_by_seeds, found.workloads),
        _table(found),
        _disk(found, free_bytes),
        _assumptions(found),
    )
    return "\n\n".join("\n".join(lines) for lines in parts)


def in_json(found: Estimate, free_bytes: int) -> str:
    """Return the estimate for machines; hours and bytes by kind of job."""
    content = {
        "device": found.rates.device,
        "kinds": {rule: _numbers(part) for rule, part in found.of_rule.items()},
        "total": _numbers(found.total),
        "checkpoint_bytes": round(found.checkpoint_bytes),
        "peak_bytes": round(found.peak_bytes),
        "free_bytes": free_bytes,
        "is_enough": found.peak_bytes <= free_bytes,
        "detectable": {work.benchmark.name: _detectable(work) for work in found.workloads},
        "assumptions": list(_assumed(found)),
    }
    return json.dumps(content, indent=2)


def bytes_in_words(size: float) -> str:
    """Write a size on disk."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.0f} kB"


def _heading(workload: Workload) -> str:
    size, benchmark = workload.size, workload.benchmark
    images = f"{size.num_train:,} + {sum(size.test):,} images of {_times(size.shape)}"
    runs = sum(len(cell.runs) + len(cell.given) for cell in benchmark.cells.values())
    return (
        f"{benchmark.name}: {benchmark.config.model}, {images}; cells: {len(benchmark.cells)}, "
        f"seeds: {len(benchmark.seeds)}, runs a seed: {runs}"
    )


def _shown_by_seeds(workload: Workload) -> str:
    benchmark = workload.benchmark
    shown = power.in_words(len(benchmark.seeds), _num_judged(benchmark))
    return f"{benchmark.name}: {shown}"


def _detectable(workload: Workload) -> float | None:
    benchmark = workload.benchmark
    least = power.detectable(len(benchmark.seeds), _num_judged(benchmark))
    return least if math.isfinite(least) else None


def _num_judged(benchmark: Benchmark) -> int:
    return len(benchmark.config.methods) + len(benchmark.config.given)


def _table(found: Estimate) -> Iterator[str]:
    yield f"{'kind':12}{'jobs':>8}{'GPU-hours':>12}{'CPU-hours':>12}{'disk':>12}"
    rules = sorted(found.of_rule.items(), key=lambda item: -item[1].cpu_seconds)
    for rule, part in [*rules, ("total", found.total)]:
        if part.jobs:
            yield _line(rule, part)


def _line(name: str, part: Sum) -> str:
    gpu = f"{part.gpu_seconds / 3600:.2f}" if part.gpu_seconds else "-"
    disk = bytes_in_words(part.bytes) if part.bytes else "-"
    return f"{name:12}{part.jobs:>8,}{gpu:>12}{part.cpu_seconds / 3600:>12.2f}{disk:>12}"


def _disk(found: Estimate, free_bytes: int) -> Iterator[str]:
    results, peak = (bytes_in_words(n) for n in (found.total.bytes, found.peak_bytes))
    yield (
        f"Disk: {results} of results, at most {peak} with the checkpoints of {found.in_flight} "
        f"jobs at a time; {bytes_in_words(free_bytes)} are free."
    )
    if found.peak_bytes > free_bytes:
        missing = bytes_in_words(found.peak_bytes - free_bytes)
        yield f"WARNING: the disk will not do: {missing} are missing (docs/scale.md, `Outputs`)."


def _assumptions(found: Estimate) -> Iterator[str]:
    yield f"Assumed, on {found.rates.device} ({found.rates.source}):"
    yield from (f"- {text}" for text in _assumed(found))


def _assumed(found: Estimate) -> Iterator[str]:
    for model, shape in sorted(found.trained):
        yield _rate(found.rates, model, shape)
    start = start_seconds(found.rates)
    yield f"a job that trains takes {start:g} s besides; a GPU job has one CPU core"
    yield "a run whose values are tuned costs the mean over its grid"
    yield "methods do what their params.py says; LTD's teacher takes its whole budget of epochs"
    yield f"metrics take {1e6 * EXAMPLE_SECONDS:.0f} µs for each example of each run"
    yield "hours are rough, ± 50 %: time limits double on every retry, and jobs resume"
    yield "not counted: the queue, jobs that are run again, the data set's own files"


def _rate(rates: Rates, model: str, shape: Shape) -> str:
    rate, anchor = rates.of(model, shape), rates.anchor(model, shape)
    text = f"{model} on {_times(shape)}: trains on {rate.training:,.0f} images/s, looks at "
    text += f"{rate.looking:,.0f}"
    if rate == anchor:
        return text
    text += f"; from {anchor.model} on {_times(anchor.shape)}, by multiply-adds"
    return text + (", and no more than a GPU's kernels allow" if rates.is_capped(rate) else "")


def _numbers(part: Sum) -> dict[str, float]:
    return {
        "jobs": part.jobs,
        "gpu_hours": part.gpu_seconds / 3600,
        "cpu_hours": part.cpu_seconds / 3600,
        "bytes": round(part.bytes),
    }


def _times(shape: Shape) -> str:
    return "x".join(map(str, shape))
