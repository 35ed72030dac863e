"""The very images: forgotten examples, and the neighbours that each method hurt most."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from collateral.contract.metrics import Metric
from collateral.results import layout
from collateral.results.chain import checked
from collateral.results.dataset import Labels
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import StoredOutputs
from collateral.results.table import REFERENCE, CellTable

NUM_METHODS = 4
NUM_EXAMPLES = 8
LEAST_LOSS = 0.1  # of confidence: below it, nobody was hurt
SETS = {"train": "retained", "test": "test", "forget": "forgotten"}
CONFIDENCE = Metric("Confidence", "probability of the true class", "%", digits=0)


@dataclass(frozen=True)
class Example:
    """One image and what is written below it."""

    image: str  # a data URI
    name: str  # the true class
    origin: str  # retained, test or forgotten
    change: str = ""  # "90 → 10 %": Retrain's confidence in the true class, the unlearned model's
    predicted: str = ""  # the unlearned models' most frequent class, where it is wrong


@dataclass(frozen=True)
class Strip:
    """A row of images."""

    title: str
    examples: list[Example]


@dataclass(frozen=True)
class RunAnswers:
    """What the models of a run, one a seed, say of the shown examples."""

    run: str
    confidence: NDArray[np.float64]  # (K,), mean over seeds
    prediction: NDArray[np.int64]  # (K,), most frequent over seeds


def strips(folder: Path, cell: CellTable) -> list[Strip]:
    """Return the forgotten examples and whom the worst methods hurt; nothing without the cache."""
    runs = [REFERENCE, *(run for run in cell.runs("method") if not cell.trouble(run))]
    files = {run: _outputs(folder, cell, run) for run in runs}
    neighbours = folder / layout.NEIGHBOURS.format(cell=cell.name)
    needed = [neighbours, folder / layout.LABELS, *(path for run in runs for path in files[run])]
    if not any(path.exists() for path in needed):
        return []
    shown = Neighbours.load(checked(neighbours, folder))
    labels = Labels.load(checked(folder / layout.LABELS, folder))
    forgotten = np.flatnonzero(shown.shown_set == "forget")
    sound = {run: [checked(path, folder) for path in files[run]] for run in runs}
    retrain, *methods = (_answers(run, sound[run], shown) for run in runs)
    return [
        Strip("Forgotten", [_example(shown, k, labels) for k in forgotten]),
        *(
            Strip(
                f"Hurt most by {cell.labels[method.run]}",
                [_hurt(shown, k, labels, retrain, method) for k in places],
            )
            for method, places in _worst(shown, retrain, methods)
        ),
    ]


def _outputs(folder: Path, cell: CellTable, run: str) -> list[Path]:
    runs = (layout.RUN.format(cell=cell.name, seed=seed, run=run) for seed in cell.seeds)
    return [folder / place / layout.OUTPUTS for place in runs]


def _answers(run: str, files: list[Path], shown: Neighbours) -> RunAnswers:
    sets = [[StoredOutputs(file, name) for name in ("train", "test")] for file in files]
    confidence = [_of_shown(shown, train.confidence, test.confidence) for train, test in sets]
    prediction = [_of_shown(shown, train.prediction, test.prediction) for train, test in sets]
    modes = [np.bincount(votes).argmax() for votes in np.array(prediction).astype(int).T]
    return RunAnswers(run, np.mean(confidence, axis=0), np.array(modes))


def _of_shown(
    shown: Neighbours, train: NDArray[np.generic], test: NDArray[np.generic]
) -> NDArray[np.float64]:
    """Return what is said of the shown examples."""
    from_test = shown.shown_set == "test"
    values = np.empty(len(from_test))
    values[from_test] = test[shown.shown_index[from_test]]
    values[~from_test] = train[shown.shown_index[~from_test]]
    return values


def _worst(
    shown: Neighbours, retrain: RunAnswers, methods: list[RunAnswers]
) -> Iterator[tuple[RunAnswers, NDArray[np.int64]]]:
    """Yield the methods that hurt most, and the examples that each of them hurt."""
    candidates = np.flatnonzero(shown.shown_set != "forget")
    hurt = []
    for method in methods:
        loss = (retrain.confidence - method.confidence)[candidates]
        worst = np.argsort(-loss, kind="stable")[:NUM_EXAMPLES]
        worst = worst[loss[worst] >= LEAST_LOSS]
        if len(worst):
            hurt.append((float(loss[worst].sum()), method, candidates[worst]))
    for _, method, places in sorted(hurt, key=lambda one: -one[0])[:NUM_METHODS]:
        yield method, places


def _hurt(
    shown: Neighbours, k: np.int64, labels: Labels, retrain: RunAnswers, method: RunAnswers
) -> Example:
    before, after = (CONFIDENCE.text(float(a.confidence[k])) for a in (retrain, method))
    seen = labels.class_names[method.prediction[k]]
    example = _example(shown, k, labels)
    return Example(
        example.image,
        example.name,
        example.origin,
        f"{before} → {after} %",
        "" if seen == example.name else seen,
    )


def _example(shown: Neighbours, k: np.int64, labels: Labels) -> Example:
    origin = str(shown.shown_set[k])
    label = (labels.test if origin == "test" else labels.train)[shown.shown_index[k]]
    return Example(png(shown.shown_images[k]), labels.class_names[label], SETS[origin])


def png(pixels: NDArray[np.uint8]) -> str:
    """Return an image (H, W, C) as a data URI."""
    buffer = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(buffer, "png")
    return data_uri(buffer.getvalue())


def data_uri(content: bytes) -> str:
    """Return a PNG file as a data URI."""
    return "data:image/png;base64," + base64.b64encode(content).decode()
