"""Examples of a data set in image files: draw a test set, and load images, labels and metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from collateral.contract.conventions import Columns, derive_seed
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.messages import listed, quoted, unknown_name
from collateral.contract.params import Seed, UserPath
from collateral.data.forget import where

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from collateral.data._readers.decoding import Source
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Labels


Crop = Annotated[
    int | None,
    Field(
        ge=4,
        le=1024,
        description="Height and width, in pixels, of the images that the model gets; at most "
        "`size`. In training, a random part of each image (8 to 100 % of its area) is cut out and "
        "scaled to this size. In evaluation, the centre of the image is cut out without scaling. "
        "Default: the model gets images of the size `size`. Usual for ImageNet: `size: 256` and "
        "`crop: 224`.",
    ),
]


def check_crop(crop: int | None, size: int, padding: int | None) -> None:
    """Raise if random-size crops cannot be taken, or go with crops after padding."""
    if crop is not None and crop > size:
        raise ValueError(f"`crop`: {crop}: images have a `size` of {size}, not more")
    if crop is not None and padding:
        raise ValueError("`crop` and `padding` are two kinds of random crops; leave one out")


class ImageFileOptions(DataOptions):
    """Options of data sets of image files: the image size, the test set and the augmentation."""

    path: UserPath
    size: int = Field(
        64, ge=4, le=1024, description="Height and width to which all images are scaled, in pixels."
    )
    test_share: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Share of the examples of each class that is drawn at random as the test set. "
        "Give it only if the data have no test set of their own.",
    )
    test_seed: Seed = Field(
        0, description="Seed of the random choice of test examples with `test_share`."
    )
    test_by: str | None = Field(
        None,
        description="Metadata column, such as `subject`. Examples with the same value are put "
        "together, all into the train set or all into the test set, so that no person is in both. "
        "Default: examples are drawn one by one.",
    )
    train_where: where.TrainWhere = None
    broken: Literal["refuse", "skip"] = Field(
        "refuse",
        description="What happens if images cannot be read. `refuse`: the job stops with an "
        "error. `skip`: these images are left out. Either way, a message names the first of them.",
    )
    flip: bool = Field(
        False, description="Whether training images are flipped horizontally at random."
    )
    padding: int = Field(
        0,
        ge=0,
        le=256,
        description="Number of black pixels added on each side of a training image before it is "
        "cropped at random to its size. 0: no random crops.",
    )

    crop: Crop = None

    @model_validator(mode="after")
    def _check_crop(self) -> ImageFileOptions:
        check_crop(self.crop, self.size, self.padding)
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the images that models are given."""
        return (self.crop or self.size,) * 2

    @model_validator(mode="after")
    def _check_test_share(self) -> ImageFileOptions:
        """Raise if an option of the random test set is given without `test_share`."""
        for key in ("test_by", "train_where", "train_list"):
            if getattr(self, key, None) and self.test_share is None:
                raise ValueError(f"`{key}` goes with `test_share`, which is not given")
        return self

    def __hash__(self) -> int:
        """Return the hash of all options as JSON, because the dict `train_where` has no hash."""
        return hash(self.model_dump_json())


@dataclass(frozen=True)
class Examples:
    """Labels, names and metadata of all examples of a data set in a fixed order, without images."""

    class_names: tuple[str, ...]
    labels: Sequence[int]
    is_test: Sequence[bool]
    names: Sequence[str]  # names of the examples for error messages
    columns: Columns  # metadata columns, one value per example; None for a missing value

    def rows(self, *, test: bool) -> list[int]:
        """Return the row numbers of the test set if `test` is true, else of the train set."""
        return [row for row, is_test in enumerate(self.is_test) if is_test == test]

    def count(self, *, test: bool) -> tuple[int, ...]:
        """Return the number of test examples per class if `test` is true, else train examples."""
        counts = Counter(self.labels[row] for row in self.rows(test=test))
        return tuple(counts[label] for label in range(len(self.class_names)))

    def size(self, shape: tuple[int, int, int], side: int = 0) -> DatasetSize:
        """Return the numbers of examples per class; `side` is that of the stored images."""
        counts = self.count(test=False), self.count(test=True)
        return DatasetSize(self.class_names, *counts, shape, side=side)

    def read_part(self, *, test: bool) -> tuple[list[int], dict[str, list[Any]]]:
        """Return labels and metadata of the train or test set; omit columns with missing values."""
        part = self.take(self.rows(test=test))
        columns = {name: [*values] for name, values in part.columns.items() if None not in values}
        return [*part.labels], columns

    def take(self, rows: Sequence[int]) -> Examples:
        """Return the examples with these row numbers, in this order."""
        return Examples(
            self.class_names,
            [self.labels[row] for row in rows],
            [self.is_test[row] for row in rows],
            [self.names[row] for row in rows],
            {name: [column[row] for row in rows] for name, column in self.columns.items()},
        )

    def check(self, key: str) -> None:
        """Raise unless there are two classes or more, train examples of each, and test examples."""
        counts = zip(self.class_names, self.count(test=False), strict=True)
        empty = [name for name, count in counts if not count]
        if len(self.class_names) < 2 or empty or not any(self.is_test):
            found = f"{len(self.class_names)} classes, {listed('without train examples', empty)}"
            raise ValueError(
                f"{key}: {found}; {sum(self.is_test)} test examples; expected at least two "
                "classes, train examples of each, and test examples"
            )

    def draw_test_set(
        self,
        keys: Sequence[str] | Sequence[int],
        options: ImageFileOptions,
        stay: Iterable[int] = (),
    ) -> Examples:
        """Mark a random part of the examples, given by `test_share` and `test_by`, as the test set.

        The order is by a hash of `keys`. Examples in the rows `stay`, and those with a value in
        `train_where`, remain in the train set.
        """
        assert options.test_share is not None
        staying = {*stay, *where.find_staying(options.train_where, self.columns)}
        by = options.test_by
        if by is not None and by not in self.columns:
            raise ValueError(f"data.test_by: {unknown_name('column', by, self.columns)}")
        groups = [str(group) for group in (keys if by is None else self.columns[by])]
        if by is None:
            self._check_enough_remain(options, staying)
        drawn = draw_groups(self.labels, groups, options.test_share, options.test_seed, staying)
        if lacking := {*self.labels} - {self.labels[row] for row in drawn}:
            name = quoted(self.class_names[min(lacking)])
            raise ValueError(
                f"data.test_share: no test example of class {name}: it has one image, or all that "
                "it has stay in the train set or are of one group (`test_by`); give a test set"
            )
        return replace(self, is_test=[row in drawn for row in range(len(self.labels))])

    def _check_enough_remain(self, options: ImageFileOptions, staying: set[int]) -> None:
        """Raise if fewer images of a class can be test images than `test_share` asks for."""
        assert options.test_share is not None
        key = "train_list" if getattr(options, "train_list", None) else "train_where"
        movable = Counter(label for row, label in enumerate(self.labels) if row not in staying)
        for label, total in Counter(self.labels).items():
            wanted = count_test_examples(total, options.test_share)
            if movable[label] < wanted:
                raise ValueError(
                    f"data.{key}: leaves {movable[label]} images of class "
                    f"{quoted(self.class_names[label])} to test on, where `test_share` asks for "
                    f"{wanted}; give a test set"
                )

    def split_labels(self) -> Labels:
        """Return labels and metadata columns of the train and the test set."""
        import numpy as np

        from collateral.results.dataset import Labels

        (train, columns), (test, test_columns) = (self.read_part(test=t) for t in (False, True))
        return Labels(
            np.array(train, np.int64),
            np.array(test, np.int64),
            self.class_names,
            {name: _to_array(values) for name, values in columns.items()},
            {name: _to_array(values) for name, values in test_columns.items()},
        )

    def open_pieces(
        self, read_sources: Callable[[], Iterable[Source]], options: ImageFileOptions
    ) -> DatasetInPieces:
        """Check the headers of all images; return the data set, whose images are decoded later.

        `read_sources` returns the images of all examples in their order. Print how many images
        were skipped or converted.
        """
        import numpy as np

        from collateral.data._readers.decoding import DecodedPieces, inspect
        from collateral.data._readers.pieces import DatasetInPieces

        skip = options.broken == "skip"
        channels, rows = inspect(read_sources, self.names, skip_broken=skip)
        kept = self.take(rows)
        kept.check(f"data.broken: {options.broken}")
        train, test = (
            DecodedPieces(
                read_sources,
                self.names,
                np.array(rows, np.int64)[kept.rows(test=is_test)],
                options.size,
                channels,
            )
            for is_test in (False, True)
        )
        labels = kept.split_labels()
        return DatasetInPieces(
            train,
            test,
            labels,
            padding=options.padding,
            flip=options.flip,
            crop=options.crop or 0,
        )


def _to_array(values: list[Any]) -> NDArray[Any]:
    """Return a metadata column as an array of integers, booleans or text.

    Integers below and above 2**63 become text, because numpy would round them to floats.
    """
    import numpy as np

    array = np.array(values)
    return array if array.dtype.kind in "iubU" else np.array([str(value) for value in values])


def join_columns(train: Columns, num_train: int, test: Columns, num_test: int) -> Columns:
    """Join metadata of train and test examples; if a set lacks a column, its values are None."""
    none = [None] * num_train, [None] * num_test
    return {
        name: [*train.get(name, none[0]), *test.get(name, none[1])] for name in {**train, **test}
    }


def count_test_examples(total: int, share: float) -> int:
    """Return a share of `total`: at least one test example of a class, and at most all but one."""
    return min(max(1, round(share * total)), total - 1)


def draw_groups(
    labels: Sequence[int], groups: Sequence[str], share: float, seed: int, stay: set[int]
) -> set[int]:
    """Draw a test set of whole groups, which has about the fraction `share` of each class.

    Groups are visited in the order of a hash of their names. A group is drawn if the numbers of
    test examples per class are then nearer to the wanted numbers. If a class has no test example
    afterwards, the smallest group with an example of it is drawn. A group with an example in `stay`
    is not drawn, and every class keeps a train example.
    """
    totals, tested, chosen = Counter(labels), Counter[int](), set[int]()
    wanted = {label: count_test_examples(total, share) for label, total in totals.items()}
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)

    def take(group: str, *, only_nearer: bool) -> None:
        own = Counter(labels[row] for row in rows[group])
        missing = {label: wanted[label] - tested[label] for label in own}
        nearer = sum(abs(n) - abs(n - own[label]) for label, n in missing.items()) > 0
        leaves_some = all(tested[label] + own[label] < totals[label] for label in own)
        if leaves_some and (nearer or not only_nearer):
            tested.update(own)
            chosen.update(rows[group])

    order = sorted(rows, key=lambda group: derive_seed("test", seed, group))
    movable = [group for group in order if stay.isdisjoint(rows[group])]
    for group in movable:
        take(group, only_nearer=True)
    movable.sort(key=lambda group: len(rows[group]))
    for label in sorted(label for label in totals if not tested[label]):
        for group in movable:
            if not tested[label] and any(labels[row] == label for row in rows[group]):
                take(group, only_nearer=False)
    return chosen
