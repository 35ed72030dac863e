"""A small config, expanded: what tests of the plan begin with."""

from pathlib import Path
from typing import Any

from collateral.config.load import load
from collateral.plan.grid import Benchmark, build_grid

CLASSES = ["digit_3", "digit_8"]
FRACTIONS = [0.5, 0.9]


def grid(plugins: Path | None = None, **changes: Any) -> Benchmark:
    """Return the expanded benchmark of a small config."""
    benchmark = {
        "data": {"name": "digits"},
        "model": "resnet8",
        "seeds": [3, 1, 2],
        "classes": CLASSES,
        "fractions": FRACTIONS,
        "methods": {"ft": {}},
        **changes,
    }
    folders = [str(plugins)] if plugins else []
    return build_grid(load({"benchmarks": {"b": benchmark}, "plugins": folders}))["b"]
