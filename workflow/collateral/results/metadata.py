"""Read and write Snakemake's metadata of output files, by which it decides to rerun a job.

Without metadata of a file, Snakemake (9.27) does not see that parameters or code have changed.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from collateral.results.files import InvalidResultError, read_json, write_json

STATE = ".snakemake"
METADATA = "metadata"
INCOMPLETE = "incomplete"
TIMESTAMP = ".snakemake_timestamp"  # file with the modification time of a folder that a rule made


def read_metadata(project: Path, outputs: Iterable[str]) -> dict[str, Any]:
    """Return the metadata of outputs by path; outputs without metadata are omitted."""
    found = {output: _read(_path(project, METADATA, output)) for output in outputs}
    return {output: content for output, content in found.items() if content}


def write_metadata(project: Path, metadata: Mapping[str, Any]) -> None:
    """Write metadata to the files where Snakemake reads it."""
    # Snakemake assumes an old version of itself if only one of the two folders exists.
    for kind in (METADATA, INCOMPLETE):
        (project / STATE / kind).mkdir(parents=True, exist_ok=True)
    for output, content in metadata.items():
        write_json(_path(project, METADATA, output), content, sort_keys=False)


def incomplete(project: Path, outputs: Iterable[str]) -> list[str]:
    """Return the outputs whose job started and did not finish."""
    return [output for output in outputs if _path(project, INCOMPLETE, output).is_file()]


def _read(path: Path) -> Any:
    try:
        return read_json(path) if path.is_file() else None
    except InvalidResultError:  # Snakemake ignores damaged metadata as well.
        return None


def _path(project: Path, kind: str, output: str) -> Path:
    """Return the path of Snakemake's metadata of an output; long names are split into folders."""
    name = urlsafe_b64encode(output.encode()).decode()
    length = _longest_name(project) - 1
    *folders, last = (name[start : start + length] for start in range(0, len(name), length))
    return Path(project / STATE / kind, *(f"@{folder}" for folder in folders), last)


def _longest_name(project: Path) -> int:
    where = project / STATE if (project / STATE).exists() else project
    return (os.pathconf(where, "PC_NAME_MAX") if os.name == "posix" else 0) or 255
