"""Config files are read strictly, and only then by Snakemake, whose errors name no line.

Of a tag it says that tabs and spaces may be mixed, an alias of what it stands in ends it with a
traceback, and both before the Snakefile is looked at. Made for Snakemake 9; one that reads its
files otherwise does so as always, and the Snakefile looks at them after it.
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
    """Have Snakemake's reader refuse what ours refuses, in our words."""
    if ORIGINAL:
        setattr(configfile, READER, _read)


def _read(source: Any, filetype: str = "Config") -> Any:
    assert ORIGINAL is not None
    if filetype == "Config" and isinstance(source, str | Path):
        try:
            read_file(Path(source))
        except ConfigError as error:
            raise WorkflowError(f"The config is not valid:\n{error}") from None
    return ORIGINAL(source, filetype)
