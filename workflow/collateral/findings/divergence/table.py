"""Divergences and agreement: on the forget set, and near it and far from it."""

from collections.abc import Iterator

from collateral.contract.tables import Grid, Table
from collateral.findings._shared.against import WHAT_IT_IS, groups, runs_shown
from collateral.findings._shared.captions import described, joined, over_seeds
from collateral.findings._shared.tables import csv_record, field_by_seed
from collateral.findings.divergence import METRICS
from collateral.findings.near import PART_HEADINGS, PARTS
from collateral.results.table import REFERENCE, CellTable

CAPTION = "Class probabilities against Retrain's of the same seed: {title}. {spread}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a grid a measure; nothing where there are no numbers."""
    grids = [_grid(cell, metric) for metric in METRICS]
    if not grids[0].groups or "js_divergence" not in cell.metrics(REFERENCE):
        return
    yield Table(
        "divergence",
        "Divergence from Retrain",
        grids,
        CAPTION.format(title=cell.title, spread=over_seeds(cell)),
        joined("Means over examples.", described(METRICS), WHAT_IT_IS),
        [
            csv_record(cell, run, metric, name, at)
            for metric in METRICS
            for run in runs_shown(cell)
            for name, parts in PARTS.items()
            for at in parts
        ],
    )


def _grid(cell: CellTable, metric: str) -> Grid:
    lines = groups(
        cell, lambda run: [field_by_seed(cell, run, metric, *part) for part in PART_HEADINGS]
    )
    return Grid(METRICS[metric].heading, list(PART_HEADINGS.values()), lines)
