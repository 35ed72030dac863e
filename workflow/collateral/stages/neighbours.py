"""Measure how near every example is to the forget set; list the nearest examples and copies."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.findings.gates.copies import copies
from collateral.findings.locality.similarity import (
    class_means,
    cosines,
    most_similar_in_turns,
    similarity_by_class,
)
from collateral.results import layout
from collateral.results.chain import INPUTS, checked, hashes, write_record
from collateral.results.dataset import Dataset, Labels
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import Embeddings
from collateral.results.split import Split

NUM_SHOWN = {"train": 48, "test": 48, "forget": 12}  # and who of the forgotten is nearest to them

# By set, with the classes of the forget set on the first axis.
BySet = dict[str, NDArray[np.float32]]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument(
        "--embeddings", type=Path, nargs="+", required=True, help="embeddings.npz, one a seed"
    )
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--code", default="", help="fingerprint of the code, for the record")
    parser.add_argument("--out", type=Path, required=True, help="neighbours.npz")


def run(args: Namespace) -> None:
    """Read data, split and embeddings; write neighbours."""
    if len(args.embeddings) != len(args.seeds):
        raise ValueError(
            f"--embeddings: {len(args.embeddings)} files for {len(args.seeds)} seeds; give one each"
        )
    root = args.data.parent
    data, split = Dataset.load(checked(args.data, root)), Split.load(args.split, root)
    embedded = [_embeddings(checked(path, root)) for path in args.embeddings]
    neighbours_of(data, split, args.seeds, embedded).save(args.out)
    about = {
        "seeds": args.seeds,
        "code": args.code,
        INPUTS: hashes([args.data, args.split, *args.embeddings], root),
    }
    write_record(layout.record_of(args.out), about, root=root, files=[args.out])


def neighbours_of(
    data: Dataset, split: Split, seeds: list[int], embedded: list[Embeddings]
) -> Neighbours:
    """Compute every example's similarity to the nearest class, and list the nearest examples."""
    by_seed = [_similarities(one, data.labels, split) for one in embedded]
    nearest = {name: np.stack([of[name].max(axis=0) for of in by_seed]) for name in by_seed[0]}
    mean = {name: np.mean([of[name] for of in by_seed], axis=0) for name in by_seed[0]}
    shown = {
        "train": _shown(mean["train"], split.retain, "train"),
        "test": _shown(mean["test"], np.arange(len(data.labels.test)), "test"),
    }
    close = np.concatenate([_closest(embedded, split, *one) for one in shown.items()])
    most = _shown(mean["train"], split.forget, "forget")
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
        copies=copies(data.train_images, split.forget, split.retain),
        image_size=np.array(data.train_images.shape[1:3]),
    )


def _closest(
    embedded: list[Embeddings], split: Split, name: str, index: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the forgotten example nearest to each of some examples, mean over seeds."""
    by_seed = [cosines(getattr(one, name)[index], one.train[split.forget]) for one in embedded]
    found: NDArray[np.int64] = split.forget[np.mean(by_seed, axis=0).argmax(axis=1)]
    return found


def _shown(
    by_class: NDArray[np.float32], candidates: NDArray[np.int64], name: str
) -> NDArray[np.int64]:
    return most_similar_in_turns(by_class, candidates, NUM_SHOWN[name])


def _embeddings(path: Path) -> Embeddings:
    embeddings = Embeddings.load(path)
    if not (np.isfinite(embeddings.train).all() and np.isfinite(embeddings.test).all()):
        raise ValueError(f"{path}: features are not finite: the base model diverged; lower its lr")
    return embeddings


def _similarities(embeddings: Embeddings, labels: Labels, split: Split) -> BySet:
    forget, label = embeddings.train[split.forget], labels.train[split.forget]
    features: dict[str, NDArray[np.floating]] = {
        "train": embeddings.train,
        "test": embeddings.test,
        "class": class_means(embeddings.train, labels.train, len(labels.class_names)),
    }
    return {name: similarity_by_class(rows, forget, label) for name, rows in features.items()}
