"""Find classes, numbers of examples and input files of a data set without loading its images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from collateral.contract.conventions import Columns, class_indices
from collateral.contract.data import DataOptions, DatasetSize, NoColumnsError
from collateral.data._corruption import count_after, count_corrupted
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
    size: DatasetSize = module.size(options) if hasattr(module, "size") else module.INFO.size
    kept = find_classes(options, size.class_names)
    train, test = ([counts[index] for index in kept] for counts in (size.train, size.test))
    names = tuple(size.class_names[index] for index in kept)
    return DatasetSize(
        names,
        tuple(count_after(count_train(train, options), names, options)),
        tuple(count_test(test, options)),
        size.shape,
        partial(_train_columns, name, options, kept),
        partial(_read_columns, name, "test_columns", options, kept, count_test),
        count_corrupted(options),
        size.side,
    )


def count_train(counts: Sequence[int], options: DataOptions) -> list[int]:
    """Return the number of train examples to keep of each class, by `per_class` and `imbalance`.

    `counts` are the numbers of examples of the selected classes, in the order of the config.
    """
    kept = _cut(counts, options.per_class)
    if options.imbalance is None:
        return kept
    last = max(1, len(kept) - 1)
    factors = ((1 / options.imbalance) ** (place / last) for place in range(len(kept)))
    # The small number keeps a product such as 5000 * 0.01 from being rounded to 49.
    return [max(1, int(n * f + 1e-9)) if n else 0 for n, f in zip(kept, factors, strict=True)]


def count_test(counts: Sequence[int], options: DataOptions) -> list[int]:
    """Return the number of test examples to keep of each class, by `test_per_class`."""
    return _cut(counts, options.test_per_class)


def _cut(counts: Sequence[int], limit: int | None) -> list[int]:
    return [count if limit is None else min(count, limit) for count in counts]


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


def _train_columns(name: str, options: DataOptions, kept: list[int]) -> Columns:
    """Return the metadata columns of the selected train examples."""
    if DATA.is_plugged_in(name) and not hasattr(DATA.load(name), "columns"):
        raise NoColumnsError(
            f"the data set '{name}' does not say its columns before it is loaded; add a function "
            "columns(options) to its file, which returns the train labels and a dict of columns "
            "(docs/your-data.md)"
        )
    return _read_columns(name, "columns", options, kept, count_train)


def _read_columns(
    name: str,
    function: str,
    options: DataOptions,
    kept: list[int],
    count: Callable[[Sequence[int], DataOptions], list[int]],
) -> Columns:
    """Return the metadata columns of the selected examples that a function of a data set reads."""
    labels, columns = _ask(name, function, options, ([], {}))
    totals = Counter(labels)
    left = dict(zip(kept, count([totals[index] for index in kept], options), strict=True))
    places = []
    for place, label in enumerate(labels):
        if left.get(label, 0) > 0:
            left[label] -= 1
            places.append(place)
    return {name: [column[place] for place in places] for name, column in columns.items()}
