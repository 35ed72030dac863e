"""Divergence from Retrain and agreement with it: on the forget set, near it and far from it."""

from collections.abc import Iterator
from itertools import chain

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import NEXT_SEED_NOTE, Column, build_grid, rows_with_next_seed
from collateral.findings.divergence import METRICS
from collateral.findings.near import PART_HEADINGS, PARTS
from collateral.results.table import CellTable

CAPTION = "Class probabilities against Retrain's of the same seed: {title}. {spread}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one grid per metric, if there are numbers."""
    groups = rows_with_next_seed(cell)
    if not any(groups) or "js_divergence" not in cell.metrics(cell.reference):
        return
    yield Table(
        "divergence",
        "Divergence from Retrain",
        [build_grid(METRICS[name].heading, _columns(name), groups) for name in METRICS],
        fill_caption(CAPTION, cell),
        join_sentences("Means over examples.", describe_metrics(METRICS), NEXT_SEED_NOTE),
        [c.record(row) for name in METRICS for row in chain(*groups) for c in _all_columns(name)],
    )


def _columns(metric: str) -> list[Column]:
    return [Column(metric, *part, heading=text) for part, text in PART_HEADINGS.items()]


def _all_columns(metric: str) -> list[Column]:
    """Return the columns of the CSV file, whole sets included."""
    return [Column(metric, name, at) for name, parts in PARTS.items() for at in parts]
