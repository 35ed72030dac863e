"""Write the tables of a published folder as parquet files, one run and seed at a time.

Columns of the same name have the same dictionary of values in all files, so that pandas joins them
as categories.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from collateral.metrics.membership import draw
from collateral.results import layout
from collateral.results.cell import CellResults, Result
from collateral.results.dataset import Dataset
from collateral.results.files import read_rows, write_rows
from collateral.results.provenance import verify

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise ValueError("needs pyarrow; install it: pip install 'collateral[parquet]'") from None

SETS = ("forget", "retain", "test", "earlier")  # `earlier`: forgotten in an earlier round
PARTS = ("near", "far")
TRAIN_OR_TEST = ("train", "test")
AT_ONCE = 4096  # number of images that are encoded at a time
DELTAS = ("example", "order")
# Meaning of the columns of each table, for croissant.json, README.md and docs/formats.md.
KEYS = {
    "benchmark": "Name of the benchmark.",
    "cell": "Name of the cell: one forget set.",
    "seed": "Seed of the model.",
    "run": "Retrain (`retrain`), the base model (`original`), or a method or control.",
    "set": "`forget`: to be forgotten; `retain`: all other train examples; `test`: the test set; "
    "`earlier`: forgotten in an earlier round.",
    "example": "Index of the example in the train set or, if `set` is `test`, in the test set.",
}
COLUMNS: dict[str, dict[str, str]] = {
    "outputs": {
        **KEYS,
        "prediction": "Index of the predicted class.",
        "confidence": "Probability that the model gives to the true class, computed in float32.",
    },
    "examples": {
        **{name: KEYS[name] for name in ("benchmark", "cell", "set", "example")},
        "label": "Index of the true class.",
        "class": "Name of the true class.",
        "part": "`near`: among the retained or test examples most similar to the forget set; "
        "`far`: all others of classes of which examples are retained; empty: no such example.",
    },
    "similarity": {
        **{name: text for name, text in KEYS.items() if name != "run"},
        "similarity": "Cosine of the base model's features of the example with the normalised sum "
        "of those of the forget set (of the nearest of several classes).",
    },
    "attack": {
        **{name: text for name, text in KEYS.items() if name != "run"},
        "order": "Position in the random order of the members (`set` is `retain`) or of the "
        "non-members (`set` is `test`) from which membership attacks learn.",
    },
    "logits": {**KEYS, "logits": "Logits of all classes, float16."},
    "images": {
        "benchmark": KEYS["benchmark"],
        "set": "`train` or `test`.",
        "example": "Index of the image in the train or in the test set.",
        "image": "The image as PNG.",
    },
    "runs": {
        **{name: KEYS[name] for name in ("benchmark", "cell", "run", "seed")},
        "kind": "`reference`, `method` or `control`.",
        "base_seed": "Seed of the base model of this seed.",
        "status": "How the run ended: ok, collapsed, diverged or skipped. The last two have no "
        "outputs.",
        "reason": "Why it was skipped.",
    },
    "metrics": {
        **{name: KEYS[name] for name in ("benchmark", "cell")},
        "class": "Class of which a part is forgotten; empty for other forget sets.",
        "fraction": "The part of the class that is forgotten.",
        "seed": "Seed; empty for numbers over all seeds.",
        "run": KEYS["run"],
        "kind": "`reference`, `method` or `control`.",
        "metric": "Name of the metric.",
        "set": "Subset on which it is computed, if it has one.",
        "at": "Index of the number, such as a bin, an epoch or a class.",
        "value": "The number, rates in [0, 1]; empty if it is undefined.",
        "status": "How the run ended.",
    },
}
LONG = {"metrics": layout.METRICS, "costs": layout.COSTS}  # long tables of all benchmarks
Table = Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """One benchmark that is published: its folder and the results of its cells."""

    folder: Path
    cells: tuple[CellResults, ...]
    names: Sequence[str]  # names of all benchmarks that are published together
    cell_names: Sequence[str]  # names of all their cells

    @property
    def name(self) -> str:
        """Name of the benchmark."""
        return self.folder.name

    @cached_property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.cells[0].labels.class_names)

    def outputs(self, cell: CellResults, *, logits: bool = False) -> Iterator[Table]:
        """Yield the outputs of every run and seed of a cell that has a model of its own."""
        runs, examples = [cell.reference, *cell.runs], self._examples(cell)
        for result in cell.all_results():
            if result.is_diverged:
                continue
            place = {"run": _constant(result.run, runs, self._size(cell))}
            key = {**self._key(cell), "seed": _seeds(result.seed, self._size(cell)), **place}
            yield {**key, **examples, **(_logits(result) if logits else _outputs(result))}

    def examples(self) -> Iterator[Table]:
        """Yield the examples of every cell: set, label, and whether near the forget set or far."""
        for cell in self.cells:
            labels = np.concatenate([cell.labels.train, cell.labels.test])
            classes = pa.array(cell.labels.class_names, pa.string())
            label = pa.array(labels, pa.int16())
            part = {"part": _categories(_parts(cell), PARTS)}
            names = pa.DictionaryArray.from_arrays(label, classes)
            more = {"label": label, "class": names, **part}
            yield {**self._key(cell), **self._examples(cell), **more}

    def similarity(self) -> Iterator[Table]:
        """Yield the similarities of every cell and seed."""
        for cell in self.cells:
            found = cell.neighbours
            pairs = zip(cell.seeds, found.train_similarity, found.test_similarity, strict=True)
            for seed, *parts in pairs:
                values = {"similarity": pa.array(np.concatenate(parts), pa.float32())}
                key = {**self._key(cell), "seed": _seeds(seed, self._size(cell))}
                yield {**key, **self._examples(cell), **values}

    def attack(self) -> Iterator[Table]:
        """Yield what membership attacks learn from, for every cell and seed, in their order."""
        for cell in self.cells:
            for seed in cell.seeds:
                drawn = draw(cell.split.retain, len(cell.labels.test), cell.split.attack_seed(seed))
                sizes = len(drawn.members), len(drawn.non_members)
                codes = np.repeat([SETS.index("retain"), SETS.index("test")], sizes)
                indices = np.concatenate([drawn.members, drawn.non_members])
                yield {
                    **self._key(cell, len(codes)),
                    "seed": _seeds(seed, len(codes)),
                    "set": _categories(codes, SETS),
                    "example": pa.array(indices, pa.int32()),
                    "order": pa.array(np.concatenate([*map(np.arange, sizes)]), pa.int32()),
                }

    def images(self) -> Iterator[Table]:
        """Yield all images as PNG, some at a time."""
        data = Dataset.load(verify(self.folder / layout.DATA, self.folder))
        for code, images in enumerate((data.train_images, data.test_images)):
            for start in range(0, len(images), AT_ONCE):
                some = images[start : start + AT_ONCE]
                yield {
                    "benchmark": _constant(self.name, self.names, len(some)),
                    "set": _categories(np.full(len(some), code), TRAIN_OR_TEST),
                    "example": pa.array(np.arange(start, start + len(some)), pa.int32()),
                    "image": pa.array([_png(image) for image in some], pa.binary()),
                }

    def runs(self) -> Iterator[dict[str, Any]]:
        """Yield how each run ended, for every cell and seed."""
        for cell in self.cells:
            bases = dict(zip(cell.seeds, cell.base_seeds, strict=True))
            for result in cell.all_results():
                yield {
                    **{"benchmark": self.name, "cell": cell.name, "run": result.run},
                    **{"seed": result.seed, "kind": result.kind, "base_seed": bases[result.seed]},
                    **{"status": result.status, "reason": result.record.get("reason", "")},
                }

    def _key(self, cell: CellResults, count: int | None = None) -> Table:
        count = self._size(cell) if count is None else count
        named = {"benchmark": (self.name, self.names), "cell": (cell.name, self.cell_names)}
        return {column: _constant(*values, count) for column, values in named.items()}

    def _size(self, cell: CellResults) -> int:
        return len(cell.labels.train) + len(cell.labels.test)

    def _examples(self, cell: CellResults) -> Table:
        """Return set and index of all examples: the train set in data-set order, then the test."""
        sizes = len(cell.labels.train), len(cell.labels.test)
        codes = np.repeat([SETS.index("retain"), SETS.index("test")], sizes)
        codes[cell.split.forget] = SETS.index("forget")
        codes[cell.split.earlier] = SETS.index("earlier")
        indices = np.concatenate([*map(np.arange, sizes)])
        return {"set": _categories(codes, SETS), "example": pa.array(indices, pa.int32())}


def write_table(path: Path, tables: Iterator[Table]) -> None:
    """Write tables to one parquet file, each as a row group; only one is in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first = pa.table(dict(next(tables)))
    floats = [field.name for field in first.schema if pa.types.is_floating(field.type)]
    deltas = [name for name in DELTAS if name in first.column_names]
    plain = {*floats, *deltas, "logits", "image"}
    with pq.ParquetWriter(
        path,
        first.schema,
        compression="zstd",
        write_statistics=[name for name in ("seed", "run") if name in first.column_names],
        use_dictionary=[name for name in first.column_names if name not in plain],
        column_encoding={name: "BYTE_STREAM_SPLIT" for name in floats}
        | {name: "DELTA_BINARY_PACKED" for name in deltas},
    ) as writer:
        writer.write_table(first, row_group_size=max(1, len(first)))
        for table in tables:
            one = pa.table(dict(table), schema=first.schema)
            writer.write_table(one, row_group_size=max(1, len(one)))


def write_long_table(path: Path, benchmarks: Sequence[Published], name: str) -> None:
    """Write metrics.csv or costs.csv of all benchmarks, whose name is a column."""
    files = {one.name: verify(one.folder / name, one.folder) for one in benchmarks}
    rows = [{"benchmark": name, **row} for name, file in files.items() for row in read_rows(file)]
    write_rows(path, list(rows[0]), rows)


def _outputs(result: Result) -> Table:
    sets = (result.train, result.test)
    return {
        "prediction": pa.array(np.concatenate([one.prediction for one in sets]), pa.int16()),
        "confidence": pa.array(np.concatenate([one.confidence for one in sets]), pa.float32()),
    }


def _logits(result: Result) -> Table:
    logits = np.concatenate([result.train.logits, result.test.logits])
    values = pa.array(logits.reshape(-1), pa.float16())
    return {"logits": pa.FixedSizeListArray.from_arrays(values, logits.shape[1])}


def _parts(cell: CellResults) -> NDArray[Any]:
    """Return the index in PARTS of every train and test example; -1 if it is in neither."""
    train = np.full(len(cell.labels.train), -1)
    test = np.full(len(cell.labels.test), -1)
    for code, masks in enumerate((cell.near, cell.far)):
        train[cell.split.retain[masks["retain"]]] = code
        test[masks["test"]] = code
    return np.concatenate([train, test])


def _png(image: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(file, "png")
    return file.getvalue()


def _seeds(seed: int, count: int) -> pa.Array:
    return pa.array(np.full(count, seed), pa.int64())


def _constant(name: str, names: Sequence[str], count: int) -> pa.Array:
    return _categories(np.full(count, names.index(name)), names)


def _categories(codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
    """Return a column of categories; a code of -1 is an empty value."""
    indices = pa.array(codes, pa.int16(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))
