"""Whole classes deleted: what that does to each that remains, by its similarity to them."""

from collections.abc import Iterator
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.compare import chance_by_sd
from collateral.findings._shared.statistics import half_width
from collateral.findings._shared.tables import source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.classes.reading import (
    SLOPE,
    kept_names,
    points_of,
    short_names,
    slope_text,
)
from collateral.results.table import REFERENCE, CellTable, mean

CAPTION = (
    "Retrain's accuracy on a class's test examples minus the unlearned model's, in points, of the "
    "classes that were not deleted, by their similarity to the deleted one (of several, the most "
    "similar): {title}. Mean over n = {n} seeds ± half its 95 % Student-t interval. Chance: where "
    "95 % of differences between retrainings lie. Slope: of a line through the classes of a seed, "
    "mean over seeds with its 95 % Student-t interval, in points per 0.1 of similarity."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of classes, with the sweeps' runs; nothing unless whole ones are deleted."""
    if kept_names(cell):
        everyone = cell.with_sweeps()
        yield Table(
            "classes",
            "The other classes",
            [_grid(everyone)],
            CAPTION.format(title=cell.title, n=len(cell.seeds)),
            records=list(_records(everyone)),
        )


def _grid(cell: CellTable) -> Grid:
    """Return a row a class, the most similar first; then the slopes."""
    runs = [run for run in cell.labels if run != REFERENCE]
    similarity = {name: _similarity(cell, name) for name in kept_names(cell)}
    names = sorted(similarity, key=similarity.__getitem__, reverse=True)
    classes = [
        Line(short, _fields(cell, name, runs))
        for name, short in zip(names, short_names(names), strict=True)
    ]
    slopes = [Field(""), *(_slope(cell, run) for run in runs), Field("")]
    headings = ["Similarity", *(cell.labels[run] for run in runs), "Chance"]
    return Grid("Class", headings, [classes, [Line("Slope", slopes)]])


def _similarity(cell: CellTable, name: str) -> float:
    return mean(cell.values(REFERENCE, "class_similarity", at=name))


def _fields(cell: CellTable, name: str, runs: list[str]) -> list[Field]:
    similarity, limit = _similarity(cell, name), chance_by_sd(cell, "class_drop", at=name)
    chance = metric_of("class_drop").text(limit)
    own, noise = (
        source_of(REFERENCE, metric, at=name) for metric in ("class_similarity", "class_drop_sd")
    )
    return [
        Field(metric_of("class_similarity").text(similarity), similarity, source=own),
        *(_drop(cell, run, name) for run in runs),
        Field(EMPTY if chance == EMPTY else f"±{chance}", limit, source=noise),
    ]


def _slope(cell: CellTable, run: str) -> Field:
    center, *ends = (source_of(run, name) for name in SLOPE)
    return Field(slope_text(cell, run), source=center, also=tuple(ends))


def _drop(cell: CellTable, run: str, name: str) -> Field:
    values = cell.values(run, "class_drop", at=name)
    text = metric_of("class_drop").text(mean(values), half_width(values), sign=True)
    return Field(text, mean(values), source=source_of(run, "class_drop", at=name))


def _records(cell: CellTable) -> Iterator[dict[str, Any]]:
    for run, label in cell.labels.items():
        points = points_of(cell, run)
        columns = (points.similarity, points.drop, points.error, points.noise)
        for name, *numbers in zip(points.names, *columns, strict=True):
            named = {"run": run, "label": label, "kind": cell.kinds[run], "class": name}
            keys = ("similarity", "drop", "half_width", "chance")
            yield named | dict(zip(keys, map(float, numbers), strict=True))
