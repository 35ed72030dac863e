"""Check that all cached outputs exist and match the plan, before figures are made from them."""

import sys
from pathlib import Path
from typing import Annotated

from collateral.config.load import read
from collateral.plan import diff
from collateral.plan.grid import build_grid


def cached(*, config: Annotated[Path, "a config, as config.yaml"]) -> None:
    """If cached files are missing or differ from the plan, print which ones and fail."""
    benchmarks = build_grid(read(config, "--config")).values()
    if files := diff.find_missing(benchmarks):
        stop(diff.describe_missing(files))
    if lines := diff.find_stale(benchmarks):
        stop(diff.describe_stale(lines))


def stop(text: str) -> None:
    """Print why no figure can be made, and exit with code 1."""
    print(text, file=sys.stderr)
    raise SystemExit(1)
