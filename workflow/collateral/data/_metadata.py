"""Find classes, numbers of examples and input files of a data set without loading its images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from collateral.contract.conventions import Columns, class_indices
from collateral.contract.data import DataOptions, DatasetSize, NoColumnsError
from collateral.plugins.find import DATA

STATE = "state"  # key in a data set's record; its value is a hash of the user's files


def find_class_names(name: str, options: DataOptions) -> tuple[str, ...] | None:
    """Return the names of the selected classes, or None if they are unknown before loading."""
    module = DATA.load(name)
    names: tuple[str, ...] | None = module.INFO.class_names
    if hasattr(module, "class_names"):
        names = module.class_names(options)
    if names is None or options.classes is None:
        return names
    return tuple(names[index] for index in class_indices(options.classes, names))


def find_size(name: str, options: DataOptions) -> DatasetSize:
    """Return the numbers of selected examples per class, without loading the data."""
    module = DATA.load(name)
    if module.INFO.size is None and not hasattr(module, "size"):
        raise ValueError(f"data.name: '{name}' does not tell how much data it has")
    size: DatasetSize = module.INFO.size or module.size(options)
    kept = find_classes(options, size.class_names)

    train_limit, test_limit = options.per_class, options.test_per_class

    def cut(counts: tuple[int, ...], limit: int | None) -> tuple[int, ...]:
        return tuple(counts[i] if limit is None else min(counts[i], limit) for i in kept)

    return DatasetSize(
        tuple(size.class_names[index] for index in kept),
        cut(size.train, train_limit),
        cut(size.test, test_limit),
        size.shape,
        partial(_train_columns, name, options, kept, train_limit),
        partial(_read_columns, name, "test_columns", options, kept, test_limit),
    )


def find_classes(options: DataOptions, names: Sequence[str]) -> list[int]:
    """Return the indices of the selected classes, in the order of the config."""
    if options.classes is None:
        return [*range(len(names))]
    try:
        return class_indices(options.classes, names)
    except ValueError as error:
        raise ValueError(f"data.classes: {error}") from None


def find_problem(name: str, options: DataOptions) -> str | None:
    """Return an error message about the user's data files, or None. No image is opened."""
    problem: str | None = _ask(name, "problem", options, None)
    return problem


def draws_test(name: str, options: DataOptions) -> bool:
    """Return whether the test set is drawn at random from the images of the data set."""
    has_share = getattr(options, "test_share", None) is not None
    return bool(_ask(name, "draws_test", options, has_share))


def find_input_files(name: str, options: DataOptions) -> list[Path]:
    """Return the data files that exist, as inputs for Snakemake; the job reports missing files."""
    given = (getattr(options, key, None) for key in ("path", "test_path"))
    named = [Path(file).expanduser() for file in given if file is not None]
    return [file for file in _ask(name, "inputs", options, named) if file.exists()]


def hash_user_files(name: str, options: DataOptions) -> str:
    """Return a hash of the user's data files if they are no inputs of a Snakemake rule, else ""."""
    return str(_ask(name, "state", options, ""))


def _ask(name: str, function: str, options: DataOptions, default: Any) -> Any:
    """Call a function of a data set's module; return `default` if the module lacks the function."""
    module = DATA.load(name)
    return getattr(module, function)(options) if hasattr(module, function) else default


def find_forget_error(kind: Any, size: DatasetSize, params: Any) -> tuple[str, str] | None:
    """Return a forget-set parameter that does not fit the data set, with the reason; or None."""
    path: Path | None = getattr(params, "path", None)
    if path and not path.expanduser().exists():
        return None  # a missing file is reported by another check
    try:
        kind.count(size, params)
    except NoColumnsError as error:
        return "", str(error)
    except ValueError as error:
        key, _, problem = str(error).partition(": ")
        names = [field.alias or name for name, field in type(params).model_fields.items()]
        # If the error names no key of the forget set's config, the data set is the cause.
        return (key, problem) if key in names else None
    return None


def _train_columns(name: str, options: DataOptions, kept: list[int], limit: int | None) -> Columns:
    """Return the metadata columns of the selected train examples."""
    if DATA.is_plugged_in(name) and not hasattr(DATA.load(name), "columns"):
        raise NoColumnsError(
            f"the data set '{name}' does not say its columns before it is loaded; add a function "
            "columns(options) to its file, which returns the train labels and a dict of columns "
            "(docs/your-data.md)"
        )
    return _read_columns(name, "columns", options, kept, limit)


def _read_columns(
    name: str, function: str, options: DataOptions, kept: list[int], limit: int | None
) -> Columns:
    """Return the metadata columns of the selected examples that a function of a data set reads."""
    labels, columns = _ask(name, function, options, ([], {}))
    left = Counter(dict.fromkeys(kept, limit or len(labels)))
    places = []
    for place, label in enumerate(labels):
        if left[label] > 0:
            left[label] -= 1
            places.append(place)
    return {name: [column[place] for place in places] for name, column in columns.items()}
