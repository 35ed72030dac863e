"""Numbers for claims on curves (over similarity bins, epochs or support sizes) and on theory.

As in values.py, tests in claims.toml can call all functions whose first argument is `case`.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import spearmanr

from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.claims.results import LABELS, Missing, Theory, all_hold
from paper.claims.values import (
    BASELINES,
    METHODS,
    Array,
    Case,
    Outcome,
    Runs,
    by_name,
    label,
    note_numbers,
    read,
    run_name,
    shown,
)

FEWEST = 5  # minimum number of examples in a bin that is used
# Metric and subset of each panel of the paper's figure 3.
PANELS = [(metric, of) for metric in ("delta_acc", "delta_conf") for of in ("retain", "test")]
RANK = "rank correlation of bin and |alignment|"
FALLS = "P4.6 the bound falls with |cos|"


def rank(values: Sequence[float] | Array) -> float:
    """Return the rank correlation of a curve's values and positions; 0 if all values are equal."""
    if np.ptp(values) == 0:
        return 0.0
    return float(spearmanr(range(len(values)), values).statistic)


def later(values: Array) -> Array:
    """Return the second half of a curve."""
    return values[len(values) // 2 :]


def fall(values: Array) -> float:
    """Return the first value of a curve minus its last value."""
    return float(values[0] - values[-1])


def falls(case: Case, values: Array) -> Outcome:
    """Test whether a curve falls; return None (undecided) if a value is NaN.

    Its rank correlation must be negative, and its last value must be below its first value.
    """
    is_known = not np.isnan(values).any()
    return bool(rank(values) < 0 and values[-1] < values[0]) if is_known else None


def split(values: Sequence[float], count: int) -> list[Sequence[float]]:
    """Split a curve into `count` parts of about equal length."""
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    return [values[a:b] for a, b in pairwise(edges)]


def profile(cell: CellTable, run: str, metric: str, subset: str) -> list[float]:
    """Return a run's |difference from Retrain| in each bin of similarity to the forget set.

    The most similar bin is the last. Bins with fewer than FEWEST examples are left out.
    """
    if not cell.has_retrain:
        raise Missing(f"no outputs of {LABELS[RETRAIN]} by example")
    bins = cell.indices(cell.reference, "bin_count", subset)
    counts = [read(cell, cell.reference, "bin_count", subset, b) for b in bins]
    used = [b for b, count in zip(bins, counts, strict=True) if count >= FEWEST]
    found = [abs(read(cell, run, metric, subset, b)) for b in used]
    if np.isnan(found).any():
        raise Missing(f"no {label(metric)} of {run_name(cell, run)}")
    if len(found) < 3:
        raise Missing(f"fewer than three bins with {FEWEST} examples of {run_name(cell, run)}")
    return found


def _top_bin(cell: CellTable, run: str, metric: str, subset: str) -> float:
    try:
        return profile(cell, run, metric, subset)[-1]
    except Missing:
        return math.nan


def top_bin(case: Case, runs: Runs, metric: str, subset: str) -> Array:
    """Return each run's |difference from Retrain| in the bin most similar to the forget set.

    The differences are added to the notes of the case.
    """
    named = by_name(case.cell, runs).items()
    found = {name: _top_bin(case.cell, run, metric, subset) for name, run in named}
    return note_numbers(case, f"top bin of {subset}, {metric}", metric, found)


def worst_bin(case: Case, run: str) -> float:
    """Return a run's largest |difference from Retrain| in any bin of any of the PANELS.

    The difference is added to the notes of the case.
    """
    worst = max(max(profile(case.cell, run, *panel)) for panel in PANELS)
    case.note(f"{run_name(case.cell, run)} at most {shown('delta_acc', worst)} points in a bin")
    return worst


def baselines_local(case: Case, times: float) -> Outcome:
    """Test whether each baseline's difference from Retrain rises with similarity, in all PANELS.

    In the most similar bin, the difference must also exceed `times` its median over bins.
    """
    return all_hold([case.attempt(_is_local, run, times) for run in BASELINES])


def _is_local(case: Case, run: str, times: float) -> bool:
    profiles = [profile(case.cell, run, *panel) for panel in PANELS]
    is_local = [rank(one) > 0 and one[-1] > times * float(np.median(one)) for one in profiles]
    tops = ", ".join(shown("delta_acc", one[-1]) for one in profiles)
    name = run_name(case.cell, run)
    case.note(f"{name} in {sum(is_local)} of 4 panels (top bins {tops})")
    return all(is_local)


def top_bin_higher_at_90(case: Case) -> bool:
    """Test whether methods differ more from Retrain if 90 % of a class are forgotten than 50 %.

    The difference is that in the bin most similar to the forget set, as a mean over methods.
    """
    pairs = {
        run_name(case.cell, run): [_top_bin(cell, run, *PANELS[0]) for cell in case.results]
        for run in METHODS
    }
    pairs = {name: pair for name, pair in pairs.items() if not np.isnan(pair).any()}
    if not pairs:
        raise Missing("no method in both cells")
    pairs["mean"] = [float(np.mean(values)) for values in zip(*pairs.values(), strict=True)]
    texts = {name: [shown("delta_acc", value) for value in pair] for name, pair in pairs.items()}
    case.note("top bin, 50 % and 90 %", *(f"{name} {a} and {b}" for name, (a, b) in texts.items()))
    low, high = pairs["mean"]
    return high > low


def class_slope(case: Case, name: str, runs: Sequence[str]) -> Outcome:
    """Test whether classes that are more similar to the forgotten class lose more accuracy.

    The first of `runs` that exists is used. The test is undecided if the interval of the run's
    slope includes 0.
    """
    run = next((run for run in runs if run in case.cell.kinds), "")
    slope, low, high = (read(case.cell, run, f"class_slope{end}") for end in ("", "_low", "_high"))
    if math.isnan(slope):
        raise Missing(f"no {label('class_slope')} of {name}")
    ends = [shown("class_slope", end) for end in (low, high)]
    interval = "" if math.isnan(low) else f" [{', '.join(ends)}]"
    case.note(f"{name} {shown('class_slope', slope)} points per 0.1{interval}")
    return None if low <= 0 <= high else slope > 0


def ltd_curve(cell: CellTable, metric: str, fewest: int) -> dict[str, float]:
    """Return a metric of LTD, averaged over seeds, by epoch, support size or bin.

    Raise `Missing` if fewer than `fewest` of the means are defined.
    """
    found = {at: mean(cell.values("ltd", metric, at=at)) for at in cell.indices("ltd", metric)}
    found = {at: value for at, value in found.items() if not np.isnan(value)}
    if len(found) < fewest:
        raise Missing(f"{find_metric(metric).label} of LTD at fewer than {fewest} places")
    return found


def epochs(case: Case, metric: str) -> Array:
    """Return a metric of LTD after each epoch, averaged over seeds.

    The first, middle and last mean are added to the notes of the case.
    """
    curve = np.array([*ltd_curve(case.cell, f"epoch_{metric}", 4).values()])
    ends = {"first": curve[0], "halfway": later(curve)[0], "last": curve[-1]}
    note_numbers(case, label(metric), metric, ends)
    return curve


def sizes(case: Case, metric: str, part: int, count: int) -> Array:
    """Return a metric of LTD by support size, averaged over seeds, for one part of the sizes.

    The sizes are split into `count` parts; part 1 has the smallest sizes. The first, last,
    lowest, highest and mean value of the part are added to the notes of the case.
    """
    values = split([*ltd_curve(case.cell, metric, 2 * count).values()], count)[part - 1]
    title = f"{label(metric)}, part {part} of {count} of the support sizes"
    ends = {"first": values[0], "last": values[-1], "lowest": min(values), "highest": max(values)}
    note_numbers(case, title, metric, {**ends, "mean": float(np.mean(values))})
    return np.array(values)


def step_hurts_near(case: Case) -> bool:
    """Test whether a step of gradient ascent costs most accuracy near the forget set.

    The largest loss must be in the most similar third of the bins, and losses must rise with
    similarity.
    """
    metric, count, cell = "support_drop", "support_bin_count", case.cell
    drops = ltd_curve(cell, metric, 3)
    found = [v for at, v in drops.items() if mean(cell.values("ltd", count, at=at)) >= FEWEST]
    if len(found) < 3:
        raise Missing(f"fewer than three bins with {FEWEST} examples")
    largest, near = max(found), max(split(found, 3)[-1])
    note_numbers(case, "largest drop", metric, {"in all bins": largest, "in the top third": near})
    return near == largest > 0 and rank(found) > 0


def falls_early(case: Case, times: float) -> bool:
    """Test whether the teacher's KL to Retrain falls mostly in the first third of support sizes.

    This fall must be larger than `times` the range of all values from the end of the third on.
    """
    metric = "support_kl_retrain"
    curve = [*ltd_curve(case.cell, metric, 6).values()]
    first, *_ = split(curve, 3)
    rest = curve[len(first) - 1 :]
    fall, moved = first[0] - first[-1], max(rest) - min(rest)
    note_numbers(case, "KL to Retrain", metric, {"falls at first by": fall, "then moves by": moved})
    return fall > times * moved


def one_class_ua(case: Case) -> Array:
    """Return the accuracy on the forget set (UA) of each teacher whose support has one class.

    The accuracies are added to the notes of the case.
    """
    metric = "support_teacher_ua"
    classes, ua = (ltd_curve(case.cell, of, 1) for of in ("support_num_classes", metric))
    single = {f"k {at}:": ua[at] for at, count in classes.items() if count == 1 and at in ua}
    if not single:
        raise Missing("no support of one class")
    return note_numbers(case, "the teacher's UA at", metric, single)


def theory(case: Case, panel: str, finding: str) -> float:
    """Return a finding, which is a number that the experiment of one panel on the theory measured.

    The number is added to the notes of the case.
    """
    results: Theory = case.results[0]
    found = results.findings.get((panel, finding), math.nan)
    if math.isnan(found):
        raise Missing(f"no “{finding}” of {panel}")
    case.note(finding, f"{found:.2g}")
    return found


def alignment_rank(case: Case, panel: str) -> float:
    """Return the rank correlation of measured discrepancy with |alignment|, over bins of alignment.

    The correlation and the slope of measured on predicted discrepancy are added to the case's
    notes.
    """
    found = theory(case, panel, RANK)
    theory(case, panel, "slope of measured on predicted")
    return found


def bound_falls(case: Case) -> bool:
    """Test whether the bound of Proposition 4 falls as |cos(forget point, support point)| grows."""
    results: Theory = case.results[0]
    if FALLS not in results.checks:
        raise Missing(f"no check “{FALLS}”")
    found = results.checks[FALLS]
    case.note(f"the bound {'falls' if found else 'does not fall'} with |cos|")
    return found
