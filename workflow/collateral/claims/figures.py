"""Claims that figures carry: where the difference from Retrain lies."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import spearmanr

from collateral.claims.claim import Claim, Found, Unsaid, all_of, asked, joined
from collateral.claims.numbers import BASELINES, METHODS, known, listed, name_of, number, said
from collateral.claims.scopes import HALF, PAIRS, SVHN, WHOLE
from collateral.results.table import REFERENCE, CellTable, mean

FEWEST = 5  # examples of a bin that tells something
PANELS = [(metric, set) for metric in ("delta_acc", "delta_conf") for set in ("retain", "test")]
LOW = 0.1  # of a deviation
SLOPED = {"ga": ("ga",), "rl": ("rl_forget", "rl")}  # forget-only random labels


def profile(cell: CellTable, run: str, metric: str, set: str) -> list[float]:
    """Return |difference from Retrain| by bin of similarity, the top one last."""
    bins = cell.indices(REFERENCE, "bin_count", set)
    counts = {b: mean(cell.values(REFERENCE, "bin_count", set, b)) for b in bins}
    counts = {
        b: cell.number(REFERENCE, "bin_count", set, b) if math.isnan(n) else n
        for b, n in counts.items()
    }
    found = [abs(number(cell, run, metric, set, b)) for b in bins if counts[b] >= FEWEST]
    if len(found) < 3:
        raise Unsaid(f"fewer than three bins with {FEWEST} examples of {name_of(cell, run)}")
    return found


def grows(cell: CellTable, run: str) -> Found:
    """Ask whether a run is off by more where similarity is higher, in all four panels."""
    profiles = [profile(cell, run, *panel) for panel in PANELS]
    is_local = [rank(one) > 0 and one[-1] > 2 * float(np.median(one)) for one in profiles]
    tops = ", ".join(said("delta_acc", one[-1]) for one in profiles)
    text = f"{name_of(cell, run)} in {sum(is_local)} of 4 panels (top bins {tops})"
    return Found(all(is_local), text)


def rank(values: list[float]) -> float:
    """Return the rank correlation of values with their places; 0 where all are equal."""
    if np.ptp(values) == 0:
        return 0.0
    return float(spearmanr(range(len(values)), values).statistic)


def local(cell: CellTable) -> Found:
    """Ask whether all baselines' deviation grows with similarity."""
    return joined([asked(grows, cell, run) for run in BASELINES])


def top(cell: CellTable, run: str, panel: tuple[str, str]) -> float:
    """Return the deviation in the top bin."""
    return profile(cell, run, *panel)[-1]


def ltd_low(cell: CellTable) -> Found:
    """Ask whether LTD is off by little in all bins."""
    worst = max(max(profile(cell, "ltd", *panel)) for panel in PANELS)
    return Found(worst < LOW, f"LTD at most {said('delta_acc', worst)} points in a bin")


def ltd_lower(cell: CellTable) -> Found:
    """Ask whether LTD is off by less than every baseline in the top bin, in all panels."""
    return joined([asked(_lower_in, cell, panel) for panel in PANELS])


def _lower_in(cell: CellTable, panel: tuple[str, str]) -> Found:
    found, missing = known(cell, METHODS, lambda cell, run: top(cell, run, panel))
    if "ltd" not in found:
        raise Unsaid(f"no {panel[0]} of LTD")
    text = f"top bin of {panel[1]}, {panel[0]}: {listed(cell, found, panel[0])}"
    others = [value for run, value in found.items() if run != "ltd"]
    is_lowest = all(found["ltd"] < value for value in others)
    if is_lowest and missing:
        return Found(None, f"{text}; not here: {', '.join(missing)}")
    return Found(is_lowest, text)


def ltd_milder(cell: CellTable) -> Found:
    """Ask whether LTD is off in the top bin by less than the baselines in the mean."""
    panel = PANELS[0]
    found, missing = known(cell, BASELINES, lambda cell, run: top(cell, run, panel))
    own, others = top(cell, "ltd", panel), list(found.values())
    if missing:
        raise Unsaid(f"not here: {', '.join(missing)}")
    text = f"top bin: LTD {said('delta_acc', own)}, mean of the baselines "
    return Found(own < float(np.mean(others)), text + said("delta_acc", float(np.mean(others))))


def more_at_most(half: CellTable, most: CellTable) -> Found:
    """Ask whether methods are off by more in the top bin where more is forgotten."""
    panel = PANELS[0]
    before, _ = known(half, METHODS, lambda cell, run: top(cell, run, panel))
    after, _ = known(most, METHODS, lambda cell, run: top(cell, run, panel))
    both = [run for run in before if run in after]
    if not both:
        raise Unsaid("no method in both cells")
    means = [float(np.mean([of[run] for run in both])) for of in (before, after)]
    text = ", ".join(
        f"{name_of(half, r)} {said('delta_acc', before[r])} and {said('delta_acc', after[r])}"
        for r in both
    )
    shown = [said("delta_acc", value) for value in means]
    text = f"top bin, 50 % and 90 %: {text}; mean {shown[0]} and {shown[1]}"
    return Found(means[1] > means[0], text)


def slopes(cell: CellTable) -> Found:
    """Ask whether GA and forget-only RL cost similar classes more."""
    return joined([asked(_slope, cell, label, runs) for label, runs in SLOPED.items()])


def _slope(cell: CellTable, label: str, runs: tuple[str, ...]) -> Found:
    """Look at the interval over seeds: where it holds both signs, nothing is said."""
    run = next((run for run in runs if run in cell.kinds), None)
    if run is None:
        return Found(None, f"no {label.upper()}")
    slope = number(cell, run, "class_slope")
    low = cell.number(run, "class_slope_low")
    high = cell.number(run, "class_slope_high")
    text = f"{label.upper()} {said('class_slope', slope)} points per 0.1"
    if math.isnan(low):
        return Found(slope > 0, text)
    text += f" [{said('class_slope', low)}, {said('class_slope', high)}]"
    return Found(None if low <= 0 <= high else slope > 0, text)


CLAIMS = [
    Claim(
        10,
        "50 %: baselines differ from Retrain more where similarity is higher (top bin over twice "
        "the median), in accuracy and confidence, on retained and test examples",
        "figure 3",
        HALF,
        local,
    ),
    Claim(
        11,
        "50 %: LTD differs by under 10 points in every bin, and in the top ones by less than every "
        "baseline",
        "figure 3",
        HALF,
        all_of(ltd_low, ltd_lower),
    ),
    Claim(
        40,
        "In the top bin, methods differ from Retrain by more at 90 % than at 50 %",
        "figures 3, 15",
        PAIRS,
        more_at_most,
    ),
    Claim(
        57,
        "SVHN: baselines differ more where similarity is higher; LTD by less than they do",
        "figures 27, 29",
        SVHN,
        all_of(local, ltd_milder),
    ),
    Claim(
        58,
        "A deleted class costs the others the more accuracy, the more similar they are, with GA "
        "and RL",
        "figure 1",
        WHOLE,
        slopes,
    ),
]
