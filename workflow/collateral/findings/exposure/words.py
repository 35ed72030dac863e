"""Which methods expose the neighbours of the forgotten, and what is left of these: in words."""

import math

from collateral.findings._shared.captions import joined
from collateral.findings.catalogue import metric_of
from collateral.findings.exposure.numbers import NOBODY
from collateral.findings.exposure.table import attacked, models
from collateral.findings.near import NEAR
from collateral.results.table import CellTable


def words(cell: CellTable) -> str:
    """Say it of the cells with a pool of shadow models."""
    runs = attacked(cell)
    return joined(_neighbours(cell, runs), _forgotten(cell, runs))


def _neighbours(cell: CellTable, runs: list[str]) -> str:
    """Sort methods by what they do to retained examples near the forget set."""
    ends = _ends(cell, runs, "exposure_change", "retain", NEAR)
    if not ends:
        return ""
    groups = {
        "more exposed": [run for run, (low, _) in ends.items() if low > 0],
        "less exposed": [run for run, (_, high) in ends.items() if high < 0],
    }
    found = [
        f"{text} after {_named(cell, group, 'exposure_change', 'retain', NEAR)}"
        for text, group in groups.items()
        if group
    ]
    count = metric_of("exposure_count").text(
        cell.number(cell.reference, "exposure_count", "retain", NEAR)
    )
    before = _number("lira_auc", cell.number(cell.reference, "lira_auc", "retain", NEAR))
    who = f"The {count} retained examples nearest to the forgotten ones"
    if not found:
        return f"{who} are neither more nor less exposed after any method, as far as " + (
            f"{models(cell)} shadow models can tell (AUC before: {before})."
        )
    others = len(ends) - sum(map(len, groups.values()))
    rest = f" Of {others} more, {models(cell)} shadow models cannot tell." if others else ""
    return f"{who} (AUC before: {before}) are {'; '.join(found)}.{rest}"


def _forgotten(cell: CellTable, runs: list[str]) -> str:
    """Say where a trace of the forgotten examples is left."""
    before = _number("lira_auc", cell.number(cell.reference, "lira_auc", "forget"))
    ends = _ends(cell, runs, "ulira_auc", "forget")
    left = [run for run, (low, _) in ends.items() if low > NOBODY]
    if not ends:
        return ""
    if not left:
        return (
            f"{models(cell)} shadow models can show no trace of the forgotten ones "
            f"(AUC before: {before})."
        )
    return (
        f"A trace of the forgotten ones (AUC before: {before}) is left by "
        f"{_named(cell, left, 'ulira_auc', 'forget')}."
    )


def _ends(
    cell: CellTable, runs: list[str], metric: str, set: str, at: str | None = None
) -> dict[str, tuple[float, float]]:
    """Return the intervals of the methods that have one: of others there is nothing to say."""
    low, high = (
        {run: cell.number(run, f"{metric}_{end}", set, at) for run in runs}
        for end in ("low", "high")
    )
    return {run: (low[run], high[run]) for run in runs if math.isfinite(low[run])}


def _named(cell: CellTable, runs: list[str], metric: str, set: str, at: str | None = None) -> str:
    """List methods with their numbers, the largest first."""
    values = {run: cell.number(run, metric, set, at) for run in runs}
    order = sorted(runs, key=lambda run: -abs(values[run]))
    return ", ".join(f"{cell.labels[run]} ({_number(metric, values[run])})" for run in order)


def _number(metric: str, value: float) -> str:
    return metric_of(metric).text(value, sign=metric == "exposure_change")
