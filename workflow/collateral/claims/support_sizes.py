"""Claims of LTD over epochs and over the sizes of its support."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from collateral.claims.claim import Claim, Found, Unsaid, joined
from collateral.claims.figures import FEWEST, rank
from collateral.claims.numbers import number, said
from collateral.claims.predicates import FEW
from collateral.claims.scopes import HALF
from collateral.contract.metrics import percent
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean

SIMILAR = (0.72, 0.76)  # the paper's plateau
AROUND = 0.03


def series(cell: CellTable, metric: str, fewest: int) -> dict[str, float]:
    """Return a number of LTD over epochs, or sizes of its support."""
    found = {at: mean(cell.values("ltd", metric, at=at)) for at in cell.indices("ltd", metric)}
    found = {at: value for at, value in found.items() if not np.isnan(value)}
    if len(found) < fewest:
        raise Unsaid(f"{metric_of(metric).label} of LTD at fewer than {fewest} places")
    return found


def settles(cell: CellTable) -> Found:
    """Ask whether, after half of the epochs, RA and TA change no more and UA has fallen."""
    return joined([_settles(cell, name) for name in ("ra_affected", "ta_affected", "ua_affected")])


def _settles(cell: CellTable, name: str) -> Found:
    found = list(series(cell, f"epoch_{name}", 4).values())
    later = found[len(found) // 2 :]
    shown = [said(name, value) for value in (found[0], later[0], found[-1])]
    text = f"{metric_of(name).label}: first {shown[0]}, halfway {shown[1]}, last {shown[2]}"
    if name == "ua_affected":
        return Found(found[0] - later[0] > 0.8 * (found[0] - found[-1]), text)
    return Found(max(later) - min(later) < FEW, text)


def parts(values: Sequence[float], count: int) -> list[Sequence[float]]:
    """Return a series in equal parts."""
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    return [values[a:b] for a, b in pairwise(edges)]


def change_rises(cell: CellTable) -> Found:
    """Ask whether the teacher changes over twice as much from size to size in the upper half."""
    found = list(series(cell, "support_kl_previous", 4).values())
    low, high = (float(np.mean(part)) for part in parts(found, 2))
    shown = [said("support_kl_previous", value) for value in (low, high)]
    text = f"KL to the next smaller: {shown[0]} in the lower half of sizes, {shown[1]} in the upper"
    return Found(high > 2 * low, text)


def falls_twice(cell: CellTable) -> Found:
    """Ask whether the teacher's UA falls in the first and last third of sizes, less in between."""
    found = list(series(cell, "support_teacher_ua", 6).values())
    falls = [part[0] - part[-1] for part in parts(found, 3)]
    shown = ", ".join(said("support_teacher_ua", value) for value in falls)
    is_so = min(falls[0], falls[2]) > 0.02 and abs(falls[1]) < min(falls[0], falls[2])
    return Found(is_so, f"it falls by {shown} in the thirds of the sizes")


def similar_plateau(cell: CellTable) -> Found:
    """Ask whether the middle third of sizes, and LTD's own, end at a similarity of about 0.75."""
    middle = parts(list(series(cell, "support_least_similarity", 6).values()), 3)[1]
    own = number(cell, "ltd", "support_similarity_min")
    low, high = SIMILAR[0] - AROUND, SIMILAR[1] + AROUND
    shown = [f"{value:.2f}" for value in (min(middle), max(middle), own)]
    text = f"similarity {shown[0]} to {shown[1]} in the middle third of sizes, LTD's own {shown[2]}"
    return Found(all(low <= value <= high for value in (*middle, own)), text)


def step_hurts_near(cell: CellTable) -> Found:
    """Ask whether one step of GA costs most in the top third of the bins."""
    counts = {
        at: mean(cell.values("ltd", "support_bin_count", at=at))
        for at in cell.indices("ltd", "support_bin_count")
    }
    drops = series(cell, "support_drop", 3)
    found = [drop for at, drop in drops.items() if counts.get(at, 0) >= FEWEST]
    if len(found) < 3:
        raise Unsaid(f"fewer than three bins with {FEWEST} examples")
    *_, near = parts(found, 3)
    text = f"largest drop {said('support_drop', max(found))}, in the top third of bins "
    text += f"{said('support_drop', max(near))}"
    return Found(max(near) == max(found) > 0 and rank(found) > 0, text)


def drops_early(cell: CellTable) -> Found:
    """Ask whether KL to Retrain falls in the first third by over twice what it moves after."""
    found = list(series(cell, "support_kl_retrain", 6).values())
    first, *_ = parts(found, 3)
    later = found[len(first) - 1 :]
    fall, moved = first[0] - first[-1], max(later) - min(later)
    shown = [said("support_kl_retrain", value) for value in (fall, moved)]
    return Found(fall > 2 * moved, f"it falls by {shown[0]} at first, then moves by {shown[1]}")


def degenerate(cell: CellTable) -> Found:
    """Ask whether teachers on one class alone call all of the forget set by it."""
    classes, ua = series(cell, "support_num_classes", 1), series(cell, "support_teacher_ua", 1)
    single = [at for at, count in classes.items() if count == 1 and at in ua]
    if not single:
        raise Unsaid("no support of one class")
    text = ", ".join(f"k {at}: {said('support_teacher_ua', ua[at])}" for at in single)
    return Found(all(ua[at] > 0.99 for at in single), f"the teacher's UA at {text}")


def mass_kept(cell: CellTable) -> Found:
    """Ask whether the classes that LTD keeps of its teacher have over 90 % of its probability."""
    share = number(cell, "ltd", "top_mass")
    return Found(share > 0.9, f"LTD's targets have {percent(share)} of the teacher's mass")


CLAIMS = [
    Claim(
        26,
        "Affected RA and TA settle within half of the epochs, and UA has fallen by then",
        "figure 9",
        HALF,
        settles,
    ),
    Claim(
        27,
        "The teacher changes little between small supports, and over twice as much between large",
        "figure 10",
        HALF,
        change_rises,
    ),
    Claim(
        28,
        "With the support's size the teacher's UA falls, stays, and falls again",
        "figure 11",
        HALF,
        falls_twice,
    ),
    Claim(
        29,
        "Where it stays, and with the k of the runs, supports end at a similarity of about 0.75",
        "figure 11",
        HALF,
        similar_plateau,
    ),
    Claim(
        30,
        "One step of gradient ascent costs the most similar retained examples most",
        "figure 12",
        HALF,
        step_hurts_near,
    ),
    Claim(
        31,
        "KL of the teacher from Retrain falls sharply for small supports, then hardly moves",
        "figure 13",
        HALF,
        drops_early,
    ),
    Claim(
        32,
        "A support of one class gives a teacher that calls everything by it",
        "appendix C.5",
        HALF,
        degenerate,
    ),
    Claim(
        33,
        "The three largest classes keep over 90 % of the teacher's mass",
        "text",
        HALF,
        mass_kept,
    ),
]
