"""Tests on sweeps: LTD's support, teacher, threshold and beta; Neighbor's k; AdamW."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from collateral.findings.metric_index import find_metric
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.claims.curves import rank
from paper.claims.results import Found, Missing, all_hold, join
from paper.claims.values import (
    BASELINES,
    Measure,
    ascending,
    floor,
    floor_text,
    from_retrain,
    if_complete,
    is_lower,
    listed_runs,
    listing,
    number,
    run_name,
    shown,
)

SUPPORTS = ("closest", "random", "farthest")
# Values of the run `ltd` itself, for results without plan.json.
DEFAULTS = {"support": "closest", "teacher": "resnet8", "threshold": 0.99}


def sweep_runs(cell: CellTable, method: str, key: str) -> dict[Any, str]:
    """Return a method's runs by the value of one varied parameter, including its default run."""
    for sweep in cell.plan.sweeps:
        if sweep.own == method and sweep.key == key:
            return {value: run for run, value in sweep.values.items() if run in cell.kinds}
    start = f"{method}@{key}="
    texts = {run.removeprefix(start): run for run in cell.kinds if run.startswith(start)}
    found = {_typed(text): run for text, run in texts.items() if "@" not in text}
    if found and method == "ltd" and key in DEFAULTS and method in cell.kinds:
        found.setdefault(DEFAULTS[key], method)
    return found


def _typed(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def numeric_runs(cell: CellTable, method: str, key: str, fewest: int) -> dict[float, str]:
    """Return the runs of a sweep over numbers by value, lowest value first."""
    found = {
        v: run for v, run in sweep_runs(cell, method, key).items() if isinstance(v, int | float)
    }
    if len(found) < fewest:
        raise Missing(f"fewer than {fewest} values of {key} of {run_name(cell, method)}")
    return dict(sorted(found.items()))


def ltd_runs(cell: CellTable, key: str, *values: str) -> dict[str, str]:
    """Return LTD's runs with the given values of a parameter."""
    found = sweep_runs(cell, "ltd", key)
    if missing := [value for value in values if value not in found]:
        raise Missing(f"no LTD with {key} {', '.join(missing)}")
    return {value: found[value] for value in values}


def spread(cell: CellTable, runs: Iterable[str], limits: Mapping[str, float]) -> Found:
    """Test whether runs differ by less than a limit, for each metric in `limits`."""
    found = {metric: [number(cell, run, metric) for run in runs] for metric in limits}
    return join(
        Found(
            max(of) - min(of) < limits[metric],
            f"{find_metric(metric).label} {shown(metric, min(of))} to {shown(metric, max(of))}",
        )
        for metric, of in found.items()
    )


def closest_is_nearest(cell: CellTable, metric: str) -> Found:
    """Test whether LTD is nearest to Retrain with the closest support."""
    return _closest(cell, metric, from_retrain)


def closest_is_lowest(cell: CellTable, metric: str) -> Found:
    """Test whether LTD's number is lowest with the closest support."""
    return _closest(cell, metric, number)


def _closest(cell: CellTable, metric: str, measure: Measure) -> Found:
    sign = measure is from_retrain
    runs = ltd_runs(cell, "support", *SUPPORTS)
    found = {name: measure(cell, run, metric) for name, run in runs.items()}
    own, *others = map(abs, found.values())
    is_nearest = all_hold([is_lower(own, other, floor(cell, metric)) for other in others])
    text = f"{'Δ ' * sign}{find_metric(metric).label}: {listing(metric, found, sign=sign)}"
    return Found(is_nearest, f"{text}{floor_text(cell, metric)}")


def only_closest_matches(cell: CellTable, within: float) -> Found:
    """Test whether the teacher's UA is near Retrain's only with the closest support."""
    away, text = _teacher_distances(cell, ltd_runs(cell, "support", *SUPPORTS))
    near = [name for name, distance in away.items() if distance < within]
    return Found(near == ["closest"], f"teacher's UA: {text}")


def _teacher_distances(cell: CellTable, runs: Mapping[str, str]) -> tuple[dict[str, float], str]:
    """Return |teacher's UA - Retrain's UA| by run, and both accuracies as text."""
    target = number(cell, RETRAIN, "ua")
    found = {name: number(cell, run, "teacher_ua") for name, run in runs.items()}
    text = f"{listing('teacher_ua', found)}; Retrain's {shown('ua', target)}"
    return {name: abs(value - target) for name, value in found.items()}, text


def supports_alike(cell: CellTable, metric: str, below: float) -> Found:
    """Test whether a metric changes by less than `below` with the choice of support."""
    return spread(cell, ltd_runs(cell, "support", *SUPPORTS).values(), {metric: below})


def neighbor_runs(cell: CellTable) -> dict[str, str]:
    """Return Neighbor's runs by k; only its default run if k is not varied."""
    found = {f"k {k:g}": run for k, run in numeric_runs(cell, "neighbor", "k", 0).items()}
    if not found and "neighbor" not in cell.kinds:
        raise Missing("no Neighbor")
    return found or {"Neighbor": "neighbor"}


def neighbor_keeps(cell: CellTable, metrics: Sequence[str], within: float) -> Found:
    """Test whether Neighbor's accuracies are near Retrain's."""
    found = [
        (f"{name} Δ {metric.upper()}", metric, from_retrain(cell, run, metric))
        for name, run in neighbor_runs(cell).items()
        for metric in metrics
    ]
    text = ", ".join(f"{name} {shown(metric, v, sign=True)}" for name, metric, v in found)
    return Found(all(abs(value) < within for *_, value in found), text)


def neighbor_overestimates(cell: CellTable, metric: str, above: float) -> Found:
    """Test whether Neighbor's metric exceeds Retrain's by more than `above`, and LTD's."""
    found = {n: from_retrain(cell, run, metric) for n, run in neighbor_runs(cell).items()}
    ltd = from_retrain(cell, "ltd", metric)
    text = listing(metric, {**found, "LTD": ltd}, sign=True)
    label = f"Δ {find_metric(metric).label}"
    return Found(all(value > max(above, ltd) for value in found.values()), f"{label}: {text}")


def more_neighbours_lower(cell: CellTable, gaps: Sequence[str]) -> Found:
    """Test whether a larger k lowers Neighbor's gaps, and they still exceed LTD's."""
    runs = numeric_runs(cell, "neighbor", "k", 2)
    (few, first), *_, (many, last) = runs.items()
    names = {f"k {few:g}": first, f"k {many:g}": last, "LTD": "ltd"}
    return join([_lowered(cell, names, gap) for gap in gaps])


def _lowered(cell: CellTable, runs: Mapping[str, str], gap: str) -> Found:
    found = {name: number(cell, run, gap) for name, run in runs.items()}
    before, after, ltd = found.values()
    size = floor(cell, gap)
    is_so = all_hold([is_lower(ltd, after, size), is_lower(after, before, size)])
    return Found(is_so, f"{find_metric(gap).label}: {listing(gap, found)}{floor_text(cell, gap)}")


def beta_suffices(cell: CellTable, beta: int) -> Found:
    """Test whether no other beta has a lower Avg. Gap by more than the noise floor."""
    runs = numeric_runs(cell, "ltd", "beta", 2)
    found = {value: number(cell, run, "avg_gap") for value, run in runs.items()}
    if beta not in found:
        raise Missing(f"no LTD with beta {beta}")
    size = floor(cell, "avg_gap")
    text = listing("avg_gap", {f"{value:g}": gap for value, gap in found.items()})
    text = f"Avg. Gap by beta: {text} (floor {shown('avg_gap', size)})"
    return Found(found[beta] - min(found.values()) <= size, text)


def adamw_does_not_help(cell: CellTable) -> Found:
    """Test whether AdamW lowers no baseline's Avg. Gap by more than the noise floor."""
    # IU is skipped, because it takes no optimiser steps.
    tuned = [run for run in BASELINES if run != "iu"]
    pairs = {run: other for run in tuned if (other := _with_adamw(cell, run))}
    if not pairs:
        raise Missing("no baseline with AdamW")
    size = floor(cell, "avg_gap")
    gains = {
        run: number(cell, run, "avg_gap") - number(cell, other, "avg_gap")
        for run, other in pairs.items()
    }
    text = f"AdamW lowers Avg. Gap by {listed_runs(cell, ascending(gains), 'avg_gap')}"
    missing = [run_name(cell, run) for run in tuned if run not in pairs]
    holds = max(gains.values()) <= size
    if holds and missing:
        return if_complete(holds, text, missing)
    return Found(holds, f"{text} (floor {shown('avg_gap', size)})")


def _with_adamw(cell: CellTable, run: str) -> str:
    starts = (f"{run}@optimizer=adamw", f"{run}_adamw")
    return next((other for other in cell.kinds if other.startswith(starts)), "")


def teacher_runs(cell: CellTable) -> dict[str, str]:
    """Return LTD's runs by convolutional teacher: small CNN first, then ResNets by depth."""
    runs = sweep_runs(cell, "ltd", "teacher")
    found = {name: run for name, run in runs.items() if _depth(name)}
    if "small_cnn" not in found or len(found) < 2:
        raise Missing("no LTD with a small CNN and with a ResNet as teacher")
    return dict(sorted(found.items(), key=lambda one: _depth(one[0])))


def _depth(teacher: str) -> float:
    """Return the depth of a ResNet; 1 for the small CNN, 0 for others."""
    depth = teacher.removeprefix("resnet")
    return float(depth) if depth.isdecimal() else float(teacher == "small_cnn")


def teachers_alike(cell: CellTable, **limits: float) -> Found:
    """Test whether metrics differ between teachers by less than the limit of each metric."""
    runs = teacher_runs(cell)
    found = spread(cell, runs.values(), limits)
    return Found(found.holds, f"{', '.join(runs)}: {found.text}")


def small_teachers_faster(cell: CellTable) -> Found:
    """Test whether LTD is faster with the small CNN and ResNet-8 than with the largest teacher."""
    runs = teacher_runs(cell)
    *_, largest = runs
    small = [name for name in runs if _depth(name) <= 8]
    if largest in small:
        raise Missing("no LTD with a teacher that is larger than ResNet-8")
    seconds = {name: number(cell, runs[name], "rte") for name in (*small, largest)}
    text = ", ".join(f"{name} {shown('rte', value)} s" for name, value in seconds.items())
    return Found(all(seconds[name] < seconds[largest] for name in small), text)


def frozen_teacher_knows(cell: CellTable, above: float) -> Found:
    """Test whether LTD stays accurate on the forget set with an MLP on base features as teacher."""
    (run,) = ltd_runs(cell, "teacher", "mlp_frozen").values()
    ua, teacher = number(cell, run, "ua_affected"), number(cell, run, "teacher_ua")
    text = f"affected UA {shown('ua_affected', ua)}, the teacher's {shown('teacher_ua', teacher)}"
    return Found(min(ua, teacher) > above, text)


def threshold_runs(cell: CellTable) -> dict[str, str]:
    """Return LTD's runs by the teacher's threshold, lowest first."""
    runs = numeric_runs(cell, "ltd", "threshold", 3)
    return {f"{value:g}": run for value, run in runs.items()}


def thresholds_alike(
    cell: CellTable, metrics: Sequence[str], below: float, start: float | None = None
) -> Found:
    """Test whether metrics differ by less than `below` between thresholds of at least `start`."""
    runs = threshold_runs(cell)
    chosen = [run for name, run in runs.items() if start is None or float(name) >= start]
    if len(chosen) < 2:
        raise Missing(f"fewer than two thresholds from {start} on")
    return spread(cell, chosen, dict.fromkeys(metrics, below))


def teacher_approaches_retrain(cell: CellTable) -> Found:
    """Test whether the teacher's UA gets nearer to Retrain's as the threshold rises."""
    distances, text = _teacher_distances(cell, threshold_runs(cell))
    away = list(distances.values())
    is_so = rank(away) < 0 and away[-1] < away[0]
    return Found(is_so, f"teacher's UA by threshold: {text}")


def epochs_rise_with_threshold(cell: CellTable, times: float) -> Found:
    """Test whether epochs rise with the threshold, the last to over `times` the first."""
    runs = threshold_runs(cell)
    found = {name: number(cell, run, "teacher_epochs") for name, run in runs.items()}
    epochs = list(found.values())
    is_rising = all(a <= b for a, b in pairwise(epochs))
    text = f"epochs by threshold: {listing('teacher_epochs', found)}"
    return Found(is_rising and epochs[-1] > times * epochs[0], text)
