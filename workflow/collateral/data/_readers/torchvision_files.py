"""Read a data set with torchvision; an error lists the missing files and where to get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from collateral.contract.data import DataOptions
from collateral.contract.params import UserPath


class RootOptions(DataOptions):
    """Options of every data set that torchvision reads."""

    root: UserPath = Field(
        Path("data"), description="Folder of the files, laid out as torchvision's."
    )
    download: bool = Field(True, description="Download the files where `root` has them not.")


@dataclass(frozen=True)
class Files:
    """The files of a data set below `root`, and how to get them."""

    name: str
    paths: tuple[str, ...]
    how: str


def read(
    kind: Any, parts: Sequence[Mapping[str, Any]], options: RootOptions, files: Files
) -> list[Any]:
    """Return one torchvision data set of class `kind` for each part, train and test."""
    try:
        return open_parts(kind, parts, options)
    except Exception as error:
        root = options.root.expanduser()
        raise ValueError(_explain_failure(error, root, options.download, files)) from None


def open_parts(kind: Any, parts: Sequence[Mapping[str, Any]], options: RootOptions) -> list[Any]:
    """Open the parts of a torchvision data set; download them if the files are missing.

    A missing file or a failed download raises errors of many types, depending on the data set.
    """
    root = options.root.expanduser()
    try:
        return [kind(root=root, download=False, **part) for part in parts]
    except Exception:
        if not options.download:
            raise
    root.mkdir(parents=True, exist_ok=True)
    return [kind(root=root, download=True, **part) for part in parts]


def _explain_failure(error: Exception, root: Path, download: bool, files: Files) -> str:
    missing = [path for path in files.paths if not (root / path).is_file()]
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    if missing:
        tried = f"the download failed ({cause})" if download else "`download` is false"
        found = f"{', '.join(missing)} not found, and {tried}"
    else:
        found = f"the files are there but damaged, delete them ({cause})"
    return f"data.root: cannot read {files.name} from '{root}': {found}. {files.how}"
