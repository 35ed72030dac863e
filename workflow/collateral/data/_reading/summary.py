"""What a folder of images is like, at a glance: classes with counts, typical size, colours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from collateral.data._reading.listing import TESTS, TRAIN, tree_of

NUM_LOOKED_AT = 100
TEST_SHARE = 0.2  # where the folder has no test set


@dataclass(frozen=True)
class FolderSummary:
    """Counts by class, and what some files spread over the train set look like."""

    train: dict[str, int]
    test: dict[str, int]
    test_share: float | None  # None: the folder has a test set
    width: int  # medians
    height: int
    is_grey: bool


def summary_of(folder: Path) -> FolderSummary:
    """Look at a folder; what is wrong with it is a ValueError of one line."""
    from collateral.data._reading.decoding import looks_of

    top = folder.expanduser()
    is_whole = (top / TRAIN).is_dir() and any((top / name).is_dir() for name in TESTS)
    share = None if is_whole else TEST_SHARE
    tree = tree_of(folder, share)
    looks = []
    for file in tree.train[:: max(1, len(tree.train) // NUM_LOOKED_AT)]:
        try:
            looks.append(looks_of(tree.folder / file.path))
        except (OSError, ValueError):
            continue  # broken, which is said where all are read
    if not looks:
        raise ValueError(f"data.path: {str(folder)!r}: none of its files can be read as an image")
    widths, heights, greys = zip(*looks, strict=True)
    train, test = (
        dict(zip(tree.class_names, tree.counts(part), strict=True))
        for part in (tree.train, tree.test)
    )
    return FolderSummary(train, test, share, int(median(widths)), int(median(heights)), all(greys))
