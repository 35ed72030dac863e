"""What conda environments must know: they get this checkout by envs/*.post-deploy.sh."""

import os
from pathlib import Path

CHECKOUT = "COLLATERAL_CHECKOUT"


def name_checkout(folder: str | Path) -> None:
    """Tell the scripts where the package is that they install."""
    os.environ[CHECKOUT] = str(folder)
