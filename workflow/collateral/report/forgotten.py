"""Summary of the forget set for the page: size by class, how it was chosen, retained copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
NOT_SHOWN = ("kind", "sha256")  # keys of `Split.chosen` that the page does not list


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
    pairs = exact_pairs(Neighbours.load(verify(neighbours, folder)))
    words = [_how_many(split, labels), _how_chosen(split), _left_behind(pairs)]
    return Forgotten(" ".join(words), [copies_table(pairs, labels)] if pairs else [])


def exact_pairs(neighbours: Neighbours) -> list[tuple[int, int]] | None:
    """Return pairs of equal forgotten and retained images; None if copies were not searched."""
    if neighbours.copies is None:
        return None
    exact = neighbours.copies[neighbours.copies[:, 2] == EXACT]
    return [(forgot, kept) for forgot, kept, _ in exact.tolist()]


def copies_table(pairs: list[tuple[int, int]], labels: Labels) -> Table:
    """Return the table of retained copies, with the paths of files if examples are files."""
    lines = [
        Line(_name(labels, forgot), [Field(text) for text in _copy_fields(labels, forgot, kept)])
        for forgot, kept in pairs[:MOST_COPIES]
    ]
    grid = Grid("Forgotten", ["Class", "Retained copy", "Its class"], [lines], is_prose=True)
    more = len(pairs) - MOST_COPIES
    caption = "Pixel by pixel the same, in the size that models are given."
    caption += f" {more} more are not listed." if more > 0 else ""
    return Table("exact-copies", "Exact copies that stay behind", [grid], caption)


def _copy_fields(labels: Labels, forgot: int, kept: int) -> Iterator[str]:
    yield labels.class_names[labels.train[forgot]]
    yield _name(labels, kept)
    yield labels.class_names[labels.train[kept]]


def _name(labels: Labels, place: int) -> str:
    files = labels.columns.get(FILE)
    return f"train example {place}" if files is None else str(files[place])


def _how_many(split: Split, labels: Labels) -> str:
    """Return the forget set's size: '3 of 120 train examples are forgotten: 2 of 60 cat, ...'."""
    forgot, of = (
        np.bincount(found, minlength=len(labels.class_names))
        for found in (labels.train[split.forget], labels.train)
    )
    order = sorted(split.affected, key=lambda c: (-forgot[c], c))
    named = [f"{forgot[c]} of {of[c]} {labels.class_names[c]}" for c in order[:MOST_CLASSES]]
    rest = order[MOST_CLASSES:]
    if rest:
        named.append(f"{sum(forgot[c] for c in rest)} of {len(rest)} more classes")
    verb = "is" if len(split.forget) == 1 else "are"
    total = f"{len(split.forget)} of {split.num_train} train examples {verb} forgotten"
    return f"{total}: {', '.join(named)}."


def _how_chosen(split: Split) -> str:
    given = (f"{key} {value}" for key, value in split.chosen.items() if key not in NOT_SHOWN)
    return f"Chosen by {', '.join([str(split.chosen.get('kind')), *given])}."


def _left_behind(pairs: list[tuple[int, int]] | None) -> str:
    if pairs is None:
        return "Whether exact copies of them are retained, nobody has looked."
    if not pairs:
        return "No exact copy of them is retained."
    count = len({forgot for forgot, _ in pairs})
    verb = "has" if count == 1 else "have"
    return f"{count} of them {verb} an exact copy among the retained, which stays behind."
