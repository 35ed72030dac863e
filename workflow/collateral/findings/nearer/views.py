"""Table and sentence on the outputs for the forget set.

They tell which methods' outputs are nearer to Retrain's than to the base model's.
"""

import math
from collections.abc import Iterator

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import NEXT_SEED_NOTE, Column, build_table, rows_with_next_seed
from collateral.findings.metric_index import find_metric
from collateral.metrics.divergence import LEAST_EXAMPLES
from collateral.metrics.statistics import mean
from collateral.results.layout import ORIGINAL
from collateral.results.table import CellTable

COLUMNS = [Column("nearer", ends="", sign=True), Column("ua", reference_metric="")]
CAPTION = (
    "Outputs on the forget set, nearer to Retrain's or to the base's: {title}. In brackets: 95 % "
    "intervals of the mean over n = {n} seeds (Student t). {count} examples are compared; the "
    "kernel has a bandwidth of {bandwidth}. UA halfway between the base and Retrain is {midpoint} "
    "%."
)
CONVENTIONS = (
    "A copy of the base has minus its own MMD² from Retrain, a copy of Retrain plus the same. A "
    "method starts from the base and Retrain does not, which alone may make a value negative."
)
FEW = (
    "Nearer to Retrain or to the base: {count:.0f} forgotten examples are too few to tell "
    f"(at least {LEAST_EXAMPLES})."
)
ONE_SEED = "Nearer to Retrain or to the base: one seed has no interval, so no claim."
NOTHING = (
    "On the forget set, even another Retrain's outputs are not clearly nearer to Retrain's than to "
    "the base's: there is nothing to tell apart."
)
SIDES = {
    "retrain": "nearer to Retrain's than to the base's: {runs}",
    "base": "nearer to the base's: {runs}",
    "unknown": "open: {runs}",
}
SENTENCE = "Outputs on the forget set: {sides} (95 % intervals over {n} seeds)."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of relative MMDs, if they were computed."""
    count = cell.number(cell.reference, "nearer_examples")
    if math.isnan(count):
        return
    bandwidth = mean(cell.values(cell.reference, "nearer_bandwidth"))
    accuracies = [mean(cell.values(run, "ua")) for run in (cell.reference, ORIGINAL)]
    texts = {
        "midpoint": find_metric("ua").text(sum(accuracies) / 2),
        "count": f"{count:.0f}",
        "bandwidth": find_metric("nearer_bandwidth").text(bandwidth),
    }
    conventions = join_sentences(describe_metrics(cell, ["nearer"]), CONVENTIONS, NEXT_SEED_NOTE)
    groups, caption = rows_with_next_seed(cell), fill_caption(CAPTION, cell, **texts)
    title = "Nearer to Retrain or to the base"
    yield build_table("nearer", title, COLUMNS, groups, caption, conventions)


def words(cell: CellTable) -> str:
    """Return a sentence that names the methods nearer to Retrain and those nearer to the base."""
    count = cell.number(cell.reference, "nearer_examples")
    if math.isnan(count):
        return ""
    if count < LEAST_EXAMPLES:
        return FEW.format(count=count)
    if len(cell.seeds) < 2:
        return ONE_SEED
    if not cell.number(cell.reference, "nearer_low") > 0:
        return NOTHING
    sides: dict[str, list[str]] = {side: [] for side in SIDES}
    for run in cell.runs("method"):
        low, high = (cell.number(run, f"nearer_{end}") for end in ("low", "high"))
        if not math.isnan(low):
            side = "retrain" if low > 0 else "base" if high < 0 else "unknown"
            sides[side].append(cell.labels[run])
    listed = [SIDES[side].format(runs=", ".join(names)) for side, names in sides.items() if names]
    return SENTENCE.format(sides="; ".join(listed), n=len(cell.seeds)) if listed else ""
