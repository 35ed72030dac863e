"""Tables and a sentence about the groups that lose accuracy compared with Retrain."""

from collections.abc import Iterator

from collateral.contract.tables import Grid, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import Column, TableRow, TestedColumn, build_grid, build_records
from collateral.findings.groups import LEAST_EXAMPLES, MEASURES
from collateral.findings.metric_index import find_metric
from collateral.findings.near import FAR, NEAR, PART_HEADINGS
from collateral.results.table import CellTable

# For each table name: the title and the measures of the table.
TABLES = {
    "groups": ("Loss by group", ("group_error",)),
    "groups-errors": ("False negatives and positives by group", ("group_missed", "group_alarm")),
    "groups-calibration": ("Calibration by group", ("group_confidence",)),
}
BINNED = ("group_ece", "group_squared_ece")
SUBSETS = {"retain": "retained", "test": "test"}
CAPTION = (
    "{table}: {title}. Gaps from Retrain are in points, mean over n = {n} seeds; above zero, a run "
    "is {worse} than Retrain. Retrain: its own value, in %."
)
CONVENTIONS = (
    "†: not shown to differ from zero (paired t-test over seeds, 5 %, Holm over all groups, "
    "subsets and parts of a run)."
)
BINNED_NOTE = "ECE and squared ECE (binned, only from 500 examples on) are in the CSV file."
SMALL = "Not tested, because fewer than {least} examples: {groups}."
LOST = "Groups that lose accuracy against Retrain: {runs}."
NOBODY = "No group is shown to lose accuracy against Retrain ({n} seeds, Holm)."
ONE_SEED = "Groups: one seed has no test, so no claim."
MOST_NAMED = 12  # maximum number of groups named in a sentence


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield one table per kind of error; it has one grid per measure, subset, and near or far."""
    for name, (title, measures) in TABLES.items():
        places = [(m, *place) for m in measures for place in _find_parts(cell, m)]
        if not places:
            continue
        found = [_make_grid(cell, *place) for place in places]
        worse = "more confident" if "calibration" in name else "worse"
        conventions = join_sentences(
            describe_metrics(cell, [f"{measure}_gap" for measure in measures]),
            CONVENTIONS,
            BINNED_NOTE if "calibration" in name else "",
            _describe_small(cell, measures),
        )
        yield Table(
            name,
            title,
            [grid for grid, _ in found],
            fill_caption(CAPTION, cell, table=title, worse=worse),
            conventions,
            [record for _, records in found for record in records],
        )


def _find_parts(cell: CellTable, measure: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs (subset, "near" or "far") with at least one group that is tested.

    Measures without this division have empty text as the second item.
    """
    for subset in SUBSETS:
        tested = _find_groups(cell, measure, subset)
        for part in (NEAR, FAR) if measure in ("group_error", "group_confidence") else ("",):
            if any(at.endswith(part) for at in tested):
                yield subset, part


def _find_groups(cell: CellTable, measure: str, subset: str) -> list[str]:
    """Return the groups with enough examples to be tested."""
    counts = _count_examples(cell, measure, subset)
    return [at for at, count in counts.items() if count >= LEAST_EXAMPLES]


def _count_examples(cell: CellTable, measure: str, subset: str) -> dict[str, int]:
    """Return the number of examples of each group in a subset, for one measure."""
    key = (cell.reference, MEASURES[measure][2], subset)
    return {at: int(cell.number(*key, at)) for at in cell.indices(*key)}


def _make_grid(
    cell: CellTable, measure: str, subset: str, part: str
) -> tuple[Grid, list[dict[str, object]]]:
    """Return a grid with one row per group, and the records of the grid for the CSV file."""
    places = [at for at in _find_groups(cell, measure, subset) if at.endswith(part)]
    rows = [TableRow(cell, cell.reference, at.removesuffix(f" {part}"), at) for at in places]
    columns = [
        Column(MEASURES[measure][2], subset, heading="Examples"),
        Column(measure, subset, heading=cell.reference_label),
        *(
            GapColumn(f"{measure}_gap", subset, heading=label, run=run, ends="")
            for run, label in cell.labels.items()
            if run != cell.reference
        ),
    ]
    heading = PART_HEADINGS.get((subset, part)) or f"{MEASURES[measure][0]}, {SUBSETS[subset]}"
    binned = [
        Column(metric, subset, run=run)
        for metric in BINNED
        for run in cell.labels
        if measure == "group_confidence" and metric in cell.metrics(run)
    ]
    return build_grid(heading, columns, [rows]), build_records(rows, [*columns, *binned])


class GapColumn(TestedColumn):
    """A column of gaps from Retrain. An interval decides about the †, but is not shown."""

    def _text(self, row: TableRow, value: float) -> str:
        return find_metric(self.metric).text(value, sign=True)


def _describe_small(cell: CellTable, measures: tuple[str, ...]) -> str:
    """Return a sentence that names the groups that are too small to be tested; empty if none is."""
    small = [
        f"{at} ({SUBSETS[subset]}, {n})"
        for measure in measures
        for subset in SUBSETS
        for at, n in _count_examples(cell, measure, subset).items()
        if 0 < n < LEAST_EXAMPLES
    ]
    return SMALL.format(least=LEAST_EXAMPLES, groups=_list(small)) if small else ""


def _list(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def words(cell: CellTable) -> str:
    """Return a sentence that lists, by method, the groups that lose accuracy beyond chance."""
    if not any(_find_parts(cell, "group_error")):
        return _describe_small(cell, ("group_error",))
    if len(cell.seeds) < 2:
        return ONE_SEED
    lost = {cell.labels[run]: _find_lost(cell, run) for run in cell.runs("method")}
    runs = [f"{label}: {_list(groups)}" for label, groups in lost.items() if groups]
    found = LOST.format(runs="; ".join(runs)) if runs else NOBODY.format(n=len(cell.seeds))
    return join_sentences(found, _describe_small(cell, ("group_error",)))


def _find_lost(cell: CellTable, run: str) -> list[str]:
    """Return a text for each group on which a run is less accurate than Retrain, beyond chance."""
    metric, found = find_metric("group_error_gap"), []
    for subset, text in SUBSETS.items():
        for at in _find_groups(cell, "group_error", subset):
            if cell.number(run, "group_error_gap_low", subset, at) > 0:
                loss = metric.text(cell.number(run, "group_error_gap", subset, at))
                found.append(f"{at} ({text}, {loss} points)")
    return found
