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
    """Return one torchvision data set of class `kind` per part (arguments: train or test)."""
    root = options.root.expanduser()
    try:
        return [kind(root=root, download=options.download, **part) for part in parts]
    # The type of the error for a missing or damaged file, or a failed download, depends on the
    # data set: from URLError to AssertionError.
    except Exception as error:
        raise ValueError(_explain_failure(error, root, options.download, files)) from None


def _explain_failure(error: Exception, root: Path, download: bool, files: Files) -> str:
    missing = [path for path in files.paths if not (root / path).is_file()]
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    if missing:
        tried = f"the download failed ({cause})" if download else "`download` is false"
        found = f"{', '.join(missing)} not found, and {tried}"
    else:
        found = f"the files are there but damaged, delete them ({cause})"
    return f"data.root: cannot read {files.name} from '{root}': {found}. {files.how}"
