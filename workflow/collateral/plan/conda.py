"""What conda environments must know: they get this package by envs/*.post-deploy.sh."""

import os
from pathlib import Path

import collateral
from collateral.plan.install_paths import SHIPPED

CHECKOUT = "COLLATERAL_CHECKOUT"
VERSION = "COLLATERAL_VERSION"


def name_package(home: Path) -> None:
    """Tell the scripts what they install: the checkout that is home, or the wheel's release."""
    os.environ[VERSION] = collateral.__version__
    os.environ[CHECKOUT] = "" if home == SHIPPED else str(home)
