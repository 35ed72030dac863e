"""Print where the Snakefile is: `snakemake --snakefile "$(collateral where)"` runs anywhere."""

from typing import Annotated

from collateral.plan.paths import home


def where(
    *,
    folder: Annotated[
        bool, "print its folder, which also contains configs/, profiles/ and envs/"
    ] = False,
) -> None:
    """Print the path of the Snakefile."""
    print(home() if folder else home() / "Snakefile")
