"""Snakemake reads config files by our reader: as YAML 1.2, and with errors that name the line.

Of a tag its own says that tabs and spaces may be mixed, an alias of what it stands in ends it with
a traceback, and both before the Snakefile is looked at. Made for Snakemake 9; one that reads its
files otherwise does so as always, and the Snakefile reads them again.
"""

from pathlib import Path
from typing import Any

from snakemake.common import configfile
from snakemake.exceptions import WorkflowError

from collateral.config.errors import ConfigError
from collateral.config.yaml import read_file

READER = "_load_configfile"
ORIGINAL = getattr(configfile, READER, None)


def read_strictly() -> None:
    """Have Snakemake read config files by our reader."""
    if ORIGINAL:
        setattr(configfile, READER, _read)


def _read(source: Any, filetype: str = "Config") -> Any:
    assert ORIGINAL is not None
    if filetype == "Config" and isinstance(source, str | Path):
        try:
            return read_file(Path(source))
        except ConfigError as error:
            raise WorkflowError(f"The config is not valid:\n{error}") from None
    return ORIGINAL(source, filetype)
