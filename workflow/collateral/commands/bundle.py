"""Pack results of benchmarks into one archive that `collateral unbundle` unpacks elsewhere.

The archive has all that tables, figures and page need: no models, no data set, and only pictures
that the config's key `pictures` allows. Damaged or unfinished results are not packed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.results.bundle import write_bundle


def bundle(
    folders: Annotated[Sequence[Path], "folders of benchmarks, such as results/digits"],
    *,
    out: Annotated[Path, ".tar archive to write"],
    with_models: Annotated[
        bool,
        "also pack models and, if pages may show all pictures, the data set and prepared files",
    ] = False,
    seeds: Annotated[
        Sequence[int], "only what these seeds have made: one archive per seed, joined by `unbundle`"
    ] = (),
) -> None:
    """Write the archive, and print a summary of its content."""
    made = write_bundle(out, folders, with_models=with_models, seeds=seeds)
    if made.unwatched:
        some = f"files without metadata of Snakemake: {len(made.unwatched)}, as {made.unwatched[0]}"
        print(f"{some}: elsewhere it will not notice other parameters or code of them")
    if made.withheld and with_models:
        names = f"{', '.join(made.withheld)}: data set and prepared files stay here"
        print(f"{names}, as they have pictures that the key `pictures` leaves out")
    print(f"{out}: {made.num_files} files, {out.stat().st_size / 2**20:.1f} MB")
