"""Data sets and kinds of forget set, found by the names of their files; light imports only."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from collateral.core.spelling import unknown
from collateral.data.info import DataOptions, DatasetSize
from collateral.data.names import class_indices

# What stands beside the data sets and is none.
SERVANTS = {"__init__", "cut", "info", "lookup", "names"}


@dataclass(frozen=True)
class Kind:
    """A kind of plug-in: what errors call it, and the folder whose files it is."""

    what: str
    folder: Path
    package: str

    def names(self) -> tuple[str, ...]:
        """Return the names of all there are."""
        return tuple(sorted({path.stem for path in self.folder.glob("*.py")} - SERVANTS))


HERE = Path(__file__).parent
DATA = Kind("data set", HERE, "collateral.data")
FORGET = Kind("kind of forget set", HERE / "forget", "collateral.data.forget")


def module_of(kind: Kind, name: str) -> ModuleType:
    """Return the module of a data set or of a kind of forget set."""
    if name not in kind.names():
        raise ValueError(unknown(kind.what, name, kind.names()))
    return import_module(f"{kind.package}.{name}")


def known_classes(name: str, options: DataOptions) -> tuple[str, ...] | None:
    """Return the class names of a data set under `options`; None where only the data can tell."""
    module = module_of(DATA, name)
    names: tuple[str, ...] | None = module.INFO.class_names
    if hasattr(module, "class_names"):
        names = module.class_names(options)
    if names is None or options.classes is None:
        return names
    return tuple(names[index] for index in class_indices(options.classes, names))


def size_of(name: str, options: DataOptions) -> DatasetSize:
    """Return how much `options` leave of a data set, without loading it."""
    module = module_of(DATA, name)
    if module.INFO.size is None and not hasattr(module, "size"):
        raise ValueError(f"data.name: '{name}' does not tell how much data it has")
    size: DatasetSize = module.INFO.size or module.size(options)
    wanted = range(size.num_classes) if options.classes is None else options.classes
    kept = class_indices(wanted, size.class_names)

    def cut(counts: tuple[int, ...], limit: int | None) -> tuple[int, ...]:
        return tuple(counts[i] if limit is None else min(counts[i], limit) for i in kept)

    return DatasetSize(
        tuple(size.class_names[index] for index in kept),
        cut(size.train, options.per_class),
        cut(size.test, options.test_per_class),
        size.shape,
    )
