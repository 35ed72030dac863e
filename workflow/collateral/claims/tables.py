"""Claims that the paper's result tables carry."""

from __future__ import annotations

from collections.abc import Callable

from collateral.claims.claim import Claim, Found, Test, Unsaid, all_of, asked, joined
from collateral.claims.numbers import (
    BASELINES,
    deviation,
    floor,
    known,
    listed,
    number,
    places,
    said,
    value_of,
)
from collateral.claims.predicates import (
    against,
    lowest,
    nearest,
    off,
    opposite,
    place,
    value,
)
from collateral.claims.scopes import (
    ALL,
    ALL_HALVES,
    CLASSES,
    FIVE,
    HALF,
    MOST,
    PAIRS,
    SVHN_HALF,
    SVHN_MOST,
    named,
    share_of,
)
from collateral.results.table import REFERENCE, CellTable

GAP, AFFECTED = "avg_gap", "avg_gap_affected"


def is_above(least: float) -> Callable[[float], bool]:
    """Ask whether a number is above a limit."""
    return lambda value: value > least


def is_below(most: float) -> Callable[[float], bool]:
    """Ask whether a number is below a limit."""
    return lambda value: value < most


def is_between(low: float, high: float) -> Callable[[float], bool]:
    """Ask whether a number is between two limits."""
    return lambda value: low <= value <= high


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


def over(test: Test, *, complete: tuple[str, ...] = ()) -> Test:
    """Ask something of every cell; a class that must be there and is not leaves it open."""

    def each(*cells: CellTable) -> Found:
        found = [_in(cell, asked(test, cell), is_one=len(cells) == 1) for cell in cells]
        missing = sorted({*complete} - {share[0] for cell in cells if (share := share_of(cell))})
        return joined([*found, *([Found(None, f"not here: {', '.join(missing)}")] * bool(missing))])

    return each


def _in(cell: CellTable, found: Found, *, is_one: bool) -> Found:
    return found if is_one else Found(found.holds, f"{cell.name}: {found.text}")


def best_or_second(cell: CellTable) -> Found:
    """Ask whether LTD has the place on the affected class that the paper gives it there."""
    share = share_of(cell)
    is_second = share is not None and share[0] in ("apple", "road")
    return place("ltd", AFFECTED, 2 if is_second else 1)(cell)


def differing_targets(*cells: CellTable) -> Found:
    """Ask whether Retrain's UA differs between classes by more than ten points."""
    if len(cells) < 2:
        raise Unsaid("one class")
    found = {cell.name: number(cell, REFERENCE, "ua") for cell in cells}
    text = ", ".join(f"{name} {said('ua', value)}" for name, value in found.items())
    return Found(max(found.values()) - min(found.values()) > 0.1, f"Retrain's UA: {text}")


def mostly_by_mia(cell: CellTable) -> Found:
    """Ask whether the largest part of LTD's gap is a MIA above Retrain's."""
    terms = {name: deviation(cell, "ltd", name) for name in ("ua", "ra", "ta", "mia")}
    largest = max(terms, key=lambda name: abs(terms[name]))
    text = ", ".join(f"{name.upper()} {said(name, v, sign=True)}" for name, v in terms.items())
    return Found(largest == "mia" and terms["mia"] > 0, f"LTD: {text}")


def traded(cell: CellTable) -> Found:
    """Ask whether AMUN is nearer to Retrain than LTD on affected TA, and farther on RA."""
    found = {
        metric: {run: deviation(cell, run, metric) for run in ("amun", "ltd")}
        for metric in ("ta_affected", "ra_affected")
    }
    ta, ra = found.values()
    is_so = abs(ta["amun"]) < abs(ta["ltd"]) and abs(ra["amun"]) > abs(ra["ltd"])
    text = "; ".join(
        f"Δ {metric}: {listed(cell, of, metric, sign=True)}" for metric, of in found.items()
    )
    return Found(is_so, text)


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
    Claim(
        42,
        "Five more classes: LTD has the lowest Avg. Gap in all",
        "tables 10, 12, 14, 16, 18",
        CLASSES,
        over(lowest("ltd", GAP), complete=FIVE),
    ),
    Claim(
        43,
        "Five more classes: LTD's affected gap is lowest in three, second for apple and road",
        "tables 11, 13, 15, 17, 19",
        CLASSES,
        over(best_or_second, complete=FIVE),
    ),
    Claim(
        44,
        "oak_tree: IU destroys the class: UA, affected RA and TA below 5 %",
        "tables 10, 11",
        named("oak_tree"),
        all_of(*(value(("iu",), m, is_below(0.05)) for m in ("ua", "ra_affected", "ta_affected"))),
    ),
    Claim(
        45,
        "apple: AMUN has the lowest affected gap, LTD the second",
        "table 13",
        named("apple"),
        all_of(lowest("amun", AFFECTED), place("ltd", AFFECTED, 2)),
    ),
    Claim(
        46, "hamster: LTD is nearest in MIA", "table 14", named("hamster"), nearest("ltd", "mia")
    ),
    Claim(
        47,
        "road: FT, LTD, AMUN have the lowest affected gaps, in this order; LTD is nearest in MIA",
        "tables 16, 17",
        named("road"),
        all_of(
            *(place(run, AFFECTED, n) for n, run in enumerate(("ft", "ltd", "amun"), start=1)),
            nearest("ltd", "mia"),
        ),
    ),
    Claim(
        48,
        "shark: LTD is nearest in UA, RA, TA and MIA",
        "table 18",
        named("shark"),
        all_of(*(nearest("ltd", metric) for metric in ("ua", "ra", "ta", "mia"))),
    ),
    Claim(
        49,
        "What Retrain knows of the forgotten depends on the class, by over 10 points of UA",
        "tables 1, 10 to 18",
        ALL_HALVES,
        differing_targets,
    ),
    Claim(
        50,
        "AMUN's TA is above Retrain's everywhere, its RA over 3 points below",
        "tables 1, 8, 10 to 18",
        ALL,
        over(all_of(off(("amun",), "ta", is_above(0)), off(("amun",), "ra", is_below(-0.03)))),
    ),
    Claim(
        51,
        "50 %: RL's and SalUn's MIA is over 5 points above Retrain's everywhere",
        "tables 1, 10 to 18",
        ALL_HALVES,
        over(off(("rl", "salun"), "mia", is_above(0.05))),
    ),
    Claim(
        52,
        "SVHN, 50 %: LTD has the lowest Avg. Gap and the lowest affected gap",
        "tables 20, 21",
        SVHN_HALF,
        all_of(lowest("ltd", GAP), lowest("ltd", AFFECTED)),
    ),
    Claim(
        53,
        "SVHN, 50 %: LTD's UA is over 5 points too high, affected RA and TA within 2 of Retrain's",
        "tables 20, 21",
        SVHN_HALF,
        all_of(
            off(("ltd",), "ua", is_above(0.05)),
            off(("ltd",), "ra_affected", is_between(-0.02, 0.02)),
            off(("ltd",), "ta_affected", is_between(-0.02, 0.02)),
        ),
    ),
    Claim(
        54,
        "SVHN, 50 %: GA and IU leave the model as it was: UA over 99 %, MIA under 1 %",
        "table 20",
        SVHN_HALF,
        all_of(
            value(("ga", "iu"), "ua", is_above(0.99)), value(("ga", "iu"), "mia", is_below(0.01))
        ),
    ),
    Claim(
        55,
        "SVHN, 90 %: AMUN has the lowest Avg. Gap, LTD the second, mostly by its MIA",
        "table 22",
        SVHN_MOST,
        all_of(lowest("amun", GAP), place("ltd", GAP, 2), mostly_by_mia),
    ),
    Claim(
        56,
        "SVHN, 90 %: LTD has the lowest affected gap; AMUN is nearer on TA and farther on RA",
        "table 23",
        SVHN_MOST,
        all_of(lowest("ltd", AFFECTED), traded),
    ),
]
