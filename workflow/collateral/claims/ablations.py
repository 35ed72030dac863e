"""Claims of the ablations: LTD's support and beta, labels of neighbours, AdamW."""

from __future__ import annotations

from typing import Any

from collateral.claims.claim import Claim, Found, Unsaid, all_of, every, joined
from collateral.claims.numbers import (
    BASELINES,
    deviation,
    floor,
    floor_said,
    in_order,
    is_lower,
    listed,
    name_of,
    number,
    said,
)
from collateral.claims.predicates import spread
from collateral.claims.scopes import HALF
from collateral.claims.swept import by_number, of_values
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable

SUPPORTS = ("closest", "random", "farthest")


def closest_is_nearest(metric: str, *, is_gap: bool = False) -> Any:
    """Ask whether the closest support is nearest to Retrain by a metric."""

    def test(cell: CellTable) -> Found:
        runs = of_values(cell, "support", *SUPPORTS)
        measure = number if is_gap else deviation
        found = {name: measure(cell, run, metric) for name, run in runs.items()}
        text = ", ".join(f"{n} {said(metric, v, sign=not is_gap)}" for n, v in found.items())
        size, own = floor(cell, metric), abs(found["closest"])
        is_nearest = every([is_lower(own, abs(found[name]), size) for name in SUPPORTS[1:]])
        label = f"{'' if is_gap else 'Δ '}{metric_of(metric).label}"
        return Found(is_nearest, f"{label}: {text}{floor_said(cell, metric)}")

    return test


def teacher_matches(cell: CellTable) -> Found:
    """Ask whether the teacher's UA is within 10 points of Retrain's with the closest alone."""
    target = number(cell, REFERENCE, "ua")
    runs = of_values(cell, "support", *SUPPORTS)
    found = {name: number(cell, run, "teacher_ua") for name, run in runs.items()}
    is_near = {name: abs(value - target) < 0.1 for name, value in found.items()}
    text = ", ".join(f"{name} {said('teacher_ua', value)}" for name, value in found.items())
    is_so = [name for name in SUPPORTS if is_near[name]] == ["closest"]
    return Found(is_so, f"teacher's UA: {text}; Retrain's {said('ua', target)}")


def support_leaves_ra(cell: CellTable) -> Found:
    """Ask whether RA is the same with every support."""
    return spread(cell, list(of_values(cell, "support", *SUPPORTS).values()), "ra", 0.01)


def neighbours(cell: CellTable) -> dict[str, str]:
    """Return Neighbor's runs by k; where none is varied, its own."""
    found = {f"k {k:g}": r for k, r in by_number(cell, "neighbor", "k", 0).items()}
    if not found and "neighbor" not in cell.kinds:
        raise Unsaid("no Neighbor")
    return found or {"Neighbor": "neighbor"}


def neighbours_keep(cell: CellTable) -> Found:
    """Ask whether labels of neighbours cost fewer than 2 points of RA and TA."""
    found = [
        (name, metric, deviation(cell, run, metric))
        for name, run in neighbours(cell).items()
        for metric in ("ra", "ta")
    ]
    text = ", ".join(f"{name} Δ {m.upper()} {said(m, v, sign=True)}" for name, m, v in found)
    return Found(all(abs(value) < 0.02 for *_, value in found), text)


def neighbours_overestimate(cell: CellTable) -> Found:
    """Ask whether with labels of neighbours UA is over 5 points too high, and more than LTD's."""
    found = {name: deviation(cell, run, "ua") for name, run in neighbours(cell).items()}
    ltd = deviation(cell, "ltd", "ua")
    text = ", ".join(f"{n} {said('ua', v, sign=True)}" for n, v in {**found, "LTD": ltd}.items())
    return Found(all(v > max(0.05, ltd) for v in found.values()), f"Δ UA: {text}")


def more_neighbours(cell: CellTable) -> Found:
    """Ask whether more neighbours lower both gaps, which stay above LTD's."""
    runs = by_number(cell, "neighbor", "k", 2)
    return joined([_lowered(cell, runs, gap) for gap in ("avg_gap", "avg_gap_affected")])


def _lowered(cell: CellTable, runs: dict[float, str], gap: str) -> Found:
    (few, first), *_, (many, last) = runs.items()
    before, after, ltd = (number(cell, run, gap) for run in (first, last, "ltd"))
    text = f"{metric_of(gap).label}: k {few:g} {said(gap, before)}, k {many:g} {said(gap, after)}"
    size = floor(cell, gap)
    is_so = every([is_lower(ltd, after, size), is_lower(after, before, size)])
    return Found(is_so, f"{text}, LTD {said(gap, ltd)}{floor_said(cell, gap)}")


def beta_does(cell: CellTable) -> Found:
    """Ask whether no other beta has an Avg. Gap below that of 2 by more than chance."""
    found = {
        beta: number(cell, r, "avg_gap") for beta, r in by_number(cell, "ltd", "beta", 2).items()
    }
    if 2 not in found:
        raise Unsaid("no LTD with beta 2")
    text = ", ".join(f"{beta:g} {said('avg_gap', gap)}" for beta, gap in found.items())
    size = floor(cell, "avg_gap")
    text = f"Avg. Gap by beta: {text} (floor {said('avg_gap', size)})"
    return Found(found[2] - min(found.values()) <= size, text)


def adamw_does_not_help(cell: CellTable) -> Found:
    """Ask whether no baseline comes nearer to Retrain with AdamW by more than chance."""
    pairs = {run: _with_adamw(cell, run) for run in BASELINES if run != "iu"}
    pairs = {run: other for run, other in pairs.items() if other}
    if not pairs:
        raise Unsaid("no baseline with AdamW")
    size = floor(cell, "avg_gap")
    gains = {
        run: number(cell, run, "avg_gap") - number(cell, other, "avg_gap")
        for run, other in pairs.items()
    }
    text = f"AdamW lowers Avg. Gap by {listed(cell, in_order(gains), 'avg_gap')}"
    is_so = max(gains.values()) <= size
    missing = [name_of(cell, run) for run in BASELINES if run not in pairs and run != "iu"]
    if is_so and missing:
        return Found(None, f"{text}; not here: {', '.join(missing)}")
    return Found(is_so, f"{text} (floor {said('avg_gap', size)})")


def _with_adamw(cell: CellTable, run: str) -> str:
    names = (
        other
        for other in cell.kinds
        if other.startswith((f"{run}@optimizer=adamw", f"{run}_adamw"))
    )
    return next(names, "")


CLAIMS = [
    Claim(
        12,
        "The closest support is nearer to Retrain in affected UA than a random or the farthest",
        "table 3",
        HALF,
        closest_is_nearest("ua_affected"),
    ),
    Claim(
        13,
        "The closest support is nearer in affected TA too, and by the affected gap",
        "table 3",
        HALF,
        all_of(
            closest_is_nearest("ta_affected"), closest_is_nearest("avg_gap_affected", is_gap=True)
        ),
    ),
    Claim(
        14,
        "The teacher's UA is within 10 points of Retrain's with the closest support alone",
        "table 3",
        HALF,
        teacher_matches,
    ),
    Claim(15, "The support changes RA by less than a point", "table 3", HALF, support_leaves_ra),
    Claim(
        19,
        "Labels of neighbours keep RA and TA within 2 points of Retrain's",
        "table 6",
        HALF,
        neighbours_keep,
    ),
    Claim(
        20,
        "Labels of neighbours leave UA over 5 points too high, and higher than LTD's",
        "table 6",
        HALF,
        neighbours_overestimate,
    ),
    Claim(
        21,
        "More neighbours lower both gaps, which stay above LTD's",
        "tables 6, 7",
        HALF,
        more_neighbours,
    ),
    Claim(
        34,
        "Beta 2 does as well as any other, and AdamW does not help the baselines",
        "text",
        HALF,
        all_of(beta_does, adamw_does_not_help),
    ),
]
