"""Remove the lock of a run that was killed; leave any other, and say who holds it."""

from pathlib import Path
from typing import Annotated

from collateral.plan import lock


def unlock(*, folder: Annotated[Path, "Snakemake's own folder"] = lock.FOLDER) -> None:
    """Print one line: the lock is removed, or the reason why it is not."""
    for message in lock.unlock(folder):
        print(f"{folder.absolute().parent}: {message}")
