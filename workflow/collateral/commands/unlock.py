"""Remove Snakemake's lock if the run that created it was killed; keep the lock of an active run."""

from pathlib import Path
from typing import Annotated

from collateral.plan import run_hooks


def unlock(
    *,
    folder: Annotated[
        Path, "folder in which Snakemake keeps its lock; default: .snakemake"
    ] = run_hooks.FOLDER,
) -> None:
    """If there is a lock, print whether it was removed, or the reason why it was kept."""
    if outcome := run_hooks.unlock(folder):
        print(f"{folder.absolute().parent}: {outcome}")
