"""The very images: forgotten examples, and the neighbours that each method hurt most."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from collateral.results.dataset import Labels
from collateral.results.neighbours import Neighbours
from collateral.results.table import REFERENCE, Cell

NUM_METHODS = 4
NUM_EXAMPLES = 8
LEAST_LOSS = 0.1  # of confidence: below it, nobody was hurt
SETS = {"train": "retained", "test": "test", "forget": "forgotten"}


@dataclass(frozen=True)
class Example:
    """One image and what is written below it."""

    image: str  # a data URI
    name: str  # the true class
    origin: str  # retained, test or forgotten
    retrain: float = np.nan  # mean true-class confidence over seeds
    unlearned: float = np.nan
    predicted: str = ""  # the unlearned models' most frequent class, where it is wrong


@dataclass(frozen=True)
class Strip:
    """A row of images."""

    title: str
    examples: list[Example]


@dataclass(frozen=True)
class Answers:
    """What the models of a run, one a seed, say of the shown examples."""

    confidence: NDArray[np.float64]  # (K,), mean over seeds
    prediction: NDArray[np.int64]  # (K,), most frequent over seeds


def strips(folder: Path, cell: Cell, labels: Labels) -> list[Strip]:
    """Return a strip of forgotten examples and one for each of the methods that hurt most."""
    shown = Neighbours.load(folder / "neighbours.npz")
    candidates = np.flatnonzero(shown.shown_set != "forget")
    retrain = _answers(folder, cell, REFERENCE, shown)
    hurt = {}
    for run in cell.runs("method"):
        if not cell.trouble(run):
            answers = _answers(folder, cell, run, shown)
            loss = (retrain.confidence - answers.confidence)[candidates]
            worst = np.argsort(-loss, kind="stable")[:NUM_EXAMPLES]
            worst = worst[loss[worst] >= LEAST_LOSS]
            hurt[run] = (float(loss[worst].sum()), candidates[worst], answers)
    hurting = [run for run in hurt if len(hurt[run][1])]
    first = sorted(hurting, key=lambda run: -hurt[run][0])[:NUM_METHODS]
    forgotten = np.flatnonzero(shown.shown_set == "forget")
    return [
        Strip("Forgotten", [_example(shown, k, labels) for k in forgotten]),
        *(
            Strip(
                f"Hurt most by {cell.labels[run]}",
                [_example(shown, k, labels, retrain, hurt[run][2]) for k in hurt[run][1]],
            )
            for run in first
        ),
    ]


def _answers(folder: Path, cell: Cell, run: str, shown: Neighbours) -> Answers:
    files = [folder / f"seed-{seed}" / run / "outputs.npz" for seed in cell.seeds]
    confidence, prediction = (
        np.array([_of_shown(file, part, shown) for file in files])
        for part in ("confidence", "prediction")
    )
    modes = [np.bincount(votes).argmax() for votes in prediction.astype(int).T]
    return Answers(confidence.mean(axis=0), np.array(modes))


def _of_shown(path: Path, part: str, shown: Neighbours) -> NDArray[np.float64]:
    """Return one part of a run's outputs for the shown examples; the large logits stay unread."""
    with np.load(path) as file:
        train, test = file[f"train_{part}"], file[f"test_{part}"]
    from_test = shown.shown_set == "test"
    values = np.empty(len(from_test))
    values[from_test] = test[shown.shown_index[from_test]]
    values[~from_test] = train[shown.shown_index[~from_test]]
    return values


def _example(
    shown: Neighbours,
    k: np.intp,
    labels: Labels,
    retrain: Answers | None = None,
    unlearned: Answers | None = None,
) -> Example:
    origin = str(shown.shown_set[k])
    label = (labels.test if origin == "test" else labels.train)[shown.shown_index[k]]
    image, name = png(shown.shown_images[k]), labels.class_names[label]
    if retrain is None or unlearned is None:
        return Example(image, name, SETS[origin])
    seen = unlearned.prediction[k]
    return Example(
        image,
        name,
        SETS[origin],
        float(retrain.confidence[k]),
        float(unlearned.confidence[k]),
        "" if seen == label else labels.class_names[seen],
    )


def png(pixels: NDArray[np.uint8]) -> str:
    """Return an image (H, W, C) as a data URI."""
    buffer = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(buffer, "png")
    return data_uri(buffer.getvalue())


def data_uri(content: bytes) -> str:
    """Return a PNG file as a data URI."""
    return "data:image/png;base64," + base64.b64encode(content).decode()
