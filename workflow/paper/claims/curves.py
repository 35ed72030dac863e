"""Tests on curves over bins of similarity, epochs or LTD's support sizes, and on the theory."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import spearmanr

from collateral.contract.metrics import format_percent
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.claims.results import LABELS, Found, Missing, Theory, attempt, join
from paper.claims.values import (
    BASELINES,
    METHODS,
    are_within,
    available,
    if_complete,
    listed_runs,
    listing,
    number,
    run_name,
    shown,
)

FEWEST = 5  # bins with fewer examples than this are not used
Panel = tuple[str, str]  # metric and subset
PANELS = [(metric, of) for metric in ("delta_acc", "delta_conf") for of in ("retain", "test")]
RANK = "rank correlation of bin and |alignment|"
FALLS = "P4.6 the bound falls with |cos|"


def rank(values: Sequence[float]) -> float:
    """Return the rank correlation of values with their position; 0 if all are equal."""
    if np.ptp(values) == 0:
        return 0.0
    return float(spearmanr(range(len(values)), values).statistic)


def split(values: Sequence[float], count: int) -> list[Sequence[float]]:
    """Split a curve into `count` parts of equal length."""
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    return [values[a:b] for a, b in pairwise(edges)]


def profile(cell: CellTable, run: str, panel: Panel) -> list[float]:
    """Return |difference from Retrain| by bin of similarity, the most similar bin last."""
    if not cell.has_retrain:
        raise Missing(f"no outputs of {LABELS[RETRAIN]} by example")
    metric, subset = panel
    bins = cell.indices(cell.reference, "bin_count", subset)
    counts = {b: _bin_count(cell, subset, b) for b in bins}
    found = [abs(number(cell, run, metric, subset, b)) for b in bins if counts[b] >= FEWEST]
    if len(found) < 3:
        raise Missing(f"fewer than three bins with {FEWEST} examples of {run_name(cell, run)}")
    return found


def _bin_count(cell: CellTable, subset: str, b: str) -> float:
    count = mean(cell.values(cell.reference, "bin_count", subset, b))
    return cell.number(cell.reference, "bin_count", subset, b) if math.isnan(count) else count


def top_bin(cell: CellTable, run: str, panel: Panel) -> float:
    """Return |difference from Retrain| in the bin of the most similar examples."""
    return profile(cell, run, panel)[-1]


def baselines_local(cell: CellTable, times: float) -> Found:
    """Test whether each baseline's difference from Retrain rises with similarity, in all panels."""
    return join(attempt(_is_local, cell, run, times) for run in BASELINES)


def _is_local(cell: CellTable, run: str, times: float) -> Found:
    profiles = [profile(cell, run, panel) for panel in PANELS]
    is_local = [rank(one) > 0 and one[-1] > times * float(np.median(one)) for one in profiles]
    tops = ", ".join(shown("delta_acc", one[-1]) for one in profiles)
    text = f"{run_name(cell, run)} in {sum(is_local)} of 4 panels (top bins {tops})"
    return Found(all(is_local), text)


def low_in_every_bin(cell: CellTable, run: str, below: float) -> Found:
    """Test whether a run's difference from Retrain is below a limit in every bin and panel."""
    worst = max(max(profile(cell, run, panel)) for panel in PANELS)
    text = f"{run_name(cell, run)} at most {shown('delta_acc', worst)} points in a bin"
    return Found(worst < below, text)


def lowest_in_top_bins(cell: CellTable, run: str) -> Found:
    """Test whether a run is nearest to Retrain of all methods in the top bin of every panel."""
    return join(attempt(_lowest_in, cell, run, panel) for panel in PANELS)


def _lowest_in(cell: CellTable, run: str, panel: Panel) -> Found:
    metric, subset = panel
    found, missing = available(cell, METHODS, top_bin, panel)
    if run not in found:
        raise Missing(f"no {metric} of {run_name(cell, run)}")
    text = f"top bin of {subset}, {metric}: {listed_runs(cell, found, metric)}"
    others = [value for other, value in found.items() if other != run]
    return if_complete(all(found[run] < value for value in others), text, missing)


def below_mean_in_top_bin(cell: CellTable, run: str) -> Found:
    """Test whether a run is nearer to Retrain in the top bin than the mean of the baselines."""
    found, missing = available(cell, BASELINES, top_bin, PANELS[0])
    own = top_bin(cell, run, PANELS[0])
    if missing:
        raise Missing(f"not here: {', '.join(missing)}")
    others = float(np.mean(list(found.values())))
    names = {run_name(cell, run): own, "mean of the baselines": others}
    return Found(own < others, f"top bin: {listing('delta_acc', names)}")


def top_bin_higher_at_90(half: CellTable, most: CellTable) -> Found:
    """Test whether the top bin differs more from Retrain if 90 % of the class is forgotten."""
    before, after = (available(cell, METHODS, top_bin, PANELS[0])[0] for cell in (half, most))
    both = [run for run in before if run in after]
    if not both:
        raise Missing("no method in both cells")
    pairs = {run_name(half, run): (before[run], after[run]) for run in both}
    low, high = (float(np.mean(values)) for values in zip(*pairs.values(), strict=True))
    text = ", ".join(f"{name} {_two(*pair)}" for name, pair in pairs.items())
    return Found(high > low, f"top bin, 50 % and 90 %: {text}; mean {_two(low, high)}")


def _two(one: float, other: float) -> str:
    return f"{shown('delta_acc', one)} and {shown('delta_acc', other)}"


def similar_classes_lose_more(cell: CellTable, **runs: Sequence[str]) -> Found:
    """Test whether similar classes lose more accuracy, for the first existing run of each list."""
    return join(attempt(_slope, cell, name.upper(), of) for name, of in runs.items())


def _slope(cell: CellTable, name: str, runs: Sequence[str]) -> Found:
    """Test whether a run's slope is positive; undecided if its interval over seeds includes 0."""
    run = next((run for run in runs if run in cell.kinds), None)
    if run is None:
        raise Missing(f"no {name}")
    slope = number(cell, run, "class_slope")
    low, high = (cell.number(run, f"class_slope_{end}") for end in ("low", "high"))
    text = f"{name} {shown('class_slope', slope)} points per 0.1"
    if math.isnan(low):
        return Found(slope > 0, text)
    text += f" [{shown('class_slope', low)}, {shown('class_slope', high)}]"
    return Found(None if low <= 0 <= high else slope > 0, text)


def ltd_curve(cell: CellTable, metric: str, fewest: int) -> dict[str, float]:
    """Return LTD's means of a metric by epoch, support size or bin."""
    found = {at: mean(cell.values("ltd", metric, at=at)) for at in cell.indices("ltd", metric)}
    found = {at: value for at, value in found.items() if not np.isnan(value)}
    if len(found) < fewest:
        raise Missing(f"{find_metric(metric).label} of LTD at fewer than {fewest} places")
    return found


def settled_halfway(
    cell: CellTable, settled: Sequence[str], fallen: str, below: float, share: float
) -> Found:
    """Test whether metrics of LTD change by less than `below` in the second half of the epochs.

    The metric `fallen` must have made `share` of its total fall in the first half.
    """
    found = []
    for metric in (*settled, fallen):
        curve = list(ltd_curve(cell, f"epoch_{metric}", 4).values())
        first, later, last = curve[0], curve[len(curve) // 2 :], curve[-1]
        is_settled = max(later) - min(later) < below
        is_fallen = first - later[0] > share * (first - last)
        texts = [shown(metric, value) for value in (first, later[0], last)]
        text = "{}: first {}, halfway {}, last {}".format(find_metric(metric).label, *texts)
        found.append(Found(is_fallen if metric == fallen else is_settled, text))
    return join(found)


def larger_supports_change_more(cell: CellTable, times: float) -> Found:
    """Test whether the teacher changes more between sizes in the upper half of the sizes."""
    metric = "support_kl_previous"
    curve = list(ltd_curve(cell, metric, 4).values())
    low, high = (float(np.mean(part)) for part in split(curve, 2))
    texts = shown(metric, low), shown(metric, high)
    text = "KL to the next smaller: {} in the lower half of sizes, {} in the upper".format(*texts)
    return Found(high > times * low, text)


def teacher_falls_twice(cell: CellTable, by: float) -> Found:
    """Test whether the teacher's UA falls more in the first and last third of sizes."""
    metric = "support_teacher_ua"
    curve = list(ltd_curve(cell, metric, 6).values())
    falls = [part[0] - part[-1] for part in split(curve, 3)]
    texts = ", ".join(shown(metric, fall) for fall in falls)
    outer = min(falls[0], falls[2])
    is_so = outer > by and abs(falls[1]) < outer
    return Found(is_so, f"it falls by {texts} in the thirds of the sizes")


def plateau_similarity(cell: CellTable, **limits: float) -> Found:
    """Test whether the smallest similarity in LTD's and in mid-sized supports is within limits."""
    middle = split(list(ltd_curve(cell, "support_least_similarity", 6).values()), 3)[1]
    own = number(cell, "ltd", "support_similarity_min")
    low, high = min(middle), max(middle)
    text = f"similarity {low:.2f} to {high:.2f} in the middle third of sizes, LTD's own {own:.2f}"
    return Found(are_within((low, high, own), limits), text)


def step_hurts_near(cell: CellTable) -> Found:
    """Test whether one step of gradient ascent costs most in the top third of the bins."""
    metric, count = "support_drop", "support_bin_count"
    counts = {at: mean(cell.values("ltd", count, at=at)) for at in cell.indices("ltd", count)}
    drops = ltd_curve(cell, metric, 3)
    found = [drop for at, drop in drops.items() if counts.get(at, 0) >= FEWEST]
    if len(found) < 3:
        raise Missing(f"fewer than three bins with {FEWEST} examples")
    largest, near = max(found), max(split(found, 3)[-1])
    texts = shown(metric, largest), shown(metric, near)
    text = "largest drop {}, in the top third of bins {}".format(*texts)
    return Found(near == largest > 0 and rank(found) > 0, text)


def falls_early(cell: CellTable, times: float) -> Found:
    """Test whether KL to Retrain falls in the first third, by `times` its later variation."""
    metric = "support_kl_retrain"
    curve = list(ltd_curve(cell, metric, 6).values())
    first, *_ = split(curve, 3)
    later = curve[len(first) - 1 :]
    fall, moved = first[0] - first[-1], max(later) - min(later)
    text = f"it falls by {shown(metric, fall)} at first, then moves by {shown(metric, moved)}"
    return Found(fall > times * moved, text)


def one_class_knows_all(cell: CellTable, above: float) -> Found:
    """Test whether teachers trained on one class predict this class for the whole forget set."""
    metric = "support_teacher_ua"
    classes, ua = ltd_curve(cell, "support_num_classes", 1), ltd_curve(cell, metric, 1)
    single = {f"k {at}:": ua[at] for at, count in classes.items() if count == 1 and at in ua}
    if not single:
        raise Missing("no support of one class")
    text = f"the teacher's UA at {listing(metric, single)}"
    return Found(all(value > above for value in single.values()), text)


def top_mass(cell: CellTable, above: float) -> Found:
    """Test whether the classes in LTD's targets have most of the teacher's probability."""
    share = number(cell, "ltd", "top_mass")
    return Found(share > above, f"LTD's targets have {format_percent(share)} of the teacher's mass")


def grows_with_alignment(theory: Theory, panel: str, above: float) -> Found:
    """Test whether the rank correlation of alignment and discrepancy exceeds a limit."""
    found = theory.number(panel, RANK)
    slope = theory.number(panel, "slope of measured on predicted")
    return Found(found > above, f"{RANK} {found:.2f}, slope on theory {slope:.2f}")


def restores_retained(theory: Theory, below: float, times: float) -> Found:
    """Test whether the residual is small on retained points, and much larger on queries."""
    kept = theory.number("retain_residual", "largest |residual| on retained points")
    off = theory.number("retain_residual", "root mean square residual on queries")
    text = f"residual at most {kept:.1e} on retained points"
    return Found(
        kept < below and off > times * kept, f"{text}, {off:.2g} on queries (root mean square)"
    )


def bound_holds_and_falls(theory: Theory) -> Found:
    """Test whether every deviation is within its bound, and the bound falls with |cos|."""
    panels = ("support_with_noise_logits", "support_with_linear_logits")
    worst = max(theory.number(panel, "largest deviation over its bound") for panel in panels)
    if FALLS not in theory.checks:
        raise Missing(f"no check “{FALLS}”")
    falls = theory.checks[FALLS]
    text = f"largest deviation {worst:.2f} of its bound"
    return Found(
        worst <= 1 and falls, f"{text}, which {'falls' if falls else 'does not fall'} with |cos|"
    )
