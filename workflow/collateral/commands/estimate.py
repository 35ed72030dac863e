"""Estimate the cost of a config before anything runs: jobs, GPU-hours, CPU-hours, disk."""

import logging
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import Annotated

from collateral.commands.doctor import free_bytes
from collateral.config.load import read
from collateral.config.schema import Config
from collateral.contract.work import count_cores
from collateral.jobs.metrics import EXAMPLE_SECONDS
from collateral.plan import estimate as plan
from collateral.plan import paths
from collateral.plan.estimate import SHIPPED, Estimate, Speed, Speeds, Sum, bytes_in_words
from collateral.plan.slurm import IN_FLIGHT
from collateral.plan.work import Workload

LOG = logging.getLogger(__name__)
THIS = {True: "a GPU of this machine", False: "one CPU thread of this machine"}
POWER = "collateral.metrics.power"  # module that imports SciPy


def estimate(
    config: Annotated[Path, "a config, such as configs/paper.yaml"],
    *,
    device: Annotated[
        str | None,
        "device whose speed is assumed for all models; by default speeds are measured here",
        {"choices": SHIPPED},
    ] = None,
    calibrate: Annotated[
        bool, "measure all speeds now, in place of those of finished jobs"
    ] = False,
    jobs: Annotated[
        int | None, f"number of jobs at a time; default: {IN_FLIGHT} with GPUs, else one per core"
    ] = None,
    results: Annotated[
        Path, "folder of results, whose jobs give speeds and whose disk must have room"
    ] = Path(paths.RESULTS),
    json: Annotated[bool, "print JSON instead of text"] = False,
) -> None:
    """Print the estimated jobs, hours and disk space of a config."""
    wanted, cores = read(config, "config"), count_cores()
    chosen = select_speeds(wanted, device, results, calibrate=calibrate)
    num_jobs = jobs or (IN_FLIGHT if chosen.is_gpu else cores)
    found, free = plan.estimate(wanted, chosen, num_jobs), free_bytes(results)
    if json:
        print(in_json(found, free))
        return
    print(in_words(found, free, cores))
    if not (chosen.is_gpu or device):
        elsewhere = lead(plan.estimate(wanted, SHIPPED["a100"], IN_FLIGHT))
        print(f"\nNo GPU is here. Very roughly, with --device a100: {elsewhere}")


def select_speeds(config: Config, device: str | None, results: Path, *, calibrate: bool) -> Speeds:
    """Return the training speeds of a named device, or those measured on this machine."""
    if device and calibrate:
        raise ValueError("--calibrate: not with --device; leave one of them out")
    if device:
        return SHIPPED[device]
    here = SHIPPED[default_device()]
    finished = {} if calibrate else plan.finished_speeds(results, is_gpu=here.is_gpu)
    return calibrated(config, replace(here, device=THIS[here.is_gpu], measured=finished))


def calibrated(config: Config, speeds: Speeds) -> Speeds:
    """Add measurements of the models of a config that have none; each takes about two seconds."""
    found = {**speeds.measured}
    for model, params in plan.list_models(config).items():
        if model in found:
            continue
        try:
            # Imported here and not at the top, because `calibration` imports torch.
            calibration = import_module("collateral.training.calibration")
            speed = calibration.measure(model, params)
        except (ImportError, RuntimeError, ValueError) as error:
            LOG.warning("%s: its speed cannot be measured here: %s", model, error)
        else:
            found[model] = Speed(speed, "measured now, on noise")
    return replace(speeds, measured=found)


def default_device() -> str:
    """Return the device whose training speeds are assumed: a100 if there is a GPU, else cpu."""
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") == ""
    return "a100" if shutil.which("nvidia-smi") and not is_hidden else "cpu"


def lead(found: Estimate, cores: int = 1) -> str:
    """Return the main sentence of the estimate: hours and disk space."""
    total, results = found.total, bytes_in_words(found.total.bytes)
    if found.speeds.is_gpu:
        hours = total.gpu_seconds / 3600
        spent = f"{hours:,.1f} GPU-hours" if hours >= 1 else f"{60 * hours:.0f} GPU-minutes"
        return f"{spent}, {results} of results."
    hours = total.cpu_seconds / 3600
    return f"About {plan.duration(hours / cores)} on {cores} CPU cores, {results} of results."


def in_words(found: Estimate, free_bytes: int, cores: int) -> str:
    """Return the estimate as text with its assumptions, and a warning if the disk is too small."""
    assumed = f"Assumed, on {found.speeds.device}:"
    parts = (
        [lead(found, cores)],
        [line for workload in found.workloads for line in _describe_benchmark(workload)],
        _table(found),
        _disk(found, free_bytes),
        [assumed, *(f"- {text}" for text in _list_assumptions(found))],
    )
    return "\n\n".join("\n".join(lines) for lines in parts)


def in_json(found: Estimate, free_bytes: int) -> str:
    """Return the estimate as JSON: hours and bytes by kind of job."""
    content = {
        "device": found.speeds.device,
        "kinds": {rule: _numbers(part) for rule, part in found.of_rule.items()},
        "total": _numbers(found.total),
        "checkpoint_bytes": round(found.checkpoint_bytes),
        "peak_bytes": round(found.peak_bytes),
        "free_bytes": free_bytes,
        "is_enough": found.peak_bytes <= free_bytes,
        "detectable": {work.benchmark.name: _detectable(work) for work in found.workloads},
        "assumptions": list(_list_assumptions(found)),
    }
    return dumps(content, indent=2)


def _describe_benchmark(workload: Workload) -> Iterator[str]:
    """Yield a line on the benchmark's size, and one on the difference that its seeds can show."""
    size, benchmark = workload.size, workload.benchmark
    images = f"{size.num_train:,} + {sum(size.test):,} images of {'x'.join(map(str, size.shape))}"
    runs = sum(len(cell.runs) + len(cell.given) for cell in benchmark.cells.values())
    yield (
        f"{benchmark.name}: {benchmark.config.model}, {images}; cells: {len(benchmark.cells)}, "
        f"seeds: {len(benchmark.seeds)}, runs a seed: {runs}"
    )
    try:
        shown = import_module(POWER).in_words(*_seeds_and_methods(workload))
    except ImportError:  # SciPy is missing where nothing is evaluated
        shown = "install scipy to know which difference the seeds can show"
    yield f"{benchmark.name}: {shown}"


def _detectable(workload: Workload) -> float | None:
    with suppress(ImportError):
        least = import_module(POWER).detectable(*_seeds_and_methods(workload))
        return least if math.isfinite(least) else None
    return None


def _seeds_and_methods(workload: Workload) -> tuple[int, int]:
    """Return the number of seeds, and the number of runs that are compared with Retrain."""
    config = workload.benchmark.config
    return len(config.seeds), len(config.methods) + len(config.given)


def _table(found: Estimate) -> Iterator[str]:
    yield f"{'kind':12}{'jobs':>8}{'GPU time':>12}{'CPU time':>12}{'disk':>12}"
    rules = sorted(found.of_rule.items(), key=lambda item: -item[1].cpu_seconds)
    for rule, part in [*rules, ("total", found.total)]:
        if part.jobs:
            gpu, cpu = _time(part.gpu_seconds), _time(part.cpu_seconds)
            disk = bytes_in_words(part.bytes) if part.bytes else "-"
            yield f"{rule:12}{part.jobs:>8,}{gpu:>12}{cpu:>12}{disk:>12}"


def _time(seconds: float) -> str:
    """Return a time as text in hours, or in minutes if it is less than an hour."""
    if not seconds:
        return "-"
    return f"{seconds / 3600:,.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def _disk(found: Estimate, free_bytes: int) -> Iterator[str]:
    results, peak = (bytes_in_words(n) for n in (found.total.bytes, found.peak_bytes))
    yield (
        f"Disk: {results} of results, at most {peak} with the checkpoints of {found.in_flight} "
        f"jobs at a time; {bytes_in_words(free_bytes)} are free."
    )
    if found.peak_bytes > free_bytes:
        missing = bytes_in_words(found.peak_bytes - free_bytes)
        yield f"WARNING: the disk will not do: {missing} are missing (docs/scale.md, `Outputs`)."


def _list_assumptions(found: Estimate) -> Iterator[str]:
    for model in sorted(found.trained):
        speed = found.speeds.find(model)
        yield f"{model} trains on {speed.images_per_second:,.0f} images/s ({speed.source})"
    start = plan.start_seconds(found.speeds)
    yield f"a job that trains takes {start:g} s besides; a GPU job has one CPU core"
    yield "a run whose values are tuned costs the mean over its grid"
    yield "methods do what their params.py says; LTD's teacher takes its whole budget of epochs"
    yield f"metrics take {1e6 * EXAMPLE_SECONDS:.0f} µs for each example of each run"
    yield "a forward pass takes a third of a training step"
    yield "hours are rough (docs/scale.md): time limits double on every retry, and jobs resume"
    yield "not counted: the queue, jobs that are run again, the data set's own files"


def _numbers(part: Sum) -> dict[str, float]:
    return {
        "jobs": part.jobs,
        "gpu_hours": part.gpu_seconds / 3600,
        "cpu_hours": part.cpu_seconds / 3600,
        "bytes": round(part.bytes),
    }
