"""Gallery of the page: forgotten images, and the examples that each method hurts most.

Which examples are hurt is found among all retained and all test examples, also among those without
a picture.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import softmax

from collateral.contract.conventions import ALL_PICTURES, FILE, NO_PICTURES, RETAINED, SKIPPED
from collateral.contract.metrics import Metric
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours, Pictures
from collateral.results.hurt import (
    NUM_WORST,
    SUBSETS,
    Confidence,
    find_hurt,
    mean_confidence,
)
from collateral.results.outputs import StoredOutputs
from collateral.results.provenance import verify
from collateral.results.split import Split
from collateral.results.table import NAMES, CellTable

if TYPE_CHECKING:
    from collateral.report.decision import Decision
    from collateral.report.page import CellPart

NUM_FORGOTTEN = 8
NEAR = ("near", "near_test")  # measures by which the strips are sorted
NUM_BESIDE = 4  # maximum number of examples in a strip beside the decision table
MOST_IMAGES = 200  # maximum number of images per cell
MOST_OF_PAGE = 3000  # maximum number of images per page
LOST = {"diverged", SKIPPED}  # statuses of runs without usable outputs
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

    place: int | None  # index of the image in the sheet (one large image); None without picture
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
    """A row of images: examples of one subset that a method hurts most, or forgotten examples."""

    run: str
    set: str
    title: str
    examples: list[Example]
    count: int = 0  # number of all examples of the subset that are hurt, with a picture or without
    total: int = 0  # number of examples of the subset


@dataclass(frozen=True)
class Gallery:
    """The images of a cell, side by side in one sheet."""

    left_out: str = ""  # sentence about images that are not shown
    reference: str = ""  # display name of the reference
    sheet: str = ""  # data URI of one large image that contains all images side by side
    count: int = 0
    forgotten: Strip | None = None
    hurt: list[Strip] | None = None  # strips of damaged examples; None if there are no pictures
    nobody: tuple[str, ...] = ()  # labels of the methods that hurt no retained or test example
    lost: tuple[str, ...] = ()  # labels of the methods with a seed that diverged or was skipped
    seed: int = 0  # seed of the models whose most likely classes are listed


@dataclass(frozen=True)
class HurtPictures:
    """The pictures beside the decision table, the most harmful method first."""

    reference: str
    strips: list[tuple[int, Strip]]  # each with the number of its sheet
    nobody: list[str]  # labels of the methods that hurt no retained or test example, in any cell
    lost: list[str]  # labels of the methods with a seed, in any cell, that diverged or was skipped


@dataclass(frozen=True)
class RunOutputs:
    """Outputs of a run's models (one per seed) for the listed examples."""

    confidence: NDArray[np.float64]  # one value per example, mean over seeds
    predictions: NDArray[np.int64]  # (seeds, examples)
    probability: NDArray[np.float64]  # (examples, classes), of the first seed


@dataclass(frozen=True)
class Listed:
    """The examples that a gallery may show, as arrays with one entry per example."""

    subset: NDArray[np.str_]  # train, test or forget
    index: NDArray[np.int64]  # index in the test or the train set
    nearest: NDArray[np.int64]  # position, in these arrays, of the nearest forgotten one, or -1
    image: NDArray[np.int64]  # index of the picture in pictures.npz; -1 without picture

    @cached_property
    def place(self) -> dict[tuple[str, int], int]:
        """Dict from subset and index of each example to its position."""
        pairs = zip(self.subset.tolist(), self.index.tolist(), strict=True)
        return {pair: k for k, pair in enumerate(pairs)}


def collect_hurt(cells: Sequence[CellPart], decision: Decision) -> HurtPictures | None:
    """Return pictures of the examples that each method hurts most, the worst methods first."""
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
    ]
    strips = [
        (cell.sheet, replace(strip, title=title, examples=strip.examples[:NUM_BESIDE]))
        for _, cell, strip in sorted(found, key=lambda one: one[0], reverse=True)
        for title in [f"{strip.title}, {cell.title}" if len(cells) > 1 else strip.title]
    ]
    lost = {label for _, gallery in galleries for label in gallery.lost}
    named = lost | {strip.title for _, gallery in galleries for strip in gallery.hurt or ()}
    labels = [row.label for row in decision.methods]
    return HurtPictures(
        galleries[0][1].reference,
        strips,
        [label for label in labels if label not in named],
        [label for label in labels if label in lost],
    )


def number_hurt(strip: Strip) -> str:
    """Return how many examples of a strip's subset are hurt, as text: "3 of 90 retained"."""
    return f"{strip.count} of {strip.total} {strip.set}"


def build_gallery(folder: Path, cell: CellTable, num_cells: int = 1) -> Gallery | None:
    """Return the gallery of a cell; None if all of its files are missing."""
    methods = [run for run in cell.runs("method") if not _is_lost(cell, run)]
    runs = [cell.reference, *methods]
    neighbours, images = (
        folder / place.format(cell=cell.name) for place in (layout.NEIGHBOURS, layout.PICTURES)
    )
    files = {run: _find_outputs(folder, cell, run) for run in runs}
    needed = [neighbours, images, folder / layout.LABELS, *(f for run in runs for f in files[run])]
    if not any(file.exists() for file in needed):
        return None
    pictures = Pictures.load(verify(images, folder))
    listed = _list_examples(Neighbours.load(verify(neighbours, folder)), pictures)
    left_out = LEFT_OUT[pictures.keep] if (listed.image < 0).any() else ""
    if not len(pictures.place):
        return Gallery(left_out)
    labels = Labels.load(verify(folder / layout.LABELS, folder))
    split = Split.load(folder / layout.SPLIT.format(cell=cell.name), folder)
    sound = {run: [verify(file, folder) for file in files[run]] for run in runs}
    most = min(MOST_IMAGES, MOST_OF_PAGE // num_cells)
    forgotten, *hurt = _find_strips(cell, split, labels, listed, sound, most)
    named = {strip.run for strip in hurt}
    about = Gallery(
        left_out,
        NAMES[cell.reference],
        nobody=tuple(cell.labels[run] for run in methods if run not in named),
        lost=tuple(cell.labels[run] for run in cell.runs("method") if run not in methods),
        seed=cell.seeds[0],
    )
    return _on_one_sheet(about, pictures, [forgotten, *hurt], most)


def _find_strips(
    cell: CellTable,
    split: Split,
    labels: Labels,
    listed: Listed,
    files: Mapping[str, Sequence[Path]],
    most: int,
) -> Iterator[Strip]:
    """Yield the forgotten examples, and those that each method hurts most, by method and subset.

    `files` are the outputs of the reference, which comes first, and of the methods. If the gallery
    has few images (`most`), strips are short.
    """
    first = np.flatnonzero((listed.subset == "forget") & (listed.image >= 0))[:NUM_FORGOTTEN]
    yield Strip("", SETS["forget"], "Forgotten", [_example(listed, k, labels) for k in first])
    count = min(NUM_WORST, max(1, most // NUM_FORGOTTEN))
    confidence = {run: mean_confidence(files[run]) for run in files}
    before, *after = confidence.values()
    hurt = [find_hurt(split, before, one) for one in after]
    worst = [(n, k) for by_set in hurt for n in by_set for k in by_set[n][:count].tolist()]
    listed = _add_examples(listed, worst)
    retrain, *methods = (_read_outputs(files[run], listed, confidence[run]) for run in files)
    place, totals = listed.place, {"train": len(split.retain), "test": len(labels.test)}
    for run, method, by_set in zip([*files][1:], methods, hurt, strict=True):
        for name, index in by_set.items():
            places = [place[name, k] for k in index[:count].tolist()]
            examples = [_hurt(listed, k, labels, retrain, method) for k in places]
            if examples:
                title = cell.labels[run]
                yield Strip(run, SETS[name], title, examples, len(index), totals[name])


def _is_lost(cell: CellTable, run: str) -> bool:
    """Tell whether a run, or the reference, has no usable outputs in some seed."""
    return any(LOST & cell.troubles[one].keys() for one in (cell.reference, run))


def _list_examples(nearest: Neighbours, pictures: Pictures) -> Listed:
    """List the examples of neighbours.npz, and then those that pictures.npz adds."""
    count = len(nearest.shown_set)
    closest = np.full(count, -1) if nearest.shown_nearest is None else nearest.shown_nearest
    listed = Listed(nearest.shown_set, nearest.shown_index, closest, np.full(count, -1))
    if pictures.hurt_set is not None and pictures.hurt_index is not None:
        added = zip(pictures.hurt_set.tolist(), pictures.hurt_index.tolist(), strict=True)
        listed = _add_examples(listed, [*added])
    image = listed.image.copy()
    image[pictures.place] = np.arange(len(pictures.place))
    return replace(listed, image=image)


def _add_examples(listed: Listed, examples: Sequence[tuple[str, int]]) -> Listed:
    """Return the list with those examples that it lacks; they have no picture."""
    known = listed.place
    new = [one for one in dict.fromkeys(examples) if one not in known]
    unknown = np.full(len(new), -1)
    return Listed(
        np.concatenate([listed.subset, np.array([name for name, _ in new], listed.subset.dtype)]),
        np.concatenate([listed.index, np.array([k for _, k in new], np.int64)]),
        np.concatenate([listed.nearest, unknown]),
        np.concatenate([listed.image, unknown]),
    )


def _on_one_sheet(gallery: Gallery, pictures: Pictures, strips: list[Strip], most: int) -> Gallery:
    """Return the gallery with these rows of images; its images are joined into one large image.

    Only `most` images are taken; the first examples of each row come first.
    """
    rows = zip_longest(*(strip.examples for strip in strips))
    ranked = (one for row in rows for one in row if one)
    images = dict.fromkeys(k for one in ranked for k in (one.place, one.nearest) if k is not None)
    needed = sorted([*images][:most])
    order = {k: place for place, k in enumerate(needed)}
    first, *hurt = (
        replace(strip, examples=[_moved(example, order) for example in strip.examples])
        for strip in strips
    )
    sheet = _sheet(pictures.images[needed]) if needed else ""
    forgotten = first if first.examples else None
    return replace(gallery, sheet=sheet, count=len(order), forgotten=forgotten, hurt=hurt)


def _moved(example: Example, order: dict[int, int]) -> Example:
    """Return the example with the places of its images in the sheet; None if an image is not in."""
    place, nearest = (None if k is None else order.get(k) for k in (example.place, example.nearest))
    return replace(example, place=place, nearest=nearest)


def _find_outputs(folder: Path, cell: CellTable, run: str) -> list[Path]:
    place = f"{layout.run_folder(run)}/{layout.OUTPUTS}"
    files = [folder / place.format(cell=cell.name, seed=seed, run=run) for seed in cell.seeds]
    # A base model that all seeds share has only one file of outputs.
    shared = [file for file in files if file.exists()] if run == layout.ORIGINAL else []
    return shared or files


def _read_outputs(files: Sequence[Path], listed: Listed, confidence: Confidence) -> RunOutputs:
    sets = [[StoredOutputs(file, name) for name in SUBSETS] for file in files]
    predictions = [_select_listed(listed, *(one.prediction for one in both)) for both in sets]
    logits = _select_listed(listed, *(one.logits for one in sets[0]))
    return RunOutputs(
        _select_listed(listed, *(confidence[name] for name in SUBSETS)),
        np.array(predictions).astype(np.int64),
        softmax(logits, axis=1),
    )


def _select_listed(
    listed: Listed, train: NDArray[np.generic], test: NDArray[np.generic]
) -> NDArray[np.float64]:
    """Select the values of the listed examples from those of all train and test examples."""
    from_test = listed.subset == "test"
    values = np.empty((len(from_test), *train.shape[1:]))
    values[from_test] = test[listed.index[from_test]]
    values[~from_test] = train[listed.index[~from_test]]
    return values


def _hurt(
    listed: Listed, k: int, labels: Labels, retrain: RunOutputs, method: RunOutputs
) -> Example:
    before, after = (CONFIDENCE.text(float(a.confidence[k])) for a in (retrain, method))
    example = _example(listed, k, labels)
    nearest = int(listed.nearest[k])
    return replace(
        example,
        nearest=_image(listed, nearest) if nearest >= 0 else None,
        change=f"{before} → {after} %",
        predicted=_most_predicted(method.predictions[:, k], labels, example.name),
        likely=tuple(_likely(answers.probability[k], labels) for answers in (retrain, method)),
    )


def _image(listed: Listed, k: int) -> int | None:
    return None if listed.image[k] < 0 else int(listed.image[k])


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


def _example(listed: Listed, k: int, labels: Labels) -> Example:
    origin = str(listed.subset[k])
    is_test, place = origin == "test", listed.index[k]
    label = (labels.test if is_test else labels.train)[place]
    files = (labels.test_columns if is_test else labels.columns).get(FILE)
    file = "" if files is None else str(files[place])
    return Example(_image(listed, k), labels.class_names[label], SETS[origin], file=file)


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
