"""Where the Snakefile is, with its rules, profiles and configs: in a checkout, or in the wheel."""

from pathlib import Path

import collateral

PACKAGE = Path(collateral.__file__).parent
CHECKOUT = PACKAGE.parents[1]
SHIPPED = PACKAGE / "_workflow"  # setup.py puts it into the wheel


def home() -> Path:
    """Return the folder of the Snakefile."""
    for folder in (SHIPPED, CHECKOUT):
        if (folder / "Snakefile").is_file():
            return folder
    raise ValueError(
        f"no Snakefile in {SHIPPED} or {CHECKOUT}: install the package again, or work in a checkout"
    )


def default_config() -> str:
    """Return the config of the working folder; where it has none, the one beside the Snakefile."""
    own = Path("config.yaml")
    return str(own if own.exists() else home() / "config.yaml")
