"""Read a data set with torchvision; an error lists the missing files and where to get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.data import DataOptions
from collateral.contract.messages import error_in_one_line
from collateral.contract.params import UserPath
from collateral.data._readers.torchvision_sets import Parts, SetFacts

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset


class RootOptions(DataOptions):
    """Options of every data set that torchvision reads."""

    root: UserPath = Field(
        Path("data"), description="Folder of the files, laid out as torchvision's."
    )
    download: bool = Field(True, description="Download the files where `root` has them not.")


@dataclass(frozen=True)
class Files:
    """The files of a data set below `root`, and how to get them."""

    name: str  # name of the data set in error messages
    paths: tuple[str, ...]  # paths relative to `root`
    how: str  # instructions for getting the files


def load_set(
    kind: str, parts: Parts, options: RootOptions, files: Files, **properties: Any
) -> Dataset:
    """Load a data set of torchvision with given `class_names`, mean, std and augmentation."""
    import numpy as np

    from collateral.results.dataset import Dataset, Labels

    try:
        found = open_parts(kind, parts, options)
    except Exception as error:
        root = options.root.expanduser()
        missing = [path for path in files.paths if not (root / path).is_file()]
        problem = f"the files are there but damaged, delete them ({error_in_one_line(error)})"
        if missing:
            problem = f"{', '.join(missing)} not found, and {_explain(error, options)}"
        raise ValueError(
            f"data.root: cannot read {files.name} from '{root}': {problem}. {files.how}"
        ) from None
    train, test = (np.asarray(part.data) for part in found)
    if train.ndim == 3:  # MNIST has no axis of channels
        train, test = train[..., None], test[..., None]
    elif train.shape[-1] != 3:  # SVHN has the shape (N, C, H, W)
        train, test = (images.transpose(0, 2, 3, 1) for images in (train, test))
    key = "targets" if hasattr(found[0], "targets") else "labels"
    numbers = [np.asarray(getattr(part, key), np.int64) for part in found]
    labels = Labels(numbers[0], numbers[1], properties.pop("class_names"))
    train, test = np.ascontiguousarray(train), np.ascontiguousarray(test)
    return Dataset(train, test, labels, **properties)


def open_parts(kind: str, parts: Sequence[Mapping[str, Any]], options: RootOptions) -> list[Any]:
    """Open the parts of a torchvision data set; download them if the files are missing.

    A missing file or a failed download raises errors of many types, depending on the data set.
    """
    from torchvision import datasets

    root, dataset = options.root.expanduser(), getattr(datasets, kind)
    try:
        return [dataset(root=root, download=False, **part) for part in parts]
    except Exception:
        if not options.download:
            raise
    root.mkdir(parents=True, exist_ok=True)
    return [dataset(root=root, download=True, **part) for part in parts]


def read_parts(kind: str, facts: SetFacts, options: RootOptions) -> list[Any]:
    """Open a data set that has no file of its own; an error tells where its files belong."""
    try:
        return open_parts(kind, facts.parts if facts.test else ({},), options)
    except Exception as error:
        root, folder = options.root.expanduser(), facts.folder
        problem = (
            f"{folder} not found, and {_explain(error, options)}; put it there, or set `root:`"
        )
        if (root / folder).exists():
            whole = f"{folder} is there but not whole ({error_in_one_line(error)})"
            problem = f"{whole}; delete it to download it again"
        raise ValueError(f"data.root: cannot read {kind} from {str(root)!r}: {problem}") from None


def _explain(error: Exception, options: RootOptions) -> str:
    failed = f"the download failed ({error_in_one_line(error)})"
    return failed if options.download else "`download` is false"
