"""Which method is nearest to Retrain within which budget: a cell in a few sentences."""

from collateral.findings.catalogue import metric_of
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import idle_gap, is_ranked, leaders, legs
from collateral.results.table import CellTable

SEEDS = {True: "One seed, so no claim: ", False: ""}


def words(cell: CellTable) -> str:
    """Say who leads within each share of Retrain's cost; nothing where no run is tracked."""
    found, best = legs(cell), leaders(cell)
    if not found:
        return ""
    told = [(share, best[share]) for share in SHARES if best[share]]
    if not told:
        return _nobody(cell)
    parts, last = [], None
    for share, runs in told:
        names = " and ".join(cell.labels[run] for run in runs)
        gap = metric_of("budget_gap").text(found[runs[0]].within(share)[0])
        again = "still " if runs == last else ""
        parts.append(f"within {share} % {again}{names} ({gap} points)")
        last = runs
    begin = "nearest to Retrain, by the average gap and for a share of its cost, is "
    text = f"{SEEDS[len(cell.seeds) == 1]}{begin}{', '.join(parts)}."
    return text[0].upper() + text[1:] + _rest(cell, len(told) < len(SHARES))


def _nobody(cell: CellTable) -> str:
    """Say why no method leads: none has a model yet, or none is nearer than the base model."""
    within = f"within {SHARES[-1]} % of Retrain's cost"
    ranked = [leg for leg in legs(cell).values() if is_ranked(cell, leg)]
    if not any(leg.within(share)[1] for leg in ranked for share in SHARES):
        return f"No ranked method has a model {within}."
    gap = metric_of("avg_gap").text(idle_gap(cell))
    return f"No ranked method is nearer to Retrain {within} than doing nothing ({gap} points)."


def _rest(cell: CellTable, is_some_unnamed: bool) -> str:
    """Say what doing nothing gives, and what the shares that are not named give."""
    unnamed = " A share that is not named brings nothing nearer." if is_some_unnamed else ""
    return f"{unnamed} Doing nothing has {metric_of('avg_gap').text(idle_gap(cell))} points."
