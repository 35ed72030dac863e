"""Unpack archives of `collateral bundle` into results/; join several archives of one benchmark.

If two archives contradict each other, or an archive contradicts the results here, nothing is
changed. Results that differ from the plan of the config are listed: the next run makes them again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.config.load import read
from collateral.plan import paths
from collateral.plan.diff import compare, describe
from collateral.plan.grid import build_grid
from collateral.results import bundle

CONFIG = Path("config.yaml")


def unbundle(
    archives: Annotated[Sequence[Path], "archives that `collateral bundle` wrote"],
    *,
    config: Annotated[
        Path | None, f"config with whose plan the results are compared; default: {CONFIG}"
    ] = None,
) -> None:
    """Unpack the archives; print omitted results, the number of new files, and differences.

    Differences are those between the results and the plan of the config.
    """
    config = config or (CONFIG if CONFIG.is_file() else None)
    grid = build_grid(read(config, "--config")) if config else {}
    done = bundle.unbundle(archives, Path(paths.RESULTS))
    if done.left_out:
        print(f"left out, for the next run to make again: {'; '.join(done.left_out)}")
    print(f"{', '.join(done.benchmarks)}: {done.num_files} new files")
    for name in done.benchmarks:
        folder = Path(paths.BENCHMARK.format(benchmark=name))
        if name in grid:
            print(*describe(folder, compare(grid[name], folder)), sep="\n")
        else:
            print(f"{name}: not compared: it is not in {config}; name its config with --config")
