"""Print the results that a run must make again, although they exist and Snakemake would keep them.

Without its metadata (.snakemake was deleted, or results were copied), Snakemake believes every file
that exists. This command compares the records of finished jobs with the plan, and prints one path
per line, for `snakemake --forcerun $(collateral stale)`; nothing if all is as planned.
"""

from pathlib import Path
from typing import Annotated

from collateral.config.load import read
from collateral.plan.diff import find_unknown
from collateral.plan.grid import build_grid
from collateral.plan.paths import default_config
from collateral.results.bundle import read_metadata


def stale(*, config: Annotated[Path | None, "a config; default: config.yaml"] = None) -> None:
    """Print the paths of results that differ from the plan, or of which the config is unknown."""
    grid = build_grid(read(config or Path(default_config()), "--config"))
    known = read_metadata(Path(), grid)
    for path in find_unknown(grid, known.__contains__).files:
        print(path)
