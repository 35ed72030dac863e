"""What a run is (record.json, identical on a rerun) and what it cost (cost.json, never)."""

import os
import platform
import resource
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from collateral.contract.tracking import TRACKED

EPOCH_SECONDS = f"{TRACKED}seconds"  # of a tracked run, in cost.json: on the clock by then
STATED = "stated"  # in place of a phase: seconds that nobody here took
NAMES_IN_FILE = "names_in_file"  # of a user's weights: by the names that `rename` gave them
PACKAGES = ("numpy", "scikit-learn", "scipy", "timm", "torch", "torchvision")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide the numbers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def peak_rss_mb() -> float:
    """Return the largest resident memory of this process so far."""
    # ru_maxrss is in bytes on macOS and in KiB elsewhere.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def cost(
    seconds: Mapping[str, float], *, device: str, threads: int, peak_device_mb: float | None
) -> dict[str, Any]:
    """Return what a run cost so far: time by phase (None: nobody took it), memory, and where."""
    return {
        "seconds": dict(seconds),
        "total_seconds": sum(seconds.values()) if seconds else None,
        "peak_rss_mb": peak_rss_mb(),
        "peak_device_mb": peak_device_mb,
        "device": device,
        "threads": threads,
        "job": os.environ.get("SLURM_JOB_ID"),
        "visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
