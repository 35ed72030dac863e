"""Measure how near every example is to the forget set, and keep the images of the nearest."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.core.dataset import Dataset, Labels
from collateral.core.neighbours import Neighbours
from collateral.core.outputs import Embeddings
from collateral.core.split import Split
from collateral.metrics.similarity import class_means, most_similar, similarity

NUM_SHOWN = {"train": 48, "test": 48, "forget": 12}

ByName = dict[str, NDArray[np.float32]]  # by field of Neighbours


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument(
        "--embeddings", type=Path, nargs="+", required=True, help="embeddings.npz, one a seed"
    )
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True, help="neighbours.npz")


def run(args: Namespace) -> None:
    """Read data, split and embeddings; write neighbours."""
    if len(args.embeddings) != len(args.seeds):
        raise ValueError(
            f"--embeddings: {len(args.embeddings)} files for {len(args.seeds)} seeds; give one each"
        )
    data, split = Dataset.load(args.data), Split.load(args.split)
    seeds = [_similarities(path, data.labels, split) for path in args.embeddings]
    by_name = {name: np.stack([of_seed[name] for of_seed in seeds]) for name in seeds[0]}
    neighbours_of(data, split, args.seeds, by_name).save(args.out)


def neighbours_of(
    data: Dataset, split: Split, seeds: list[int], similarities: ByName
) -> Neighbours:
    """Add to the similarities the examples that are most similar in the mean over seeds."""
    train = similarities["train_similarity"].mean(axis=0)
    test = similarities["test_similarity"].mean(axis=0)
    shown = {
        "train": most_similar(train, split.retain, NUM_SHOWN["train"]),
        "test": most_similar(test, np.arange(len(test)), NUM_SHOWN["test"]),
        "forget": most_similar(train, split.forget, NUM_SHOWN["forget"]),
    }
    images = {"train": data.train_images, "test": data.test_images, "forget": data.train_images}
    return Neighbours(
        **similarities,
        seeds=np.array(seeds),
        shown_set=np.repeat(list(shown), [len(index) for index in shown.values()]),
        shown_index=np.concatenate(list(shown.values())),
        shown_images=np.concatenate([images[name][index] for name, index in shown.items()]),
    )


def _similarities(path: Path, labels: Labels, split: Split) -> ByName:
    embeddings = Embeddings.load(path)
    if not (np.isfinite(embeddings.train).all() and np.isfinite(embeddings.test).all()):
        raise ValueError(f"{path}: features are not finite: the base model diverged; lower its lr")
    forget = embeddings.train[split.forget]
    means = class_means(embeddings.train, labels.train, len(labels.class_names))
    return {
        "train_similarity": similarity(embeddings.train, forget),
        "test_similarity": similarity(embeddings.test, forget),
        "class_similarity": similarity(means, forget),
    }
