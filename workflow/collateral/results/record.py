"""Contents of record.json, selected.json, and cost.json (time, memory, device of one run)."""

import os
import platform
import resource
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from collateral.contract.rows import TRACKED
from collateral.results.files import read_json
from collateral.results.provenance import verify

FORKED = "COLLATERAL_FORKED"  # environment variable that the warm server sets for its jobs
GPU_SLOTS = "COLLATERAL_GPU_SLOTS"  # environment variable: number of jobs that may share a GPU
MOST_SLOTS = 16  # largest number of jobs that can share a GPU
EPOCH_SECONDS = f"{TRACKED}seconds"  # key in cost.json of a tracked run: seconds by epoch
SPEED = "speed"  # key in cost.json of a trained base or Retrain: images per second
STATED = "stated"  # key in cost.json: training seconds as the user states them, not measured
NAMES_IN_FILE = "names_in_file"  # key in a record: old name of each renamed weight, by new name
PACKAGES = ("numpy", "scikit-learn", "scipy", "timm", "torch", "torchvision")


@dataclass(frozen=True)
class Made:
    """What a stage found out, for the record; it returns this after it wrote its files."""

    about: Mapping[str, Any]
    cost: Mapping[str, Any] | None = None  # content of cost.json
    read: Sequence[Path] = ()  # files that it read besides its inputs: those of `prepare`


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peak_rss_mb() -> float:
    """Return the peak resident memory of this process in MB."""
    # ru_maxrss is in bytes on macOS and in KiB elsewhere.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@cache
def processor_name() -> str:
    """Return the name of this machine's processor, such as `AMD EPYC 7763`."""
    with suppress(OSError, StopIteration):  # There is no such file on macOS, no such line on ARM.
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return platform.processor()


def measure_cost(
    seconds: Mapping[str, float], *, device: str, threads: int, peak_device_mb: float | None
) -> dict[str, Any]:
    """Return the content of cost.json: seconds per phase, peak memory, and the device.

    Without measured phases, the total is None. The peak memory of a forked job leaves out the
    libraries that it shares with the warm server. The seconds of a job that shares its GPU are
    kept apart, because they depend on the other jobs: no table shows them.
    """
    slots = gpu_slots() if device == "cuda" else 1
    shared = {"gpu_slots": slots, "shared_seconds": dict(seconds)} if slots > 1 else {}
    seconds = {} if shared else seconds
    return {
        **shared,
        "seconds": dict(seconds),
        "total_seconds": sum(seconds.values()) if seconds else None,
        "peak_rss_mb": peak_rss_mb(),
        "is_forked": FORKED in os.environ,
        "peak_device_mb": peak_device_mb,
        "device": device,
        "processor": processor_name(),
        "threads": threads,
        "job": os.environ.get("SLURM_JOB_ID"),
        "visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }


def gpu_slots() -> int:
    """Return the largest number of jobs that may use this job's GPU at the same time."""
    return int(os.environ.get(GPU_SLOTS, "1"))


def read_selected(path: Path, root: Path) -> dict[str, Any]:
    """Return the parameter values that tuning selected."""
    values: dict[str, Any] = read_json(verify(path, root))["params"]
    return values
