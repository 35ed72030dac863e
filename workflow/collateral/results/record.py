"""Contents of record.json (identical on a rerun) and cost.json (different on every rerun)."""

import os
import platform
import resource
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from collateral.contract.rows import TRACKED

FORKED = "COLLATERAL_FORKED"  # environment variable that the warm server sets for its jobs
EPOCH_SECONDS = f"{TRACKED}seconds"  # in cost.json of a tracked run: seconds by epoch
STATED = "stated"  # in place of a phase: seconds that the user states and that were not measured
NAMES_IN_FILE = "names_in_file"  # of a user's weights: original names, by the names after `rename`
PACKAGES = ("numpy", "scikit-learn", "scipy", "timm", "torch", "torchvision")


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
    """Return the peak resident memory of this process."""
    # ru_maxrss is in bytes on macOS and in KiB elsewhere.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def measure_cost(
    seconds: Mapping[str, float], *, device: str, threads: int, peak_device_mb: float | None
) -> dict[str, Any]:
    """Return the content of cost.json: seconds per phase, peak memory, and the device.

    Without measured phases, the total is None. The peak memory of a forked job leaves out the
    libraries that it shares with the warm server.
    """
    return {
        "seconds": dict(seconds),
        "total_seconds": sum(seconds.values()) if seconds else None,
        "peak_rss_mb": peak_rss_mb(),
        "is_forked": FORKED in os.environ,
        "peak_device_mb": peak_device_mb,
        "device": device,
        "threads": threads,
        "job": os.environ.get("SLURM_JOB_ID"),
        "visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }
