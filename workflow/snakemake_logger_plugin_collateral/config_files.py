"""Replace Snakemake's reader of config files by ours: YAML 1.2, and errors that name the line.

Snakemake's own reader gives a misleading error for a tag and a traceback for an alias to its own
parent, before the Snakefile is read. This is for Snakemake 9; if a later version has no such
function, it reads the files itself, and the Snakefile reads them again.
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
    """Replace Snakemake's reader of config files by ours."""
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
