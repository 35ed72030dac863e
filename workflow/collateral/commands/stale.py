"""Print the results that a run must make again, although they exist and Snakemake would keep them.

Without its metadata (.snakemake was deleted, or results were copied), Snakemake believes every file
that exists. This command compares the records of finished jobs with the plan, and prints one path
per line, for `snakemake --forcerun $(collateral stale)`; nothing if all is as planned.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.config.load import load
from collateral.config.yaml import read_merged
from collateral.plan.diff import find_unknown
from collateral.plan.grid import build_grid
from collateral.plan.paths import default_config
from collateral.results.bundle import read_metadata


def stale(
    *,
    config: Annotated[
        Sequence[Path], "configs, as for `snakemake --configfile`; default: config.yaml"
    ] = (),
    set_: Annotated[Sequence[str], "keys and values, as for `snakemake --config`"] = (),
) -> None:
    """Print the paths of results that differ from the plan, or of which the config is unknown."""
    grid = build_grid(load(read_merged(config, set_, Path(default_config()))))
    known = read_metadata(Path(), grid)
    for path in find_unknown(grid, known.__contains__).files:
        print(path)
