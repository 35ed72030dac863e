"""Claims that the paper's tables of couch carry: half of it forgotten, and 90 %."""

from __future__ import annotations

from collateral.claims.claim import Claim, Found, Test, Unsaid, all_of
from collateral.claims.numbers import (
    BASELINES,
    deviation,
    floor,
    known,
    number,
    places,
    said,
    value_of,
)
from collateral.claims.predicates import (
    AFFECTED,
    GAP,
    against,
    is_above,
    is_below,
    is_between,
    lowest,
    nearest,
    off,
    opposite,
    place,
)
from collateral.claims.scopes import HALF, MOST, PAIRS
from collateral.results.table import REFERENCE, CellTable


def better_on_average(cell: CellTable) -> Found:
    """Ask whether IU stands better by the aggregate than by the affected gap."""
    found_at = []
    for gap in (GAP, AFFECTED):
        found, missing = known(cell, (*BASELINES, "ltd"), value_of(gap))
        if missing:
            raise Unsaid(f"not here: {', '.join(missing)}")
        found_at.append(places(found, "iu", floor(cell, gap)))
    average, affected = found_at
    shown = [f"{a} to {b}" if a < b else f"{a}" for a, b in found_at]
    text = f"IU is number {shown[0]} by the average and {shown[1]} on the affected class"
    is_open = average[0] < affected[1] and average[1] >= affected[0]  # chance decides
    return Found(None if is_open else average[1] < affected[0], text)


def hidden_by_average(cell: CellTable) -> Found:
    """Ask whether GA's RA is near Retrain's, and its affected RA far below."""
    ra, affected = (number(cell, "ga", metric) for metric in ("ra", "ra_affected"))
    text = f"GA's RA {said('ra', ra)}, of the affected class {said('ra_affected', affected)}"
    return Found(ra - affected > 0.1 and abs(deviation(cell, "ga", "ra")) < 0.05, text)


def cheapest(run: str) -> Test:
    """Ask whether a run takes the least time."""
    return lowest(run, "rte")


def keeps_and_forgets(half: CellTable, most: CellTable) -> Found:
    """Ask whether Retrain without 90 % still knows the rest of the class, and less of what went."""
    kept, gone = (
        [number(cell, REFERENCE, metric) for cell in (half, most)]
        for metric in ("ra_affected", "ua")
    )
    ras, uas = ([said("ua", value) for value in values] for values in (kept, gone))
    text = f"Retrain's affected RA {ras[0]} and at 90 % {ras[1]}, UA {uas[0]} and {uas[1]}"
    return Found(kept[1] >= 0.9 and kept[1] - gone[1] > kept[0] - gone[0], text)


LOSING, KEEPING = ("rl", "ft", "salun", "amun"), ("ltd", "iu", "ga")
CLAIMS = [
    Claim(1, "50 %: LTD has the lowest Avg. Gap", "table 1", HALF, lowest("ltd", GAP)),
    Claim(2, "50 %: IU has the second lowest Avg. Gap", "table 1", HALF, place("iu", GAP, 2)),
    Claim(
        3,
        "50 %: IU loses over 10 points of affected RA and TA, and its average hides it",
        "tables 1, 2",
        HALF,
        all_of(
            off(("iu",), "ra_affected", is_below(-0.1)),
            off(("iu",), "ta_affected", is_below(-0.1)),
            better_on_average,
        ),
    ),
    Claim(4, "50 %: LTD has the lowest affected gap", "table 2", HALF, lowest("ltd", AFFECTED)),
    Claim(
        5,
        "50 %: LTD is nearest to Retrain in UA and in MIA",
        "table 1",
        HALF,
        all_of(nearest("ltd", "ua"), nearest("ltd", "mia")),
    ),
    Claim(
        6,
        "50 %: every baseline keeps UA over 15 points too high",
        "table 1",
        HALF,
        off(BASELINES, "ua", is_above(0.15)),
    ),
    Claim(
        7,
        "50 %: RL, FT, SalUn, AMUN lose 4 to 7 points of RA, LTD, IU, GA fewer than 2",
        "table 1",
        HALF,
        all_of(off(LOSING, "ra", is_between(-0.07, -0.04)), off(KEEPING, "ra", is_above(-0.02))),
    ),
    Claim(
        8,
        "50 %: GA's RA is within 5 points of Retrain's, its affected RA over 10 below that",
        "tables 1, 2",
        HALF,
        hidden_by_average,
    ),
    Claim(
        9,
        "LTD takes under 20 % of Retrain's time, GA the least, SalUn more than LTD",
        "table 1",
        HALF,
        all_of(
            against("ltd", REFERENCE, "rte", 0.2),
            cheapest("ga"),
            against("ltd", "salun", "rte", 1.0),
        ),
    ),
    Claim(35, "90 %: LTD has the lowest Avg. Gap", "table 8", MOST, lowest("ltd", GAP)),
    Claim(36, "90 %: LTD is not nearest in UA", "table 8", MOST, opposite(nearest("ltd", "ua"))),
    Claim(37, "90 %: LTD has the lowest affected gap", "table 9", MOST, lowest("ltd", AFFECTED)),
    Claim(
        38,
        "90 %: GA and IU keep less than half of Retrain's affected RA",
        "table 9",
        MOST,
        all_of(*(against(run, REFERENCE, "ra_affected", 0.5) for run in ("ga", "iu"))),
    ),
    Claim(
        39,
        "90 %: LTD has the lowest UA, below Retrain's",
        "table 8",
        MOST,
        all_of(lowest("ltd", "ua"), against("ltd", REFERENCE, "ua", 1.0)),
    ),
    Claim(
        41,
        "Retrain knows the rest of the class at 90 % too, and less of what went than at 50 %",
        "tables 1, 2, 8, 9",
        PAIRS,
        keeps_and_forgets,
    ),
]
