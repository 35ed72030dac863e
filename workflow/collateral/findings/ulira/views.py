"""Table, plot and sentences of U-LiRA on forgotten, near and far examples."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from collateral.contract.rows import At
from collateral.contract.tables import Table
from collateral.findings._shared.captions import fill_caption, join_sentences
from collateral.findings._shared.series import bin_edges, count_examples, find_look
from collateral.findings.columns import Column, TableRow, TestedColumn, build_grid, run_row
from collateral.findings.metric_index import find_metric
from collateral.findings.near import FAR, NEAR
from collateral.metrics.arrays import AnyFloats
from collateral.metrics.likelihood_attacks import CHANCE_AUC
from collateral.plots.plot import Axis, Level, Panel, Plot, Series
from collateral.results.table import CellTable

PARTS: dict[tuple[str, At], str] = {
    ("forget", None): "Forgotten",
    ("retain", NEAR): "Near",
    ("retain", FAR): "Far",
}
RATE = "TPR: share of seen examples that are detected at an FPR of 1 %, over all models."
COVERAGE = (
    "Attacked models share their fitted Gaussians, so 95 % intervals are too narrow: in a "
    "simulation, intervals over 16 models cover 83 to 91 %."
)
CAPTION = (
    "U-LiRA on shadow models: {title}. AUC of separating seen from unseen examples of a model, "
    "with the AUC before unlearning in the last row; for retained examples also its change. In "
    f"brackets: intervals over {{models}} shadow models, adjusted by Holm for methods. {COVERAGE}"
)
CONVENTIONS = (
    "An AUC of 0.5 is guessing; for forgotten examples it should fall to 0.5. A change above zero "
    "means that retained examples are more exposed than before; below zero, less. †: zero is in "
    "the interval. Near and far are by similarity averaged over seeds."
)
CHANGE_NEAR = Column("exposure_change", "retain", NEAR, ends="", sign=True)
AUC_FORGET = Column("ulira_auc", "forget", ends="")
PLOT_CAPTION = (
    "U-LiRA on shadow models. Left: AUC of the attack on retained examples after unlearning minus "
    "before, by similarity to the forget set, in ten bins of equal width; below, examples per bin. "
    "Right: AUC on the forgotten examples after unlearning."
)
READING = (
    "Left, above zero: more exposed than before. Right, 0.5: no better than guessing; "
    "dashed: before unlearning. Bars: intervals over {models} shadow models, right by Holm. "
    f"{COVERAGE}"
)
MIN_REACH = 0.05  # smallest end of the axis of AUC changes, so that noise does not fill it


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of U-LiRA, if there are shadow models."""
    rows = [run_row(cell, run) for run in find_exposed(cell)]
    if not rows:
        return
    before = TableRow(cell, cell.reference, "Before unlearning", is_aside=True)
    records = list(_make_records(before, ("lira_auc", "lira_tpr")))
    for row in rows:
        records += _make_records(row, ("ulira_auc", "ulira_tpr", "exposure_change"))
    yield Table(
        "exposure",
        "Exposure to membership attacks",
        [build_grid("Method", list(_make_columns(cell)), [rows, [before]])],
        fill_caption(CAPTION, cell, models=count_models(cell)),
        join_sentences(CONVENTIONS, RATE if _has_rate(cell) else ""),
        records,
    )


def find_exposed(cell: CellTable) -> list[str]:
    """Return the methods that were applied to shadow models."""
    return [r for r in cell.runs("method") if not math.isnan(cell.number(r, "exposure_models"))]


def find_attacked(cell: CellTable) -> list[str]:
    """Return the methods whose AUC is defined on forgotten, near or far examples."""
    return [
        run
        for run in find_exposed(cell)
        if cell.number(run, "exposure_models")
        and any(math.isfinite(cell.number(run, "ulira_auc", *part)) for part in PARTS)
    ]


def count_models(cell: CellTable) -> str:
    """Return as text how many shadow models did not diverge.

    If the number differs between methods, it is the largest one.
    """
    most = max(cell.number(run, "exposure_models") for run in find_exposed(cell))
    return find_metric("exposure_models").text(most)


def _make_columns(cell: CellTable) -> Iterator[Column]:
    """Yield the table's columns: an AUC for forgotten, near and far examples.

    Near and far examples also have the change of the AUC by unlearning, forgotten ones the TPR.
    """
    for (name, at), part in PARTS.items():
        count = cell.number(cell.reference, "exposure_count", name, at)
        size = find_metric("exposure_count").text(count)
        yield Column("ulira_auc", name, at, f"{part} ({size})", "", "lira_auc", ends="")
        if name == "retain":
            change = ("exposure_change", name, at, f"{part}, change")
            yield TestedColumn(*change, reference_metric="", ends="", sign=True)
        elif _has_rate(cell):
            yield Column("ulira_tpr", name, at, f"{part}, TPR (%)", "", "lira_tpr", ends="")


def _has_rate(cell: CellTable) -> bool:
    """Tell whether there are enough forgotten examples for a TPR at an FPR of 1 %."""
    return math.isfinite(cell.number(cell.reference, "lira_tpr", "forget"))


def _make_records(row: TableRow, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of one row for the CSV file: one per metric and part of the data."""
    for metric in metrics:
        for name in ("forget", "retain"):
            for at in row.cell.indices(row.run, metric, name):
                column = Column(metric, name, at, ends="")
                low, high = column.interval(row)
                numbers = {"mean": column.value(row), "low": low, "high": high}
                place = {"metric": metric, "set": name, "at": at}
                yield {"run": row.run, "label": row.label, **place, **numbers}


def words(cell: CellTable) -> str:
    """Return sentences on the exposure of near retained examples and of forgotten ones."""
    if not find_attacked(cell):
        return ""
    models = f"{count_models(cell)} shadow models"
    near = ("more exposed after", "less exposed after", f"{models} show no clear change after")
    forgotten = ("a trace is left by", "below guessing after", f"{models} find no trace after")
    return join_sentences(
        _describe_exposure(cell, "Retained examples near the forgotten ones", CHANGE_NEAR, near),
        _describe_exposure(cell, "Forgotten examples", AUC_FORGET, forgotten, CHANCE_AUC),
    )


def _describe_exposure(
    cell: CellTable, subject: str, column: Column, texts: tuple[str, str, str], null: float = 0.0
) -> str:
    """Return a sentence that lists the methods whose interval is above, below or around `null`.

    Methods without an interval are left out. If no method has an interval, the text is empty.
    """
    methods: dict[str, list[str]] = {text: [] for text in texts}
    for row in [run_row(cell, run) for run in find_attacked(cell)]:
        low, high = column.interval(row)
        if math.isfinite(low):
            text = texts[0] if low > null else texts[1] if high < null else texts[2]
            number = find_metric(column.metric).text(column.value(row), sign=column.sign)
            methods[text].append(f"{row.label} ({number})")
    parts = [f"{text} {', '.join(found)}" for text, found in methods.items() if found]
    auc = cell.number(cell.reference, "lira_auc", column.set, column.at)
    before = f"AUC before: {find_metric('lira_auc').text(auc)}"
    return f"{subject} ({before}): {'; '.join(parts)}." if parts else ""


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of U-LiRA, if there are shadow models."""
    runs = find_attacked(cell)
    if not runs or not cell.indices(cell.reference, "bin_low", "retain"):
        return
    edges, bins = bin_edges(cell, "retain"), cell.indices(cell.reference, "bin_low", "retain")
    counts = [cell.number(cell.reference, "exposure_count", "retain", b) for b in bins]
    centres, ends = (edges[1:] + edges[:-1]) / 2, (edges[0], edges[-1])
    counts_panel = count_examples(centres, counts, ends, 0.5, "Examples")
    panels = [_change_panel(cell, runs, edges), _forgotten_panel(cell, runs), counts_panel]
    title = f"{cell.title}: exposure to membership attacks"
    height = max(2.6, 1.2 + 0.13 * len(runs))
    notes = [READING.format(models=count_models(cell))]
    yield Plot("exposure", title, PLOT_CAPTION, panels, 2, notes=notes, row_height=height)


def _change_panel(cell: CellTable, runs: list[str], edges: AnyFloats) -> Panel:
    """Return a panel with the change of AUC by similarity to the forget set, a line per method."""
    centres = ((edges[1:] + edges[:-1]) / 2).tolist()
    series = []
    for run in runs:
        y, low, high = _ends(cell, run, "exposure_change", "retain", range(len(centres)))
        look = find_look(cell, run)
        series.append(Series(cell.labels[run], look, centres, y, run, low=low, high=high))
    largest = max((abs(v) for one in series for v in one.y if math.isfinite(v)), default=0.0)
    reach = 1.1 * max(MIN_REACH, 2 * largest)
    return Panel(
        series,
        "Retained examples",
        Axis("Similarity to the forget set", limits=(edges[0], edges[-1])),
        Axis("AUC after − before", limits=(-reach, reach)),
        levels=[Level(0.0)],
        dodge=float(np.diff(edges).min()) / 3,
        value_name="AUC after − before",
        x_name="similarity",
        number_format="+.3f",
    )


def _ends(
    cell: CellTable, run: str, metric: str, subset: str, indices: Iterable[At]
) -> list[list[float]]:
    """Return three lists: a metric's values at these indices, and both ends of their intervals."""
    names = [f"{metric}{end}" for end in ("", "_low", "_high")]
    return [[cell.number(run, name, subset, at) for at in indices] for name in names]


def _forgotten_panel(cell: CellTable, runs: list[str]) -> Panel:
    """Return a panel with the AUC on forgotten examples, one row per method."""
    places = {run: float(len(runs) - 1 - place) for place, run in enumerate(runs)}
    series = []
    for run, place in places.items():
        x, low, high = _ends(cell, run, "ulira_auc", "forget", [None])
        one = Series(cell.labels[run], find_look(cell, run), x, [place], run, "point", low, high)
        series.append(replace(one, is_across=True))
    before = cell.number(cell.reference, "lira_auc", "forget")
    ticks = {place: cell.labels[run] for run, place in places.items()}
    return Panel(
        series,
        "Forgotten examples",
        Axis("AUC"),
        Axis(ticks=ticks, limits=(-0.6, len(runs) - 0.4)),
        levels=[Level(0.5, "x"), Level(before, "x", "dashed")],
        value_name="AUC",
        number_format=".3f",
    )
