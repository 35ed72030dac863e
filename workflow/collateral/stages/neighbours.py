"""Compute each example's similarity to the forget set; list neighbours and copies of images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from collateral.metrics.copies import find_copies, find_test_copies
from collateral.metrics.pixel_values import summarize_pixels
from collateral.metrics.similarity import (
    class_means,
    cosines,
    most_similar_in_turns,
    similarity_by_class,
)
from collateral.results import layout
from collateral.results.dataset import Dataset, Labels, Neighbours
from collateral.results.outputs import Embeddings
from collateral.results.provenance import INPUTS, hash_files, verify, write_record
from collateral.results.split import Split
from collateral.stages._options import Code, DataFile, SplitFile

# For each subset, the number of listed examples, which are those most similar to the forget set.
NUM_SHOWN = {"train": 48, "test": 48, "forget": 12}

# Similarity to each class of the forget set, by subset; arrays have shape (classes, examples).
BySet = dict[str, NDArray[np.float32]]


def neighbours(
    *,
    data: DataFile,
    split: SplitFile,
    embeddings: Annotated[Sequence[Path], "embeddings.npz, one per seed"],
    seeds: Annotated[Sequence[int], "seeds of the base models"],
    code: Code = "",
    out: Annotated[Path, "neighbours.npz"],
) -> None:
    """Compute and write the similarities of all examples to the forget set."""
    root = data.parent
    embedded = [_load_embeddings(verify(path, root)) for path in embeddings]
    found = find_neighbours(
        Dataset.load(verify(data, root)), Split.load(split, root), seeds, embedded
    )
    found.save(out)
    inputs = hash_files([data, split, *embeddings], root)
    about = {"seeds": list(seeds), "code": code, INPUTS: inputs}
    write_record(layout.record_path(out), about, root=root, files=[out])


def find_neighbours(
    data: Dataset, split: Split, seeds: Sequence[int], embedded: list[Embeddings]
) -> Neighbours:
    """Return the similarity of every example to the forget set, and the examples nearest to it.

    For a forget set of several classes, an example is compared with the most similar class.
    """
    by_seed = [
        _similarities(one, data.labels, split) for _, one in zip(seeds, embedded, strict=True)
    ]
    nearest = {name: np.stack([of[name].max(axis=0) for of in by_seed]) for name in by_seed[0]}
    mean = {name: np.mean([of[name] for of in by_seed], axis=0) for name in by_seed[0]}
    shown = {
        "train": _list_nearest(mean["train"], split.retain, "train"),
        "test": _list_nearest(mean["test"], np.arange(len(data.labels.test)), "test"),
    }
    close = np.concatenate([_find_closest(embedded, split, *one) for one in shown.items()])
    most = _list_nearest(mean["train"], split.forget, "forget")
    shown["forget"] = np.array(list(dict.fromkeys([*most, *close])), dtype=np.int64)
    place = {index: len(close) + k for k, index in enumerate(shown["forget"])}
    own = np.arange(len(close), len(close) + len(place))
    return Neighbours(
        train_similarity=nearest["train"],
        test_similarity=nearest["test"],
        class_similarity=nearest["class"],
        seeds=np.array(seeds),
        shown_set=np.repeat(list(shown), [len(index) for index in shown.values()]),
        shown_index=np.concatenate(list(shown.values())),
        shown_nearest=np.array([*(place[index] for index in close), *own], dtype=np.int64),
        copies=find_copies(data.train_images, split.forget, split.retain),
        image_size=np.array(data.train_images.shape[1:3]),
        test_copies=find_test_copies(data.train_images, data.test_images, split.forget),
        pixels=summarize_pixels(data.train_images, data.test_images),
    )


def _find_closest(
    embedded: list[Embeddings], split: Split, name: str, index: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the forgotten example that is most similar, on average over seeds, to each example."""
    by_seed = [cosines(getattr(one, name)[index], one.train[split.forget]) for one in embedded]
    found: NDArray[np.int64] = split.forget[np.mean(by_seed, axis=0).argmax(axis=1)]
    return found


def _list_nearest(
    by_class: NDArray[np.float32], candidates: NDArray[np.int64], name: str
) -> NDArray[np.int64]:
    """Return the indices of those candidates that are most similar to a class of the forget set."""
    return most_similar_in_turns(by_class, candidates, NUM_SHOWN[name])


def _load_embeddings(path: Path) -> Embeddings:
    embeddings = Embeddings.load(path)
    if not (np.isfinite(embeddings.train).all() and np.isfinite(embeddings.test).all()):
        raise ValueError(f"{path}: features are not finite: the base model diverged; lower its lr")
    return embeddings


def _similarities(embeddings: Embeddings, labels: Labels, split: Split) -> BySet:
    """Return the similarities of train examples, test examples and classes to the forget set."""
    forget, label = embeddings.train[split.forget], labels.train[split.forget]
    features: dict[str, NDArray[np.floating]] = {
        "train": embeddings.train,
        "test": embeddings.test,
        "class": class_means(embeddings.train, labels.train, len(labels.class_names)),
    }
    return {name: similarity_by_class(rows, forget, label) for name, rows in features.items()}
