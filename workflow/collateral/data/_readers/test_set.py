"""Make a test set for a data set without one: the files in a list, or a fraction of every class."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Sequence
from typing import Literal

from pydantic import Field

from collateral.contract.conventions import Columns, derive_seed
from collateral.contract.data import DataOptions
from collateral.contract.messages import printable, unknown_name
from collateral.contract.params import Seed, UserPath
from collateral.data._readers import file_list
from collateral.data._readers.file_list import ListedFile
from collateral.data.forget import where


class ImageFileOptions(DataOptions):
    """Options of data sets that are files of images: their size, test set and augmentation."""

    path: UserPath
    size: int = Field(64, ge=4, le=1024, description="Height and width of the images, in pixels.")
    test_share: float | None = Field(
        None, gt=0, lt=1, description="Share of every class to test on, where there is no test set."
    )
    test_seed: Seed = Field(0, description="Seed of the choice of test examples.")
    test_by: str | None = Field(
        None,
        description="A column, such as `subject`: `test_share` draws all examples of a value "
        "together, so that nobody is in both sets.",
    )
    train_where: where.TrainWhere = None
    broken: Literal["refuse", "skip"] = Field(
        "refuse", description="What is done with images that cannot be read; both name them."
    )
    flip: bool = Field(False, description="Train with random horizontal flips.")
    padding: int = Field(
        0, ge=0, le=256, description="Train with random crops after padding by so much."
    )

    def check_test_share(self, *keys: str) -> None:
        """Raise if an option that needs `test_share` is used without it."""
        for key in keys:
            if getattr(self, key) and self.test_share is None:
                raise ValueError(f"data.{key}: goes with `test_share`, which is not given")


class FolderOptions(ImageFileOptions):
    """Options of a folder of images: its path, its table, its test set, and the image size."""

    path: UserPath = Field(description="The folder; in it, or in its train/, a folder a class.")
    table: UserPath | None = Field(
        None,
        description="A CSV file with a column `file` (paths below the folder), one row per image; "
        "its other columns are for `kind: where`.",
    )
    test_path: UserPath | None = Field(
        None,
        description="The test set, if `path` has none: another folder with a folder a class, or a "
        "list of files below `path`, one a line.",
    )
    train_list: UserPath | None = Field(
        None,
        description="A list of files, one a line, that `test_share` leaves in the train set: those "
        "to be forgotten.",
    )

    def __hash__(self) -> int:
        """Return a hash of all values as JSON, because the dictionary `train_where` has no hash."""
        return hash(self.model_dump_json())


def count_test_examples(total: int, share: float) -> int:
    """Return the number of test examples of a class: at least one, and at most all but one."""
    return min(max(1, round(share * total)), total - 1)


def draw_examples(
    labels: Sequence[int],
    keys: Sequence[str] | Sequence[int],
    share: float,
    seed: int,
    stay: Container[int] = (),
) -> set[int]:
    """Draw a fraction (`share`) of each class by a hash of keys; return the examples' indices.

    Examples with an index in `stay` are not drawn; they remain in the train set.
    """
    chosen = set[int]()
    for own in _rows_by_label(labels).values():
        movable = [row for row in own if row not in stay]
        movable.sort(key=lambda row: derive_seed("test", seed, keys[row]))
        chosen |= {*movable[: count_test_examples(len(own), share)]}
    return chosen


def draw_test_set(
    labels: Sequence[int],
    class_names: Sequence[str],
    keys: Sequence[str] | Sequence[int],
    columns: Columns,
    source: ImageFileOptions,
    stay: Container[int],
) -> set[int]:
    """Draw the test set and return the indices of its examples.

    If `test_by` is given, all examples with one value in this column are drawn together.
    """
    assert source.test_share is not None
    if source.test_by is None:
        return draw_examples(labels, keys, source.test_share, source.test_seed, stay)
    if source.test_by not in columns:
        raise ValueError(f"data.test_by: {unknown_name('column', source.test_by, columns)}")
    groups = [str(value) for value in columns[source.test_by]]
    draw = GroupDraw(labels, groups, source.test_share)
    return draw.draw(class_names, source.test_by, source.test_seed, stay)


class GroupDraw:
    """Draw whole groups of examples, so that no group is in both the train and the test set."""

    def __init__(self, labels: Sequence[int], groups: Sequence[str], share: float) -> None:
        """Count each group's examples by class, and the wanted test examples of each class."""
        self.totals = Counter(labels)
        self.wanted = {label: count_test_examples(n, share) for label, n in self.totals.items()}
        self.tested = Counter[int]()
        self.places: dict[str, list[int]] = {}
        self.counts: dict[str, Counter[int]] = {}
        for place, (label, group) in enumerate(zip(labels, groups, strict=True)):
            self.places.setdefault(group, []).append(place)
            self.counts.setdefault(group, Counter())[label] += 1

    def draw(self, names: Sequence[str], by: str, seed: int, stay: Container[int]) -> set[int]:
        """Draw groups for the test set, and return the indices of their examples.

        Each class gets about its wanted number of test examples. Groups are visited in the order
        of a hash of their names. A group is drawn if the numbers of test examples per class are
        then nearer to the wanted numbers. If a class has no test example afterwards, the smallest
        group with an example of it is drawn. A group with an example in `stay` is not drawn.
        """
        order = sorted(self.places, key=lambda group: derive_seed("test", seed, group))
        movable = [group for group in order if not any(p in stay for p in self.places[group])]
        chosen = set[int]()
        for group in movable:
            if self._is_nearer(group) and self._leaves_some(group):
                chosen |= self._take(group)
        movable.sort(key=lambda group: len(self.places[group]))
        for label in sorted(self.totals):
            if not self.tested[label]:
                having = (group for group in movable if self.counts[group][label])
                smallest = next(filter(self._leaves_some, having), None)
                if smallest is None:
                    raise ValueError(_no_test_example(names[label], by))
                chosen |= self._take(smallest)
        return chosen

    def _is_nearer(self, group: str) -> bool:
        """Return whether adding this group brings the test set nearer to its wanted class sizes."""
        missing = {label: self.wanted[label] - self.tested[label] for label in self.counts[group]}
        after = sum(abs(n - self.counts[group][label]) for label, n in missing.items())
        return after < sum(map(abs, missing.values()))

    def _leaves_some(self, group: str) -> bool:
        """Return whether every class keeps a train example if this group moves to the test set."""
        own = self.counts[group]
        return all(self.tested[label] + own[label] < self.totals[label] for label in own)

    def _take(self, group: str) -> set[int]:
        """Count a group as part of the test set, and return the indices of its examples."""
        self.tested += self.counts[group]
        return {*self.places[group]}


def _no_test_example(name: str, by: str) -> str:
    return (
        f"data.test_by: no test example of class {printable(name)!r}: every value of "
        f"{printable(by)} with one stays in the train set, or has all examples of a class; give a "
        "test set of your own"
    )


def _rows_by_label(labels: Sequence[int]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return rows


def find_test_files(
    files: Sequence[ListedFile], columns: Sequence[str], source: FolderOptions
) -> set[int]:
    """Return the indices, in `files`, of the test images.

    These are the images in the list `test_path`. Without such a list, a fraction (`test_share`) of
    every class is drawn.
    """
    if source.test_path is None:
        return _draw_share(files, columns, source)
    path = source.test_path.expanduser()
    try:
        return {*file_list.find_listed(path, [file.path for file in files], what="images")}
    except ValueError as error:
        raise ValueError(f"data.test_path: {str(error).removeprefix('path: ')}") from None


def _draw_share(
    files: Sequence[ListedFile], columns: Sequence[str], source: FolderOptions
) -> set[int]:
    """Draw a fraction (`test_share`) of every class, and return the drawn indices in `files`."""
    values = {name: [f.values[place] for f in files] for place, name in enumerate(columns)}
    stay = _listed_rows(files, source) | where.find_staying(source.train_where, values)
    names = [*dict.fromkeys(file.class_name for file in files)]
    index = {name: label for label, name in enumerate(names)}
    labels = [index[file.class_name] for file in files]
    _check_enough(labels, names, source, stay)
    paths = [file.path for file in files]
    return draw_test_set(labels, names, paths, values, source, stay)


def _check_enough(
    labels: Sequence[int], names: Sequence[str], source: FolderOptions, stay: set[int]
) -> None:
    """Raise if a class has one image, or if too many of its images must stay in the train set."""
    assert source.test_share is not None
    for label, own in _rows_by_label(labels).items():
        name, count = printable(names[label]), count_test_examples(len(own), source.test_share)
        if len(own) < 2:
            raise ValueError(
                f"data.test_share: class {name!r} has one image; expected at least two"
            )
        if source.test_by is None and (left := len({*own} - stay)) < count:
            key = "train_list" if source.train_list else "train_where"
            raise ValueError(
                f"data.{key}: leaves {left} images of class {name!r} to test on, where "
                f"`test_share` asks for {count}; move some that stay to a test/ folder, and all "
                "others to train/"
            )


def _listed_rows(files: Sequence[ListedFile], source: FolderOptions) -> set[int]:
    """Return the indices, in `files`, of the paths in the list `train_list`; empty without it."""
    if source.train_list is None:
        return set()
    try:
        listed = file_list.read_file_list(source.train_list.expanduser())
    except ValueError as error:
        raise ValueError(f"data.train_list: {str(error).removeprefix('path: ')}") from None
    names = {name for line in listed.values() for name in file_list.list_spellings(line)}
    paths = [unicodedata.normalize("NFC", file.path) for file in files]
    return {row for row, path in enumerate(paths) if path in names}
