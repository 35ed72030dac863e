"""Corrupt a part of the train set: a white square with a wrong label, or two classes mixed up.

Corrective unlearning removes what a model learnt from such examples, of which only a part may be
known (Goel et al., 2024). The column `corrupted` says which examples they are, and `true_label`
what they show. The square itself is drawn when a model is given an image, after augmentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from collateral.contract.conventions import class_index, class_indices, derive_seed
from collateral.contract.data import DataOptions

if TYPE_CHECKING:
    from collateral.data._readers.pieces import DatasetInPieces

COLUMN, TRUE_LABEL = "corrupted", "true_label"  # columns of the train examples
YES, NO = "yes", "no"  # values of the column `corrupted`


def count_by_class(names: Sequence[str], options: DataOptions) -> list[tuple[int, int, int]]:
    """Return which labels are changed: label before, label after, number of examples.

    Patched examples are of all other classes in equal parts, and mislabelled ones of two classes.
    """
    if (patched := options.patched) is not None:
        target = _index("patched.label", patched.label, names)
        others = [index for index in range(len(names)) if index != target]
        each, more = divmod(patched.count, len(others))
        return [(own, target, each + (place < more)) for place, own in enumerate(others)]
    if (mislabelled := options.mislabelled) is not None:
        try:
            one, two = class_indices(mislabelled.classes, names)
        except ValueError as error:
            raise ValueError(f"data.mislabelled.classes: {error}") from None
        half = mislabelled.count // 2
        return [(one, two, mislabelled.count - half), (two, one, half)]
    return []


def _index(key: str, label: str | int, names: Sequence[str]) -> int:
    try:
        return class_index(label, names)
    except ValueError as error:
        raise ValueError(f"data.{key}: {error}") from None


def count_corrupted(options: DataOptions) -> int:
    """Return the number of corrupted train examples."""
    given = options.patched or options.mislabelled
    return given.count if given else 0


def count_after(counts: Sequence[int], names: Sequence[str], options: DataOptions) -> list[int]:
    """Return the number of train examples of each class by their labels after the corruption."""
    found = [*counts]
    for before, after, count in count_by_class(names, options):
        _check_enough(count, counts[before], names[before], options)
        found[before] -= count
        found[after] += count
    return found


def _check_enough(count: int, there: int, name: str, options: DataOptions) -> None:
    if count > there:
        key = "patched" if options.patched else "mislabelled"
        raise ValueError(
            f"data.{key}.count: {count_corrupted(options)}: {count} of them would be of class "
            f"'{name}', which has {there} train examples"
        )


def corrupt(data: DatasetInPieces, options: DataOptions) -> DatasetInPieces:
    """Return the data set with changed labels, the two columns, and the images to be patched."""
    given = options.patched or options.mislabelled
    if given is None:
        return data
    import numpy as np

    labels, names = data.labels, data.labels.class_names
    new, is_corrupted = labels.train.copy(), np.zeros(len(labels.train), dtype=bool)
    for before, after, count in count_by_class(names, options):
        members = np.flatnonzero(labels.train == before)
        _check_enough(count, len(members), names[before], options)
        rng = np.random.default_rng(derive_seed("corrupted", given.seed, names[before]))
        chosen = rng.permutation(members)[:count]
        new[chosen], is_corrupted[chosen] = after, True
    columns = {
        **labels.columns,
        COLUMN: np.where(is_corrupted, YES, NO),
        TRUE_LABEL: np.array(names)[labels.train],
    }
    found = replace(data, labels=replace(labels, train=new, columns=columns))
    if options.patched is None:
        return found
    return replace(found, patched=is_corrupted, patch=options.patched.size)
