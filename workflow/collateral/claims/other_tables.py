"""Claims that the paper's tables of other classes and of SVHN carry."""

from __future__ import annotations

from collateral.claims.claim import Claim, Found, Test, Unsaid, all_of, asked, joined
from collateral.claims.numbers import deviation, listed, number, said
from collateral.claims.predicates import (
    AFFECTED,
    GAP,
    is_above,
    is_below,
    is_between,
    lowest,
    nearest,
    off,
    place,
    value,
)
from collateral.claims.scopes import (
    ALL,
    ALL_HALVES,
    CLASSES,
    FIVE,
    SVHN_HALF,
    SVHN_MOST,
    named,
    share_of,
)
from collateral.results.table import REFERENCE, CellTable


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


CLAIMS = [
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
