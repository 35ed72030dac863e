"""Remove Snakemake's lock if the run that took it was killed; keep the lock of a live run."""

from pathlib import Path
from typing import Annotated

from collateral.plan import lock


def unlock(*, folder: Annotated[Path, "Snakemake's own folder"] = lock.FOLDER) -> None:
    """Print one line if there is a lock: it was removed, or the reason why it stays."""
    if outcome := lock.unlock(folder):
        print(f"{folder.absolute().parent}: {outcome}")
