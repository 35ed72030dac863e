"""Table of divergence from Retrain: on the forget set, near the forget set, and far from it."""

from collections.abc import Iterator
from itertools import chain

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import (
    NEXT_SEED_NOTE,
    Column,
    build_grid,
    build_records,
    rows_with_next_seed,
)
from collateral.findings.divergence import METRICS
from collateral.findings.near import PART_HEADINGS, PARTS
from collateral.results.table import CellTable

CAPTION = "Class probabilities against Retrain's of the same seed: {title}. {spread}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one grid per metric, if divergences were computed."""
    groups = rows_with_next_seed(cell)
    if not any(groups) or "js_divergence" not in cell.metrics(cell.reference):
        return
    grids, records = [], []
    for metric, about in METRICS.items():
        shown = [Column(metric, *part, heading=text) for part, text in PART_HEADINGS.items()]
        grids.append(build_grid(about.heading, shown, groups))
        # The CSV file also has means over all examples of a subset, near and far together.
        columns = [Column(metric, name, at) for name, parts in PARTS.items() for at in parts]
        records += build_records(chain(*groups), columns)
    conventions = join_sentences(
        "Means over examples.", describe_metrics(cell, METRICS), NEXT_SEED_NOTE
    )
    caption = fill_caption(CAPTION, cell)
    yield Table("divergence", "Divergence from Retrain", grids, caption, conventions, records)
