"""The loss of accuracy on every class that remains where whole classes are deleted."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.compare import noise_floor_by_sd
from collateral.findings._shared.statistics import interval_half_width
from collateral.findings.classes.reading import kept_names, points_of, short_names
from collateral.findings.columns import Column, TableRow, build_grid, number_source
from collateral.findings.metric_index import find_metric
from collateral.results.table import CellTable

CAPTION = (
    "Retrain's accuracy on a class's test examples minus the unlearned model's, in points, of the "
    "classes that were not deleted, by their similarity to the deleted one (of several, the most "
    "similar): {title}. Mean over n = {n} seeds ± half its 95 % Student-t interval. Chance: where "
    "95 % of differences between retrainings lie. Slope: of a line through the classes of a seed, "
    "mean over seeds with its 95 % Student-t interval, in points per 0.1 of similarity."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one row per class, runs of sweeps included, if whole classes are deleted.

    The rows begin with the class that is most similar to a deleted one; the last has the slopes.
    """
    if not (names := kept_names(cell)):
        return
    cell = cell.with_sweeps()
    similarity, *drops, _ = columns = _make_columns(cell)
    rows = [TableRow(cell, cell.reference, name, name) for name in names]
    rows.sort(key=similarity.value, reverse=True)
    labels = short_names([row.label for row in rows])
    rows = [replace(row, label=label) for row, label in zip(rows, labels, strict=True)]
    slopes = [Field(""), *(_show_slope(cell, column.run) for column in drops), Field("")]
    yield Table(
        "classes",
        "The other classes",
        [build_grid("Class", columns, [rows, [Line("Slope", slopes)]])],
        CAPTION.format(title=cell.title, n=len(cell.seeds)),
        records=list(_make_records(cell)),
    )


def _make_columns(cell: CellTable) -> list[Column]:
    """Return the columns of similarity, of the loss of every run, and of the noise."""
    return [
        Column("class_similarity", heading="Similarity", spread=lambda values: math.nan),
        *(
            Column("class_drop", heading=label, run=run, sign=True, spread=interval_half_width)
            for run, label in cell.labels.items()
            if run != cell.reference
        ),
        Column(heading="Chance", show=_show_chance),
    ]


def _show_chance(row: TableRow) -> Field:
    limit = noise_floor_by_sd(row.cell, "class_drop", at=row.at)
    text = find_metric("class_drop").text(limit)
    source = number_source(row.run, "class_drop_sd", at=row.at)
    return Field(text if text == EMPTY else f"±{text}", limit, source=source)


def _show_slope(cell: CellTable, run: str) -> Field:
    """Return the slope of a run with its interval, which is not sorted among the classes."""
    field = Column("class_slope", ends="").field(TableRow(cell, run, "Slope"))
    return Field(field.value, source=field.source, also=field.also)


def _make_records(cell: CellTable) -> Iterator[dict[str, Any]]:
    for run, label in cell.labels.items():
        points = points_of(cell, run)
        columns = (points.similarity, points.drop, points.error, points.noise)
        for name, *numbers in zip(points.names, *columns, strict=True):
            named = {"run": run, "label": label, "kind": cell.kinds[run], "class": name}
            keys = ("similarity", "drop", "half_width", "chance")
            yield named | dict(zip(keys, map(float, numbers), strict=True))
