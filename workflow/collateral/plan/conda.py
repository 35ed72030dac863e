"""What conda environments must know: they get this package by envs/*.post-deploy.sh."""

import os
from pathlib import Path

import collateral

CHECKOUT = "COLLATERAL_CHECKOUT"
VERSION = "COLLATERAL_VERSION"


def name_package(home: Path) -> None:
    """Tell the scripts what they install: the checkout whose home it is, or the same release."""
    os.environ[VERSION] = collateral.__version__
    os.environ[CHECKOUT] = str(home) if (home / "pyproject.toml").is_file() else ""
