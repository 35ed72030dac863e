"""Check that all cached outputs exist and match the plan, before figures are made from them."""

import sys
from pathlib import Path
from typing import Annotated

from collateral.config.load import read
from collateral.plan import diff
from collateral.plan.grid import build_grid

MISSING = "missing: no table, figure or page was made"
STALE = (
    "differences from the plan (`make run` runs these jobs again): "
    "no table, figure or page was made"
)


def cached(*, config: Annotated[Path, "a config, such as config.yaml"]) -> None:
    """If cached files are missing or differ from the plan, print which ones and fail."""
    benchmarks = build_grid(read(config, "--config")).values()
    missing = [
        f"{path}: missing; copy it from where it was made, or let `make run` make it "
        f"(rule {job.rule})"
        for path, job in diff.find_missing(benchmarks).items()
    ]
    lines = missing or diff.find_stale(benchmarks)
    if lines:
        print(*diff.first_lines(lines), sep="\n", file=sys.stderr)
        sys.exit(f"{len(lines)} {MISSING if missing else STALE}")
