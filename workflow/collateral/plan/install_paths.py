"""The folder of the Snakefile, rules, profiles and configs: in a checkout, or in the wheel."""

import os
from pathlib import Path

import collateral

PACKAGE = Path(collateral.__file__).parent
CHECKOUT = PACKAGE.parents[1]
SHIPPED = PACKAGE / "_workflow"  # name of this folder in the wheel, created by setup.py
# Environment variables that envs/*.post-deploy.sh reads to install Collateral with conda.
CHECKOUT_VARIABLE, VERSION_VARIABLE = "COLLATERAL_CHECKOUT", "COLLATERAL_VERSION"


def home() -> Path:
    """Return the folder of the Snakefile."""
    for folder in (SHIPPED, CHECKOUT):
        if (folder / "Snakefile").is_file():
            return folder
    raise ValueError(
        f"no Snakefile in {SHIPPED} or {CHECKOUT}: install the package again, or work in a checkout"
    )


def default_config() -> str:
    """Return config.yaml in the working folder or, if missing, the one beside the Snakefile."""
    own = Path("config.yaml")
    return str(own if own.exists() else home() / "config.yaml")


def set_install_variables(home: Path) -> None:
    """Set which Collateral conda environments install: the checkout at `home`, or the release."""
    os.environ[VERSION_VARIABLE] = collateral.__version__
    os.environ[CHECKOUT_VARIABLE] = "" if home == SHIPPED else str(home)
