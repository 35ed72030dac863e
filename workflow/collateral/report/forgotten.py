"""Summary of the forget set for the page: size by class, how it was chosen, retained copies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from collateral.contract.conventions import FILE
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.metrics.copies import EXACT
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.provenance import verify
from collateral.results.split import Split

MOST_CLASSES = 8  # largest number of classes that the summary lists
MOST_COPIES = 50  # largest number of rows of the table of copies
# Keys of `Split.chosen` that the page does not list: hashes, and what the sizes above say.
NOT_SHOWN = ("kind", "sha256", "class", "classes", "count", "fraction", "share")
# How each kind of forget set chooses; a kind of a plug-in is named as it is.
CHOICES = {
    "class_part": "as a part of the class",
    "classes_part": "as parts of the classes",
    "corrupted": "as the known part of the corrupted images",
    "easiest": "as those with the smallest loss under the base model of the first seed",
    "files": "by a list of files",
    "hardest": "as those with the largest loss under the base model of the first seed",
    "index_file": "by a list of indices",
    "memorised": "by how much shadow models memorise them",
    "random_part": "at random, from all classes",
    "untypical": "as the least typical ones: their pixels are furthest from the mean image of "
    "their class",
    "where": "by a column of the metadata",
    "zipf": "at random, most of them from a few classes",
}
# Names of what a choice depends on, or of what was found, in words.
KEYS = {
    "is": "values",
    "order": "order",
    "mean_distance": "mean distance of the forgotten images",
    "mean_distance_of_all": "mean distance of all images of the class",
    "split_seed": "seed of the choice",
}
CAPTION = "Pixel by pixel the same, in the size that models are given."


@dataclass(frozen=True)
class Forgotten:
    """The summary of a forget set."""

    words: str  # sentences on the forget set's size, choice and retained copies
    copies: list[Table]  # table of the retained copies; empty if there are none


def describe_forget_set(folder: Path, cell: str) -> Forgotten | None:
    """Summarize the forget set of a cell; None if its files are missing."""
    split_file, neighbours = (
        folder / place.format(cell=cell) for place in (layout.SPLIT, layout.NEIGHBOURS)
    )
    if not neighbours.exists():
        return None
    labels = Labels.load(verify(folder / layout.LABELS, folder))
    split = Split.load(split_file, folder)
    copies = Neighbours.load(verify(neighbours, folder)).copies
    exact = [] if copies is None else copies[copies[:, 2] == EXACT].tolist()
    num_copied = "not searched" if copies is None else len({forgot for forgot, *_ in exact})
    verb = "is" if len(split.forget) == 1 else "are"
    words = (
        f"{len(split.forget)} of {split.num_train} train examples {verb} forgotten: "
        f"{_list_classes(split, labels)}. Chosen {_describe_choice(split)}. "
        f"Forgotten examples with an exact copy among the retained: {num_copied}."
    )
    pairs = [(forgot, kept) for forgot, kept, _ in exact]
    return Forgotten(words, [copies_table(pairs, labels)] if pairs else [])


def _list_classes(split: Split, labels: Labels) -> str:
    """Return the size of the forget set by class, such as "2 of 60 cat, 1 of 60 dog"."""
    forgot, of = (
        np.bincount(found, minlength=len(labels.class_names))
        for found in (labels.train[split.forget], labels.train)
    )
    order = sorted(split.affected, key=lambda c: (-forgot[c], c))
    named = [f"{forgot[c]} of {of[c]} {labels.class_names[c]}" for c in order[:MOST_CLASSES]]
    rest = order[MOST_CLASSES:]
    if rest:
        classes = "class" if len(rest) == 1 else "classes"
        named.append(f"{sum(forgot[c] for c in rest)} in {len(rest)} more {classes}")
    return ", ".join(named)


def _describe_choice(split: Split) -> str:
    """Return how the forget set was chosen, in words, with the numbers that are recorded of it."""
    kind = str(split.chosen.get("kind"))
    given = [
        f"{KEYS.get(key, key.replace('_', ' '))} {_show(value)}"
        for key, value in split.chosen.items()
        if key not in NOT_SHOWN
    ]
    details = f" ({', '.join(given)})" if given else ""
    return f"{CHOICES.get(kind, f'by `{kind}`')}{details}"


def _show(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def copies_table(pairs: list[tuple[int, int]], labels: Labels) -> Table:
    """Return the table of retained copies, with the paths of files if examples are files."""
    files = labels.columns.get(FILE)

    def describe(place: int) -> list[str]:
        name = f"train example {place}" if files is None else str(files[place])
        return [name, labels.class_names[labels.train[place]]]

    rows = [[*describe(forgot), *describe(kept)] for forgot, kept in pairs[:MOST_COPIES]]
    lines = [Line(first, [Field(text) for text in others]) for first, *others in rows]
    grid = Grid("Forgotten", ["Class", "Retained copy", "Its class"], [lines], is_prose=True)
    caption = CAPTION
    if len(pairs) > MOST_COPIES:
        more = len(pairs) - MOST_COPIES
        caption += f" There are {len(pairs)} pairs of copies; {more} more are not listed."
    return Table("exact-copies", "Exact copies that stay behind", [grid], caption)
