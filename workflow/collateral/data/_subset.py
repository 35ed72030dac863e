"""Select the classes and examples that the config names from a data set, and the forget set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from collateral.contract.data import DataOptions
from collateral.data._metadata import count_test, count_train, find_classes
from collateral.data._readers.pieces import DatasetInPieces
from collateral.plugins.find import FORGET
from collateral.results.dataset import Dataset, Labels
from collateral.results.split import Split

AnyDataset = TypeVar("AnyDataset", Dataset, DatasetInPieces)


def take_subset(dataset: AnyDataset, options: DataOptions) -> AnyDataset:
    """Return the selected classes and examples; classes are numbered in the order of the config.

    Images of a data set in pieces are not read yet.
    """
    names = dataset.labels.class_names
    kept = find_classes(options, names)
    kept_names = tuple(names[index] for index in kept)
    train_labels = _renumber(dataset.labels.train, kept, len(names))
    test_labels = _renumber(dataset.labels.test, kept, len(names))
    train = _first_examples("train", train_labels, kept_names, options)
    test = _first_examples("test", test_labels, kept_names, options)
    return replace(
        dataset,
        train_images=dataset.train_images[train],
        test_images=dataset.test_images[test],
        labels=Labels(
            train_labels[train],
            test_labels[test],
            kept_names,
            {name: column[train] for name, column in dataset.labels.columns.items()},
            {name: column[test] for name, column in dataset.labels.test_columns.items()},
        ),
        **_normalisation(dataset, options),
    )


def _normalisation(dataset: Dataset | DatasetInPieces, options: DataOptions) -> dict[str, Any]:
    """Return the mean and std of the config, if given, which replace those of the data set."""
    if options.mean is None:
        return {}
    assert not isinstance(options.mean, str), "the plan replaces `model` by numbers"
    channels = dataset.train_images.shape[3]
    if len(options.mean) != channels:
        raise ValueError(f"data.mean: {len(options.mean)} numbers for {channels} channels")
    return {"mean": options.mean, "std": options.std}


def _renumber(labels: NDArray[np.int64], kept: list[int], num_classes: int) -> NDArray[np.int64]:
    """Return the index of each example's class among the selected classes; -1 if not selected."""
    new = np.full(num_classes, -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    return new[labels]


def _first_examples(
    part: str, labels: NDArray[np.int64], names: tuple[str, ...], options: DataOptions
) -> NDArray[np.int64]:
    """Return the sorted indices of the first examples of every selected class that are kept."""
    option, limit, count = ("per_class", options.per_class, count_train)
    if part == "test":
        option, limit, count = ("test_per_class", options.test_per_class, count_test)
    keep = labels >= 0
    if not keep.any():
        raise ValueError(f"data.classes: {list(names)} have no {part} example")
    members = [np.flatnonzero(labels == index) for index in range(len(names))]
    for name, own in zip(names, members, strict=True):
        if limit is not None and len(own) < limit:
            raise ValueError(
                f"data.{option}: {limit}, but class '{name}' has {len(own)} {part} examples"
            )
    for own, kept in zip(members, count([*map(len, members)], options), strict=True):
        keep[own[kept:]] = False
    return np.flatnonzero(keep)


def choose_forget_set(
    labels: Labels,
    kind: str,
    params: Mapping[str, Any],
    values: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the forget set and its description; raise if no train example is retained.

    `values` has one number per train example, for a kind that depends on models or on the images.
    Without them, as before any training, all examples count as equal.
    """
    module = FORGET.load(kind)
    given = module.Params.model_validate(params)
    numbers = np.zeros(len(labels.train)) if values is None else values
    forget = module.select(labels, given, *([numbers] if hasattr(module, "NEEDS") else []))
    chosen = {"kind": kind, **module.chosen(labels, given)}
    if len(forget) == len(labels.train):
        raise ValueError(f"forget set {chosen}: all {len(forget)} train examples, none is retained")
    return forget, chosen


def make_split(
    labels: Labels,
    forget: NDArray[np.int64],
    chosen: dict[str, Any],
    earlier: Sequence[NDArray[np.int64]],
) -> Split:
    """Return a split; examples of earlier requests are neither in its forget set nor retained.

    A kind of forget set may name further examples without which Retrain is trained.
    """
    before = reduce(np.union1d, earlier, np.array([], dtype=np.int64))
    if count := np.count_nonzero(np.isin(forget, before)):
        forget, chosen = np.setdiff1d(forget, before), {**chosen, "requested_before": int(count)}
    if not len(forget):
        raise ValueError(f"forget set {chosen}: all of it was requested in earlier rounds")
    affected = tuple(np.unique(labels.train[forget]).tolist())
    find_unknown = getattr(FORGET.load(chosen["kind"]), "unknown", lambda _: before)
    unknown = np.setdiff1d(find_unknown(labels), np.union1d(forget, before))
    found = Split(forget, len(labels.train), affected, chosen, before, unknown)
    if not len(found.trained_on):
        raise ValueError(f"forget set {chosen}: with earlier rounds, no example is retained")
    return found
