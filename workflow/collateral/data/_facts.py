"""What is known of a data set before it is loaded: its classes, and how much data there is."""

from __future__ import annotations

from collateral.contract.classes import class_indices
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.plugins import DATA


def known_classes(name: str, options: DataOptions) -> tuple[str, ...] | None:
    """Return the class names of a data set under `options`; None where only the data can tell."""
    module = DATA.load(name)
    names: tuple[str, ...] | None = module.INFO.class_names
    if hasattr(module, "class_names"):
        names = module.class_names(options)
    if names is None or options.classes is None:
        return names
    return tuple(names[index] for index in class_indices(options.classes, names))


def size_of(name: str, options: DataOptions) -> DatasetSize:
    """Return how much `options` leave of a data set, without loading it."""
    module = DATA.load(name)
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
