"""Which method within which budget: a cell in a sentence."""

from collateral.findings.catalogue import metric_of
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import leaders, legs
from collateral.results.table import CellTable

SEEDS = {True: "One seed, so no claim: ", False: ""}


def words(cell: CellTable) -> str:
    """Say who leads within each share of Retrain's cost; nothing where no run is tracked."""
    found, best = legs(cell), leaders(cell)
    if not found:
        return ""
    told = [(share, best[share]) for share in SHARES if best[share]]
    if not told:
        return f"No ranked method has a model within {SHARES[-1]} % of Retrain's cost."
    parts, last = [], None
    for share, runs in told:
        names = " and ".join(cell.labels[run] for run in runs)
        gap = metric_of("budget_gap").text(found[runs[0]].within(share)[0])
        again = "still " if runs == last else ""
        parts.append(f"within {share} % {again}{names} ({gap} points)")
        last = runs
    begin = "nearest to Retrain, by the average gap and for a share of its cost, is "
    text = f"{SEEDS[len(cell.seeds) == 1]}{begin}{', '.join(parts)}."
    return text[0].upper() + text[1:]
