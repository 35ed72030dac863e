"""Gallery of the page: forgotten images, and the neighbours that each method damaged most."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import softmax

from collateral.contract.conventions import ALL_PICTURES, FILE, NO_PICTURES, RETAINED
from collateral.contract.metrics import Metric
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours, Pictures
from collateral.results.outputs import StoredOutputs
from collateral.results.provenance import verify
from collateral.results.table import NAMES, CellTable

if TYPE_CHECKING:
    from collateral.report.decision import Decision
    from collateral.report.page import CellPart

NUM_EXAMPLES = 8
NUM_FORGOTTEN = 8
NEAR = ("near", "near_test")  # measures by which the strips are sorted
NUM_BESIDE = 4  # maximum number of examples in a strip beside the decision table
MOST_IMAGES = 200  # maximum number of images per cell
MOST_OF_PAGE = 3000  # maximum number of images per page
LEAST_LOSS = 0.1  # minimum loss of confidence at which an example counts as harmed
SETS = {"train": "retained", "test": "test", "forget": "forgotten"}
CONFIDENCE = Metric("Confidence", "probability of the true class", "%", digits=0)
MOST_LIKELY = 3  # number of most likely classes in a caption
LEFT_OUT = {
    ALL_PICTURES: "Pictures of examples that are withdrawn in another cell are left out, and so "
    "are pictures of their copies.",
    RETAINED: "Pictures of forgotten examples and of copies of them are left out, on this page and "
    "in a bundle (pictures: retained).",
    NO_PICTURES: "Pictures are left out, on this page and in a bundle (pictures: none).",
}


@dataclass(frozen=True)
class Example:
    """An image and its caption."""

    place: int  # index of the image in the sheet (one large image of all images)
    name: str  # name of the true class
    origin: str  # subset of the example: retained, test or forgotten
    nearest: int | None = None  # index, in the sheet, of the nearest forgotten example
    change: str = ""  # confidence in the true class, Retrain → unlearned: "90 → 10 %"
    # Class that most seeds predict after unlearning, and the number of these seeds.
    # Empty if the class is correct.
    predicted: str = ""
    file: str = ""  # path of the image, if examples are files
    # Most likely classes: one text for Retrain and one for the unlearned model.
    likely: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strip:
    """A row of images: examples of one subset that a method harmed, or forgotten examples."""

    run: str
    set: str
    title: str
    examples: list[Example]


@dataclass(frozen=True)
class Gallery:
    """The images of a cell, side by side in one sheet."""

    left_out: str = ""  # sentence about images that are not shown
    reference: str = ""  # display name of the reference
    sheet: str = ""  # data URI of one large image that contains all images side by side
    count: int = 0
    forgotten: Strip | None = None
    hurt: list[Strip] | None = None  # strips of damaged examples; None if there are no pictures
    nobody: tuple[str, ...] = ()  # labels of the methods that harm no example with a picture
    seed: int = 0  # seed of the models whose most likely classes are listed


@dataclass(frozen=True)
class HurtPictures:
    """The pictures beside the decision table, the most harmful method first."""

    reference: str
    strips: list[tuple[int, Strip]]  # each with the number of its sheet
    nobody: list[str]  # labels of the methods that harm no example with a picture, in any cell


@dataclass(frozen=True)
class RunOutputs:
    """Outputs of a run's models (one per seed) for the examples in the gallery."""

    run: str
    confidence: NDArray[np.float64]  # one value per example, mean over seeds
    predictions: NDArray[np.int64]  # (seeds, examples)
    probability: NDArray[np.float64]  # (examples, classes), of the first seed


def collect_hurt(cells: Sequence[CellPart], decision: Decision) -> HurtPictures | None:
    """Return pictures of the retained examples that each method harmed, the worst methods first."""
    galleries = [(cell, cell.gallery) for cell in cells if cell.gallery and cell.gallery.sheet]
    if not galleries:
        return None
    harm = {
        (row.run, cell.name): (
            bool(score.harms),
            max((m.mean for m in map(score.find, NEAR) if m), default=0.0),
        )
        for row in decision.methods
        for cell, score in zip(decision.cells, row.scores, strict=True)
        if score
    }
    found = [
        (harm.get((strip.run, cell.name), (False, 0.0)), cell, strip)
        for cell, gallery in galleries
        for strip in gallery.hurt or ()
        if strip.set == SETS["train"]
    ]
    strips = [
        (cell.sheet, replace(strip, title=title, examples=strip.examples[:NUM_BESIDE]))
        for _, cell, strip in sorted(found, key=lambda one: one[0], reverse=True)
        for title in [f"{strip.title}, {cell.title}" if len(cells) > 1 else strip.title]
    ]
    nobody = set.intersection(*(set(gallery.nobody) for _, gallery in galleries))
    order = [row.label for row in decision.methods if row.label in nobody]
    return HurtPictures(galleries[0][1].reference, strips, order)


def build_gallery(folder: Path, cell: CellTable, num_cells: int = 1) -> Gallery | None:
    """Return the gallery of a cell; None if all of its files are missing."""
    runs = [cell.reference, *(run for run in cell.runs("method") if not cell.failure_summary(run))]
    neighbours, images = (
        folder / place.format(cell=cell.name) for place in (layout.NEIGHBOURS, layout.PICTURES)
    )
    files = {run: _find_outputs(folder, cell, run) for run in runs}
    needed = [neighbours, images, folder / layout.LABELS, *(f for run in runs for f in files[run])]
    if not any(file.exists() for file in needed):
        return None
    pictures = Pictures.load(verify(images, folder))
    listed = Neighbours.load(verify(neighbours, folder))
    left_out = LEFT_OUT[pictures.keep] if len(pictures.place) < len(listed.shown_set) else ""
    if not len(pictures.place):
        return Gallery(left_out)
    shown = _with_pictures(listed, pictures)
    labels = Labels.load(verify(folder / layout.LABELS, folder))
    sound = {run: [verify(file, folder) for file in files[run]] for run in runs}
    retrain, *methods = (_read_outputs(run, sound[run], shown) for run in runs)
    # The divisor is 4: two subsets (retained and test), with two images per example.
    # The second image is the nearest forgotten example.
    most = (min(MOST_IMAGES, MOST_OF_PAGE // num_cells) - NUM_FORGOTTEN) // 4
    hurt = [
        Strip(
            method.run,
            SETS[name],
            cell.labels[method.run],
            [_hurt(shown, k, labels, retrain, method) for k in places],
        )
        for method in methods
        for name, places in _worst(shown, retrain, method, most)
    ]
    first = np.flatnonzero(shown.shown_set == "forget")[:NUM_FORGOTTEN]
    forgotten = Strip("", SETS["forget"], "Forgotten", [_example(shown, k, labels) for k in first])
    named = {strip.run for strip in hurt}
    nobody = tuple(cell.labels[one.run] for one in methods if one.run not in named)
    about = Gallery(left_out, NAMES[cell.reference], nobody=nobody, seed=cell.seeds[0])
    return _on_one_sheet(about, pictures, [forgotten, *hurt])


def _with_pictures(listed: Neighbours, pictures: Pictures) -> Neighbours:
    """Keep the examples that have an image; a nearest forgotten example without one becomes -1."""
    order = {place: k for k, place in enumerate(pictures.place.tolist())}
    nearest = listed.shown_nearest
    if nearest is not None:
        nearest = np.array([order.get(k, -1) for k in nearest[pictures.place].tolist()])
    return replace(
        listed,
        shown_set=listed.shown_set[pictures.place],
        shown_index=listed.shown_index[pictures.place],
        shown_nearest=nearest,
    )


def _on_one_sheet(gallery: Gallery, pictures: Pictures, strips: list[Strip]) -> Gallery:
    """Return the gallery with these rows of images; all images are joined into one large image."""
    examples = [example for strip in strips for example in strip.examples]
    needed = {k for one in examples for k in (one.place, one.nearest) if k is not None}
    order = {k: place for place, k in enumerate(sorted(needed))}
    first, *hurt = (
        replace(strip, examples=[_moved(example, order) for example in strip.examples])
        for strip in strips
    )
    sheet = _sheet(pictures.images[list(order)]) if order else ""
    forgotten = first if first.examples else None
    return replace(gallery, sheet=sheet, count=len(order), forgotten=forgotten, hurt=hurt)


def _moved(example: Example, order: dict[int, int]) -> Example:
    nearest = None if example.nearest is None else order[example.nearest]
    return replace(example, place=order[example.place], nearest=nearest)


def _find_outputs(folder: Path, cell: CellTable, run: str) -> list[Path]:
    place = f"{layout.run_folder(run)}/{layout.OUTPUTS}"
    files = [folder / place.format(cell=cell.name, seed=seed, run=run) for seed in cell.seeds]
    # A base model that all seeds share has only one file of outputs.
    shared = [file for file in files if file.exists()] if run == layout.ORIGINAL else []
    return shared or files


def _read_outputs(run: str, files: Sequence[Path], shown: Neighbours) -> RunOutputs:
    sets = [[StoredOutputs(file, name) for name in ("train", "test")] for file in files]
    confidence = [_select_shown(shown, train.confidence, test.confidence) for train, test in sets]
    prediction = [_select_shown(shown, train.prediction, test.prediction) for train, test in sets]
    logits = _select_shown(shown, *(one.logits for one in sets[0]))
    predictions = np.array(prediction).astype(np.int64)
    return RunOutputs(run, np.mean(confidence, axis=0), predictions, softmax(logits, axis=1))


def _select_shown(
    shown: Neighbours, train: NDArray[np.generic], test: NDArray[np.generic]
) -> NDArray[np.float64]:
    """Select the values of the gallery's examples from those of all train and test examples."""
    from_test = shown.shown_set == "test"
    values = np.empty((len(from_test), *train.shape[1:]))
    values[from_test] = test[shown.shown_index[from_test]]
    values[~from_test] = train[shown.shown_index[~from_test]]
    return values


def _worst(
    shown: Neighbours, retrain: RunOutputs, method: RunOutputs, most: int
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the indices of the most harmed examples: first of the retained, then of the test ones.

    Only the first `most` examples of each subset are considered.
    """
    for name in ("train", "test"):
        candidates = np.flatnonzero(shown.shown_set == name)[:most]
        loss = (retrain.confidence - method.confidence)[candidates]
        worst = np.argsort(-loss, kind="stable")[:NUM_EXAMPLES]
        if len(worst := worst[loss[worst] >= LEAST_LOSS]):
            yield name, candidates[worst]


def _hurt(
    shown: Neighbours, k: int, labels: Labels, retrain: RunOutputs, method: RunOutputs
) -> Example:
    before, after = (CONFIDENCE.text(float(a.confidence[k])) for a in (retrain, method))
    example = _example(shown, k, labels)
    nearest = -1 if shown.shown_nearest is None else int(shown.shown_nearest[k])
    return replace(
        example,
        nearest=nearest if nearest >= 0 else None,
        change=f"{before} → {after} %",
        predicted=_most_predicted(method.predictions[:, k], labels, example.name),
        likely=tuple(_likely(answers.probability[k], labels) for answers in (retrain, method)),
    )


def _most_predicted(predictions: NDArray[np.int64], labels: Labels, true: str) -> str:
    """Return the class that most seeds predict, and the number of these seeds, as text.

    The text is empty if that class is correct.
    """
    counts = np.bincount(predictions, minlength=len(labels.class_names))
    if counts[labels.class_names.index(true)] == counts.max():
        return ""
    seeds = f" in {counts.max()} of {len(predictions)} seeds" if len(predictions) > 1 else ""
    return f"{labels.class_names[counts.argmax()]}{seeds}"


def _likely(probability: NDArray[np.float64], labels: Labels) -> str:
    """Return the most likely classes as text, such as "digit_3 90 %, digit_8 5 %"."""
    order = np.argsort(-probability, kind="stable")[:MOST_LIKELY]
    texts = (f"{labels.class_names[c]} {CONFIDENCE.text(float(probability[c]))} %" for c in order)
    return ", ".join(texts)


def _example(shown: Neighbours, k: int, labels: Labels) -> Example:
    origin = str(shown.shown_set[k])
    is_test, place = origin == "test", shown.shown_index[k]
    label = (labels.test if is_test else labels.train)[place]
    files = (labels.test_columns if is_test else labels.columns).get(FILE)
    file = "" if files is None else str(files[place])
    return Example(int(k), labels.class_names[label], SETS[origin], file=file)


def _sheet(images: NDArray[np.uint8]) -> str:
    """Return the images side by side in one large image, each in the middle of a black square."""
    count, height, width, channels = images.shape
    side = max(height, width)
    sheet = np.zeros((side, count, side, channels), np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    sheet[top : top + height, :, left : left + width] = images.swapaxes(0, 1)
    buffer = io.BytesIO()
    pixels = sheet.reshape(side, count * side, channels)
    Image.fromarray(pixels.squeeze(2) if channels == 1 else pixels).save(
        buffer, "png", optimize=True
    )
    return as_uri(buffer.getvalue())


def as_uri(png: bytes) -> str:
    """Return a PNG image as a data URI."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
