"""What a run cost: its seconds, in all and by phase, and its memory."""

from collections.abc import Mapping
from typing import Any


def costs(cost: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a run's cost file; NaN where nothing was measured."""
    totals = {
        "rte": cost["total_seconds"],
        "peak_rss_mb": cost["peak_rss_mb"],
        "peak_device_mb": cost["peak_device_mb"],
    }
    phases = {f"seconds:{phase}": seconds for phase, seconds in cost["seconds"].items()}
    return {
        name: float("nan") if value is None else float(value)
        for name, value in (totals | phases).items()
    }
